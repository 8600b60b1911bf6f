package routing

import (
	"context"
	"errors"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/journal"
)

// A call outside campaigns has no owner in the database: its actor stays on the node that was asked
// for it, even if that node loses its lease. The row says which node placed it, and that node knows
// who acts for it if it is another one.

const (
	atNode = "dialout" // asks that node whether it has the actor itself
	// goneFor bounds the wait for a node without a lease.
	goneFor = 2 * time.Second
)

// dialoutAsked is a request about a call outside campaigns, sent to its node.
type dialoutAsked struct {
	Call    engine.CallID
	Node    engine.Incarnation // who placed it
	Passed  bool               // by the node that placed it: do not pass it on again
	Show    bool
	Control *control
	Result  *campaign.SubmitResult
}

// dialoutReply is the answer; Call is set for Show.
type dialoutReply struct{ Call *attempt.Attempt }

// ofDialout has a request carried out where the call's actor is. If that node is gone, this one
// answers once the call is known to be over.
func (r *Router) ofDialout(ctx context.Context, ask dialoutAsked, row *attempt.Attempt) (out dialoutReply, err error) {
	id, _ := ask.Call.Attempt()
	to, there := r.dialoutAt(id, row.Node)
	if !there {
		return r.dialoutHere(ctx, ask)
	}
	live := false
	if !ask.Show { // reading is not worth the wait
		if live, err = r.nodes.Live(ctx, to); err != nil {
			return out, err
		}
	}
	brief, cancel := ctx, func() {}
	if !live { // its calls may go on even so
		brief, cancel = context.WithTimeout(ctx, goneFor)
	}
	out, err = askNode[dialoutReply](brief, r, to, atNode, &ask)
	cancel()
	switch {
	case err == nil:
		return out, nil
	case live && engine.ErrorCode(err) != lifeOver || !unreachable(err):
		return out, err
	case !ask.Show && row.State != attempt.Ended: // it may go on, and no node here has it yet
		return out, call.ErrBeingClosed
	}
	return r.dialoutHere(ctx, ask)
}

// lifeOver is the answer of a process restarted at the node's address: the node's lease may not
// have ended yet.
const lifeOver = "node_not_found"

// unreachable says that an error did not come from the node that has the call.
func unreachable(err error) bool {
	var e *engine.Error
	return !errors.As(err, &e) || e.Kind == engine.KindUnavailable || e.Code == lifeOver
}

// dialoutAt returns the node to ask about a call outside campaigns that node placed; elsewhere is
// false if it is this one.
func (r *Router) dialoutAt(id engine.AttemptID, node engine.Incarnation) (to engine.Incarnation, elsewhere bool) {
	if r.tree.Has(id) || node == 0 {
		return 0, false
	}
	if !r.nodes.Was(node) {
		return node, true
	}
	owner, ok := r.calls.OwnerOf(id)
	return owner, ok && !r.nodes.Was(owner)
}

// dialoutAsked carries out another node's request.
func (r *Router) dialoutAsked(ctx context.Context, ask dialoutAsked) (dialoutReply, error) {
	id, _ := ask.Call.Attempt()
	to, elsewhere := r.dialoutAt(id, ask.Node)
	if !elsewhere || ask.Passed || to == ask.Node {
		return r.dialoutHere(ctx, ask)
	}
	ask.Passed = true
	return askNode[dialoutReply](ctx, r, to, atNode, &ask)
}

func (r *Router) dialoutHere(ctx context.Context, ask dialoutAsked) (out dialoutReply, err error) {
	switch {
	case ask.Control != nil:
		_, err = r.controlHere(ctx, *ask.Control)
	case ask.Result != nil:
		err = r.tree.SubmitResult(ctx, *ask.Result)
	case ask.Show:
		var a attempt.Attempt
		if a, err = r.tree.Call(ctx, ask.Call); err == nil {
			out.Call = &a
		}
	default:
		err = errUnknown
	}
	if errors.Is(err, journal.ErrStaleEpoch) {
		err = call.ErrBeingClosed // another node has the call since
	}
	return out, err
}

// errUnknown answers a request from a node of another version.
var errUnknown = engine.Invalid("request_unreadable", "")

// Calls are the calls whose legs are here; package gateway implements it.
type Calls interface {
	// OwnerOf returns the node that acts for a call whose legs are here; ok is false if no other
	// node does.
	OwnerOf(id engine.AttemptID) (node engine.Incarnation, ok bool)
}
