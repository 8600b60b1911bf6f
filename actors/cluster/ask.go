package cluster

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"dialler/engine"
	"dialler/engine/ownership"
)

// newRun is what no other process, nor this one in another life, has in the ids
// of its requests.
func newRun() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// Handle says who carries out a method's requests, Receive who takes what is
// sent under a name. Both are said before others know of this node's claims.
func (n *Node) Handle(method string, h Handler) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.handlers[method] = h
}

// Receive says who takes what other nodes send under a name.
func (n *Node) Receive(name string, r Receiver) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.tells[name] = r
}

// Ask has the owner of an identity carry out a method and gives its answer; when
// nobody owns it, a node claims it first. It waits until ctx ends for an owner
// that was lost to be replaced. ErrUnanswered: it may have been carried out.
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

// again says whether a request was certainly not carried out, and may be by
// another node or a little later.
func again(err error) bool {
	return errors.Is(err, ownership.ErrNotOwner) || errors.Is(err, ErrOwnerAway) || errors.Is(err, ErrNotJoined)
}

func (n *Node) askOwner(ctx context.Context, w ownership.Owner, method string, body []byte) ([]byte, error) {
	if w.Incarnation == engine.Incarnation(n.acting.Load()) {
		return n.carryOut(ctx, w.Incarnation, w.Identity, method, body)
	}
	return n.askAt(ctx, w.Incarnation, w.Address, w.Identity, method, body)
}

// AskNode has a node, also one that has lost its lease, carry out a method.
func (n *Node) AskNode(ctx context.Context, to engine.Incarnation, method string, body []byte) ([]byte, error) {
	ctx, cancel := n.bounded(ctx)
	defer cancel()
	if n.Was(to) {
		return n.carryOut(ctx, to, ownership.Identity{}, method, body)
	}
	address, err := n.addressOf(ctx, to)
	if err != nil {
		return nil, err
	}
	return n.askAt(ctx, to, address, ownership.Identity{}, method, body)
}

// Tell sends a node, also one that has lost its lease, what it takes under a
// name, and does not wait for anything. That it went out says nothing of its
// arrival; what arrives does so in order, and once. ErrOwnerAway when it is not
// known yet where the node is: that is found out meanwhile.
func (n *Node) Tell(to engine.Incarnation, name string, body []byte) error {
	if n.Was(to) {
		n.mu.Lock()
		r := n.tells[name]
		n.mu.Unlock()
		if r != nil {
			r(to, body)
		}
		return nil
	}
	n.mu.Lock()
	address, ok := n.addrs[to]
	asking := n.finding[to]
	if !ok && !asking {
		n.finding[to] = true
	}
	n.mu.Unlock()
	switch {
	case ok:
	case asking:
		return ErrOwnerAway
	default:
		n.wg.Go(func() { n.find(to) })
		return ErrOwnerAway
	}
	m, err := pack(&header{Type: typeTell, From: engine.Incarnation(n.acting.Load()), To: to, Method: name}, body)
	if err != nil {
		return err
	}
	return n.wire.send(actor.NewPID(address, inbox), m)
}

// find asks the database where a node is.
func (n *Node) find(id engine.Incarnation) {
	ctx, cancel := context.WithTimeout(n.ctx, n.patience())
	defer cancel()
	if _, err := n.addressOf(ctx, id); err != nil {
		n.log.Info().Int32("incarnation", int32(id)).Str("code", engine.ErrorCode(err)).Msg("it is not known where another node is")
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

// askAt sends one request and waits for its answer.
func (n *Node) askAt(ctx context.Context, to engine.Incarnation, address string, id ownership.Identity, method string, body []byte) ([]byte, error) {
	by, _ := ctx.Deadline()
	left := time.Until(by)
	if left <= 0 {
		return nil, ErrOwnerAway
	}
	h := header{Type: typeAsk, ID: n.run + "-" + strconv.FormatUint(n.seq.Add(1), 36), From: engine.Incarnation(n.acting.Load()), To: to,
		Method: method, Kind: id.Kind, Of: id.ID, Left: left.Milliseconds(), By: by.UnixMilli()}
	m, err := pack(&h, body)
	if err != nil {
		return nil, err
	}
	n.stats.Asked.Add(1)
	answer, err := n.wire.ask(ctx, actor.NewPID(address, inbox), m, left)
	switch {
	case errors.Is(err, actor.ErrDeadLetter): // it did not leave, or nobody was there to take it
		return nil, ErrOwnerAway
	case err != nil:
		n.stats.Unanswered.Add(1)
		return nil, ErrUnanswered
	}
	a, answered, err := unpack(answer)
	if err != nil || a.Type != typeAnswer || a.ID != h.ID { // of an earlier life's question
		n.stats.Unanswered.Add(1)
		return nil, ErrUnanswered
	}
	if a.Error != nil {
		return nil, a.Error
	}
	return slices.Clone(answered), nil
}

// errMethodUnknown: the request itself may be right.
var errMethodUnknown = engine.Unavailable("method_unknown", "the node does not know this request, or not yet; try again, and see that all nodes are of one version", time.Second)

// carryOut runs a handler here: for an identity only while this node owns it.
func (n *Node) carryOut(ctx context.Context, from engine.Incarnation, id ownership.Identity, method string, body []byte) ([]byte, error) {
	// First of all whether it is for this node: it may have begun a moment ago, where
	// an owner was before, and know no request yet.
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

// mine gives this node's claim of an identity; ErrNotOwner when it has none.
func (n *Node) mine(ctx context.Context, id ownership.Identity) (ownership.Owner, error) {
	me := n.Incarnation()
	if me == 0 {
		return ownership.Owner{}, ownership.ErrNotOwner
	}
	if w, ok := n.Owned(id); ok {
		return w, nil
	}
	// A claim whose answer was lost.
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

// answerTo makes the answer to a request.
func answerTo(h *header, body []byte, err error) *wrapperspb.BytesValue {
	a := header{Type: typeAnswer, ID: h.ID}
	if err != nil {
		a.Error, body = told(err), nil
	}
	m, err := pack(&a, body)
	if err != nil {
		a.Error = told(err)
		m, _ = pack(&header{Type: typeAnswer, ID: h.ID, Error: ErrTooLarge}, nil) // never too large
	}
	return m
}
