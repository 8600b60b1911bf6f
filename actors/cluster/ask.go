package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dialler/actors/cluster/link"
	"dialler/engine"
	"dialler/engine/ownership"
)

// requests is the name of requests between nodes (package link).
const requests = "request"

const (
	// ownerLeave is how long an owner may be silent before it is looked up again; nodeLeave, how
	// long a node may be before it is given up.
	ownerLeave = 500 * time.Millisecond
	nodeLeave  = 2 * time.Second
)

// Handle registers the handler of a method, before other nodes learn of this node's claims.
func (n *Node) Handle(method string, h Handler) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.handlers[method] = h
}

// Ask has the owner of an identity carry out a method and returns its answer; if it has no owner, a
// node claims it first. If the owner is lost, Ask waits for its replacement until ctx ends.
// ErrUnanswered means it may have been carried out.
func (n *Node) Ask(ctx context.Context, id ownership.Identity, method string, body []byte) ([]byte, error) {
	ctx, cancel := n.bounded(ctx)
	defer cancel()
	var last error
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		w, err := n.Owner(ctx, id)
		switch {
		case err != nil && !again(err):
			return nil, err
		case err != nil:
			last = err
		case !w.Live:
			last = ErrOwnerAway
		default:
			answer, err := n.askOwner(ctx, w, method, body)
			if err == nil || !again(err) {
				return answer, err
			}
			n.forget(id)
			last = err
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			if errors.Is(last, ownership.ErrNotOwner) {
				last = ErrOwnerAway
			}
			return nil, last
		}
	}
}

// again says whether a request was certainly not carried out and may succeed on another node or a
// little later.
func again(err error) bool {
	return errors.Is(err, ownership.ErrNotOwner) || errors.Is(err, ErrOwnerAway) || errors.Is(err, ErrNotJoined)
}

func (n *Node) askOwner(ctx context.Context, w ownership.Owner, method string, body []byte) ([]byte, error) {
	if w.Incarnation == engine.Incarnation(n.acting.Load()) {
		return n.carryOut(ctx, w.Incarnation, w.Identity, method, body)
	}
	return n.askAt(ctx, w.Incarnation, ownerLeave, request{w.Identity, method, body})
}

// AskNode has a node carry out a method, even one that has lost its lease.
func (n *Node) AskNode(ctx context.Context, to engine.Incarnation, method string, body []byte) ([]byte, error) {
	ctx, cancel := n.bounded(ctx)
	defer cancel()
	if n.Was(to) {
		return n.carryOut(ctx, to, ownership.Identity{}, method, body)
	}
	if _, err := n.addressOf(ctx, to); err != nil {
		return nil, err
	}
	return n.askAt(ctx, to, nodeLeave, request{method: method, body: body})
}

// carry sends a frame to another node (link.Transport), looking up its address first.
func (n *Node) carry(to engine.Incarnation, frame []byte) {
	n.mu.Lock()
	address, ok := n.addrs[to]
	asking := n.finding[to]
	if !ok && !asking && n.ctx.Err() == nil {
		n.finding[to] = true
		n.wg.Go(func() { n.find(to, frame) })
	}
	n.mu.Unlock()
	if ok {
		n.wire.send(address, frame)
	}
}

// find looks up a node's address in the database for a frame to be sent there.
func (n *Node) find(id engine.Incarnation, frame []byte) {
	ctx, cancel := context.WithTimeout(n.ctx, n.patience())
	defer cancel()
	address, err := n.addressOf(ctx, id)
	if err == nil {
		n.wire.send(address, frame)
	} else {
		n.log.Info().Int32("incarnation", int32(id)).Str("code",
			engine.ErrorCode(err)).Msg("it is not known where another node is")
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.finding, id)
}

func (n *Node) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, n.cfg.AskTimeout)
}

// request is a request to a node: to the node itself if identity is empty.
type request struct {
	of     ownership.Identity
	method string
	body   []byte
}

func (r *request) fields(w *link.Wire) {
	link.Text(w, &r.of.Kind)
	link.Text(w, &r.of.ID)
	link.Text(w, &r.method)
	w.Octets(&r.body)
}

// reply answers a request.
type reply struct {
	body []byte
	err  error
}

// askAt sends one request and waits for its answer.
func (n *Node) askAt(ctx context.Context, to engine.Incarnation, leave time.Duration, r request) ([]byte, error) {
	l := n.links.To(to)
	if l == nil {
		return nil, ErrNotJoined
	}
	if len(r.body) > MaxBody {
		return nil, ErrTooLarge
	}
	by, _ := ctx.Deadline()
	left := time.Until(by)
	if left <= 0 || ctx.Err() != nil {
		return nil, ErrOwnerAway
	}
	n.stats.Asked.Add(1)
	got := make(chan reply, 1)
	l.Ask(link.Question{Name: requests, Within: left, Leave: leave, Say: r.fields, Then: func(w *link.Wire, err error) {
		a := reply{err: err}
		if err == nil {
			w.Octets(&a.body)
			if !w.Whole() { // it was carried out, but its result is unreadable
				a.err = link.ErrSilent
			}
		}
		got <- a
	}})
	a := reply{err: link.ErrSilent}
	select {
	case a = <-got:
	case <-ctx.Done():
	}
	var told *engine.Error
	switch {
	case a.err == nil:
		return a.body, nil
	case errors.Is(a.err, link.ErrOver) && r.of == (ownership.Identity{}):
		return nil, engine.NotFound("node_not_found", "the node that this was for is gone")
	case errors.Is(a.err, link.ErrNotSent), errors.Is(a.err, link.ErrOver):
		return nil, ErrOwnerAway
	case errors.As(a.err, &told):
		return nil, told
	}
	n.stats.Unanswered.Add(1)
	return nil, ErrUnanswered
}

// asked accepts another node's request and has it carried out.
func (n *Node) asked(s *link.Said) {
	var r request
	r.fields(s.Wire)
	if !s.Whole() || !s.Asked() {
		return
	}
	left := time.Duration(s.Until - n.clock.Boot())
	select {
	case n.slots <- struct{}{}:
	default:
		n.stats.Refused.Add(1)
		s.Answer(ErrBusy, 0, nil)
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ctx.Err() != nil || left <= 0 {
		n.stats.Refused.Add(1)
		<-n.slots
		return // the caller has given up, or asks again
	}
	n.running.Go(func() {
		answer, err := n.served(s.Link.Peer(), left, &r)
		<-n.slots // before the caller gets the answer and asks again
		s.Answer(err, 0, func(w *link.Wire) { w.Octets(&answer) })
	})
}

// served carries out another node's request.
func (n *Node) served(from engine.Incarnation, left time.Duration, r *request) (answer []byte, err error) {
	ctx, cancel := context.WithTimeout(n.ctx, left)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			n.log.Error().Str("method", r.method).Str("why", fmt.Sprint(p)).
				Msg("a request from another node failed")
			err = fmt.Errorf("cluster: %v", p)
		}
	}()
	answer, err = n.carryOut(ctx, from, r.of, r.method, r.body)
	n.stats.Answered.Add(1)
	if len(answer) > MaxBody {
		return nil, ErrTooLarge
	}
	return answer, err
}

// errMethodUnknown is temporary, because the request itself may be right.
var errMethodUnknown = engine.Unavailable("method_unknown", "", time.Second)

// carryOut runs a handler here; for an identity, only while this node owns it.
func (n *Node) carryOut(ctx context.Context, from engine.Incarnation, id ownership.Identity, method string,
	body []byte) ([]byte, error) {
	// Check first that the request is for this node: it may have just started at a former owner's
	// address, and not know any method yet.
	w := ownership.Owner{Identity: id}
	if id != (ownership.Identity{}) && method != methodClaim {
		var err error
		if w, err = n.mine(ctx, id); err != nil {
			return nil, err
		}
	}
	n.mu.Lock()
	h := n.handlers[method]
	n.mu.Unlock()
	if h == nil {
		return nil, errMethodUnknown
	}
	return h(ctx, from, w, body)
}

// mine returns this node's claim of an identity, or ErrNotOwner.
func (n *Node) mine(ctx context.Context, id ownership.Identity) (ownership.Owner, error) {
	me := n.Incarnation()
	if me == 0 {
		return ownership.Owner{}, ownership.ErrNotOwner
	}
	if w, ok := n.Owned(id); ok {
		return w, nil
	}
	// A claim whose answer was lost may exist.
	asked := n.clock.Boot()
	w, err := n.store.Owner(ctx, id)
	if err != nil {
		return w, err
	}
	n.remember(w, asked)
	if w.Incarnation != me || !w.Live {
		return w, ownership.ErrNotOwner
	}
	return w, nil
}
