package cluster

import (
	"context"
	"errors"
	"hash/fnv"
	"maps"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/cluster"

	"dialler/engine"
	"dialler/engine/ownership"
)

// cached is what the database said of an owner, valid for a second: a request to the wrong node is
// rejected there.
type cached struct {
	owner ownership.Owner
	until engine.BootTime
}

const (
	cacheFor = time.Second
	cacheMax = 10_000
	// releasedFor is how long a released identity is remembered: longer than a database answer can
	// take.
	releasedFor = time.Minute
)

// methodClaim asks a node to claim the identity of the request.
const methodClaim = "cluster.claim"

// Owner returns who acts for an identity. If no node does, the least loaded node claims it: this
// one or another. An owner that is not live lost its lease so recently that no node may claim yet.
func (n *Node) Owner(ctx context.Context, id ownership.Identity) (ownership.Owner, error) {
	if !id.Valid() {
		return ownership.Owner{}, engine.Invalid("identity_invalid", "")
	}
	if w, ok := n.Owned(id); ok {
		return w, nil
	}
	if w, ok := n.recall(id); ok {
		return w, nil
	}
	asked := n.clock.Boot()
	w, err := n.store.Owner(ctx, id)
	if err != nil {
		return ownership.Owner{}, err
	}
	if !w.Live {
		asked = n.clock.Boot()
		if w, err = n.place(ctx, id, w); err != nil {
			return w, err
		}
	}
	n.remember(w, asked)
	return w, nil
}

// OwnersOf returns who acts for each of the identities, in their order, with one query; nothing is
// claimed. Owner and Acting give the same answers for the next second.
func (n *Node) OwnersOf(ctx context.Context, kind ownership.Kind, ids []string) ([]ownership.Owner, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	asked := n.clock.Boot()
	all, err := n.store.OwnersOf(ctx, kind, ids)
	for i := range all {
		n.remember(all[i], asked)
	}
	return all, err
}

// Acting returns who acts for an identity, if any node does; nothing is claimed.
func (n *Node) Acting(ctx context.Context, id ownership.Identity) (w ownership.Owner, ok bool, err error) {
	if w, ok = n.Owned(id); ok {
		return w, true, nil
	}
	if w, ok = n.recall(id); ok {
		return w, true, nil
	}
	asked := n.clock.Boot()
	if w, err = n.store.Owner(ctx, id); err == nil && w.Live {
		n.remember(w, asked)
	}
	return w, w.Live, err
}

// Owned gives the claim by which this node acts for an identity now; ok is
// false when it does not.
func (n *Node) Owned(id ownership.Identity) (w ownership.Owner, ok bool) {
	me := n.Incarnation()
	if me == 0 {
		return ownership.Owner{}, false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	w, ok = n.owned[id]
	return w, ok && w.Incarnation == me
}

// place has the least loaded node claim an unowned identity.
func (n *Node) place(ctx context.Context, id ownership.Identity, was ownership.Owner) (ownership.Owner, error) {
	loads, err := n.store.Loads(ctx, id.Kind)
	if err != nil {
		return was, err
	}
	best, ok := choose(loads, id)
	me := n.Incarnation()
	if ok && best.Incarnation != me && best.Address != n.Address() {
		// Its answer is only a hint: the database is asked again.
		n.located(best.Incarnation, best.Address)
		brief, cancel := context.WithTimeout(ctx, n.patience())
		_, err := n.askAt(brief, best.Incarnation, ownerLeave, request{of: id, method: methodClaim})
		cancel()
		if err == nil {
			if w, err := n.store.Owner(ctx, id); err != nil || w.Live {
				return w, err
			}
		}
	}
	if me == 0 || n.State() != ownership.Member {
		return was, ErrOwnerAway // a draining node claims nothing
	}
	return n.Claim(ctx, id)
}

// choose picks one of the least loaded nodes by hashing the identity, so that many unowned
// identities do not all go to the same node.
func choose(loads []ownership.Load, id ownership.Identity) (ownership.Load, bool) {
	if len(loads) == 0 {
		return ownership.Load{}, false
	}
	least := 0
	for least < len(loads) && loads[least].Owned == loads[0].Owned {
		least++
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(id.ID)) // never fails
	return loads[int(h.Sum32()%uint32(least))], true
}

// Claim makes this node the owner of an identity that no node acts for, and returns the owner after
// that. It returns ErrNotJoined if this node has no lease.
func (n *Node) Claim(ctx context.Context, id ownership.Identity) (ownership.Owner, error) {
	me := n.Incarnation()
	if me == 0 {
		return ownership.Owner{}, ErrNotJoined
	}
	asked := n.clock.Boot()
	w, err := n.store.Claim(ctx, id, me, n.cfg.Terms.Margin)
	if errors.Is(err, ownership.ErrFenced) {
		return w, ErrNotJoined
	}
	if err != nil {
		return w, err
	}
	n.remember(w, asked)
	return w, nil
}

// Release gives an identity up: the next node that needs it claims it. This node must have stopped
// acting for it.
func (n *Node) Release(ctx context.Context, id ownership.Identity) error {
	const never = engine.BootTime(1<<63 - 1)
	drop := func(released engine.BootTime) (w ownership.Owner, ok bool) {
		n.mu.Lock()
		defer n.mu.Unlock()
		w, ok = n.owned[id]
		delete(n.owned, id)
		delete(n.cache, id)
		if ok || released != never {
			n.released[id] = released
		}
		return w, ok
	}
	w, ok := drop(never)
	if !ok {
		return nil
	}
	err := n.store.Release(ctx, id, w.Incarnation)
	now := n.clock.Boot()
	drop(now)
	n.mu.Lock()
	defer n.mu.Unlock()
	maps.DeleteFunc(n.released, func(_ ownership.Identity, at engine.BootTime) bool {
		return at != never && now > at.Add(releasedFor)
	})
	return err
}

// HandTo releases an identity for one node to claim. This node must have stopped acting for it.
// After an error the owner is unknown, and may still be this node.
func (n *Node) HandTo(ctx context.Context, id ownership.Identity, to engine.Incarnation) error {
	ctx, cancel := n.bounded(ctx)
	defer cancel()
	if err := n.Release(ctx, id); err != nil {
		return err
	}
	if _, err := n.addressOf(ctx, to); err != nil {
		return err
	}
	_, err := n.askAt(ctx, to, nodeLeave, request{of: id, method: methodClaim})
	return err
}

// claimFor answers methodClaim.
func (n *Node) claimFor(ctx context.Context, _ engine.Incarnation, asked ownership.Owner, _ []byte) ([]byte, error) {
	if n.State() != ownership.Member {
		return nil, ErrNotJoined
	}
	_, err := n.Claim(ctx, asked.Identity)
	return nil, err
}

// remember caches the database's answer to a query that was sent at a given moment.
func (n *Node) remember(w ownership.Owner, asked engine.BootTime) {
	me := n.Incarnation()
	n.mu.Lock()
	defer n.mu.Unlock()
	if at, ok := n.released[w.Identity]; ok && at >= asked {
		return // it may predate the release
	}
	if !w.Live {
		delete(n.cache, w.Identity)
		return
	}
	if w.Incarnation == me && me != 0 {
		if had, ok := n.owned[w.Identity]; !ok || had.Epoch != w.Epoch {
			n.stats.Claims.Add(1)
		}
		n.owned[w.Identity] = w
		return
	}
	if len(n.cache) >= cacheMax {
		for id := range n.cache { // any of them
			delete(n.cache, id)
			break
		}
	}
	n.cache[w.Identity] = cached{owner: w, until: n.clock.Boot().Add(cacheFor)}
	n.addrs[w.Incarnation] = w.Address
}

func (n *Node) recall(id ownership.Identity) (ownership.Owner, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	c, ok := n.cache[id]
	if ok && n.clock.Boot() >= c.until {
		delete(n.cache, id)
		return ownership.Owner{}, false
	}
	return c.owner, ok
}

// forget drops the cached owner of an identity.
func (n *Node) forget(id ownership.Identity) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.cache, id)
}

// memberLeft drops the cached owners at an address.
func (n *Node) memberLeft(address string) {
	n.stats.MembersLeft.Add(1)
	n.broken(address)
	n.mu.Lock()
	defer n.mu.Unlock()
	for id, c := range n.cache {
		if c.owner.Address == address {
			delete(n.cache, id)
		}
	}
}

// addressOf returns where an incarnation listens, even after it lost its lease: its calls go on,
// and its process may live under another incarnation.
func (n *Node) addressOf(ctx context.Context, id engine.Incarnation) (string, error) {
	n.mu.Lock()
	a, ok := n.addrs[id]
	n.mu.Unlock()
	if ok {
		return a, nil
	}
	node, ok, err := n.store.Node(ctx, id)
	if err != nil {
		return "", err
	}
	if !ok {
		return "", engine.NotFound("node_not_found", "no node ever had this incarnation")
	}
	n.located(id, node.Address)
	return node.Address, nil
}

// located caches where a node is.
func (n *Node) located(id engine.Incarnation, address string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.addrs) >= cacheMax {
		clear(n.addrs)
	}
	n.addrs[id] = address
}

// broken handles a broken connection to an address.
func (n *Node) broken(address string) {
	n.links.Broken(func(id engine.Incarnation) bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		return n.addrs[id] == address
	})
}

// Live says whether an incarnation has its lease.
func (n *Node) Live(ctx context.Context, id engine.Incarnation) (bool, error) {
	node, ok, err := n.store.Node(ctx, id)
	return ok && node.Live, err
}

// Was says whether this process is or was an incarnation.
func (n *Node) Was(id engine.Incarnation) bool { return n.links.Was(id) }

// lookup is the protoactor interface for finding an identity's owner.
type lookup struct{ n *Node }

// Get implements cluster.IdentityLookup: it returns the message actor of the node that acts for the
// identity; nil if there is none now.
func (l lookup) Get(id *cluster.ClusterIdentity) *actor.PID {
	ctx, cancel := context.WithTimeout(l.n.ctx, l.n.patience())
	defer cancel()
	w, err := l.n.Owner(ctx, ownership.Identity{Kind: ownership.Kind(id.Kind), ID: id.Identity})
	if err != nil || !w.Live {
		return nil
	}
	return actor.NewPID(w.Address, inbox)
}

// RemovePid implements cluster.IdentityLookup.
func (l lookup) RemovePid(id *cluster.ClusterIdentity, _ *actor.PID) {
	l.n.forget(ownership.Identity{Kind: ownership.Kind(id.Kind), ID: id.Identity})
}

// Setup implements cluster.IdentityLookup.
func (lookup) Setup(*cluster.Cluster, []string, bool) {}

// Shutdown implements cluster.IdentityLookup.
func (lookup) Shutdown() {}
