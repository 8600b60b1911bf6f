package media

import "dialler/engine"

// limboOver says whether the node has been without its lease for so long that audio is only sent
// for calls that other nodes have (ended).
func (e *Engine) limboOver() bool {
	return e.cfg.Fence != nil && engine.LimboPassed(e.cfg.Fence)
}

// ended says whether no node has the call any more.
func (c *call) ended() bool { return engine.LimboOver(c.begun, c.e.cfg.Fence, c.id) }
