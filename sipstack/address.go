package sipstack

import "dialler/engine"

// legTrunk is the trunk that a leg goes over. A leg with an address of its own
// (a bot, a person who is called by SIP) has a connection without name,
// credentials and keepalive; one without a usable address, or of an unknown
// trunk, has no host.
func (s *Stack) legTrunk(id engine.TrunkID, uri string) *trunk {
	if uri == "" {
		if t := s.trunk(id); t != nil {
			return t
		}
		return s.newTrunk(TrunkConfig{ID: id})
	}
	u, ok := engine.ParseSIPURI(uri)
	if !ok {
		return s.newTrunk(TrunkConfig{ID: id})
	}
	return s.newTrunk(TrunkConfig{ID: id, Host: u.Host, Port: u.Port, Transport: Transport(u.Transport)})
}
