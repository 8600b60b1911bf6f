package gateway

import (
	"time"

	"dialler/actors/inventory"
	"dialler/engine"
)

// On joining and every few seconds, the gateway checks that each call carried here has an owner and
// that each route to a call elsewhere has a user. Those without one for a few seconds are treated
// as if their owner had left them (Leave): the call is ended unless another node adopts it or its
// actor comes up after all. A node without its lease ends its calls by itself (engine.Fence).

// An actor that keeps faulting may be away this long (host.supervision), and finds its call by the
// route.
const unusedFor = time.Minute

// looks holds what the last checks found without an owner, and since when.
type looks struct {
	looked          engine.BootTime
	unowned, unused inventory.Noted
	left            map[engine.AttemptID]struct{} // by the inventory
}

// count looks for ownerless calls and unused routes. Only tend calls it.
func (v *looks) count(g *Gateway, now engine.BootTime) {
	if g.cfg.Carried == nil || now < v.looked.Add(inventory.Every) {
		return
	}
	v.looked = now
	if g.Here() == 0 || now >= g.cfg.LeaseEnd() {
		clear(v.unowned)
		clear(v.unused)
		return
	}
	for _, a := range v.unowned.Since(now, inventory.UnownedFor, g.cfg.Carried(), func(a engine.AttemptID) bool {
		return g.hosts.of(a) != nil || g.cfg.Owned(a)
	}) {
		g.Unowned.Add(1)
		g.cfg.Log.Warn().Str("attempt_id", string(a)).
			Msg("a call here has no owner; it is hung up unless a node takes it over")
		g.Leave(a, 0, 0, nil)
		if v.left == nil {
			v.left = map[engine.AttemptID]struct{}{}
		}
		v.left[a] = struct{}{}
	}
	for a := range v.left {
		h := g.hosts.of(a)
		if h == nil {
			delete(v.left, a)
			continue
		}
		if l, _ := h.owner(); l != nil {
			delete(v.left, a)
		} else if g.cfg.Owned(a) {
			g.dropHost(h)
			delete(v.left, a)
		}
	}
	for _, a := range v.unused.Since(now, unusedFor, routed(&g.routes), g.cfg.Owned) {
		if r := g.routes.to(a); r != nil {
			g.routes.drop(r)
		}
	}
}

// routed are the calls on other nodes to which there are routes.
func routed(rs *routes) (all []engine.AttemptID) {
	for _, r := range rs.where(func(r *route) bool { return r.link != nil }) {
		all = append(all, r.id)
	}
	return all
}
