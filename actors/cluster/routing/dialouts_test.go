package routing

import (
	"context"
	"reflect"
	"testing"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/enginetest"
)

// dialoutNet is a net in which node two placed a call outside campaigns, and node acts has it.
func dialoutNet(state attempt.State, acts engine.Incarnation) (n *net, one *side, call engine.CallID) {
	n, one, two := newNet()
	call, id := theCall()
	one.tree.rows = map[engine.AttemptID]attempt.Attempt{id: {ID: id, Node: 2, State: state}}
	n.sides[acts].tree.has[id] = true
	if acts != 2 {
		two.carries[id] = acts
	}
	return n, one, call
}

// dialoutCommands are the possible requests about a call, with what they tell its tree.
func dialoutCommands(call engine.CallID) map[string]struct {
	ask  func(r *Router) error
	told any
} {
	ctx := context.Background()
	result := enginetest.Filled[campaign.SubmitResult]()
	result.Call = call
	return map[string]struct {
		ask  func(r *Router) error
		told any
	}{
		"hang_up": {func(r *Router) error { return r.HangUp(ctx, call, engine.Who{User: "u1"}) },
			hungUp{call, engine.Who{User: "u1"}}},
		"digits":   {func(r *Router) error { return r.SendDigits(ctx, call, "1") }, string(call) + "1"},
		"transfer": {func(r *Router) error { return r.Transfer(ctx, call, "+4930") }, string(call) + "+4930"},
		"result":   {func(r *Router) error { return r.SubmitResult(ctx, result) }, result},
		"call":     {func(r *Router) error { _, err := r.Call(ctx, call); return err }, call},
	}
}

func TestADialoutIsActedOnByTheNodeThatHasIt(t *testing.T) {
	for _, acts := range []engine.Incarnation{1, 2, 3} { // 3: two only placed it
		_, _, call := dialoutNet(attempt.Connected, acts)
		for name, c := range dialoutCommands(call) {
			n, one, _ := dialoutNet(attempt.Connected, acts)
			if err := c.ask(one.router); err != nil {
				t.Errorf("%s at %d: %v", name, acts, err)
			}
			for id, s := range n.sides {
				switch {
				case id != acts && len(s.tree.got) > 0:
					t.Errorf("%s at %d: node %d was told %v", name, acts, id, s.tree.got)
				case id == acts && (len(s.tree.got) != 1 || !reflect.DeepEqual(s.tree.got[0], c.told)):
					t.Errorf("%s at %d: it was told %+v, want %+v", name, acts, s.tree.got, c.told)
				}
			}
		}
	}
}

func TestAnErrorOfTheDialoutsNodeIsTheCallers(t *testing.T) {
	for _, dead := range []bool{false, true} { // its calls go on even without a lease
		n, one, call := dialoutNet(attempt.Connected, 2)
		n.dead[2] = dead
		n.sides[2].tree.err = engine.Conflict("call_not_answered", "keys can be sent to an answered call only")
		if err := one.router.SendDigits(t.Context(), call, "1"); engine.ErrorCode(err) != "call_not_answered" ||
			len(one.tree.got) > 0 {
			t.Errorf("%v, and this node did %v", err, one.tree.got)
		}
	}
}

// While the node has its lease the call may be live; afterwards this node answers, as a restarted
// dialler would. A command or a result waits for the call's end.
func TestADialoutOfANodeThatIsGoneIsAnsweredHere(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		_, _, call := dialoutNet(attempt.Connected, 2)
		for name, c := range dialoutCommands(call) {
			for _, ended := range []bool{false, true} {
				n, one, _ := dialoutNet(attempt.Connected, 2)
				_, id := theCall()
				row := one.tree.rows[id]
				if ended {
					row.State = attempt.Ended
				}
				if restarted {
					row.Node = 7 // no node has that incarnation any more
				}
				one.tree.rows[id] = row
				n.gone[2] = true
				if !restarted && name != "call" {
					if err := c.ask(one.router); engine.ErrorCode(err) != errAway.Code || len(one.tree.got) > 0 {
						t.Errorf("%s: %v while it has its lease, and this node did %v", name, err, one.tree.got)
					}
				}
				n.dead[2] = true
				err := c.ask(one.router)
				switch told := len(one.tree.got); {
				case name != "call" && !ended:
					if engine.ErrorCode(err) != "call_being_closed" || told > 0 {
						t.Errorf("%s: %v, and this node did %v", name, err, one.tree.got)
					}
				case name == "call" && ended:
					if err != nil || told > 0 {
						t.Errorf("%s: %v, and this node did %v; the row says it all", name, err, one.tree.got)
					}
				case err != nil || told != 1:
					t.Errorf("%s: %v, and this node did %v", name, err, one.tree.got)
				}
			}
		}
	}
}

// The process was killed and restarted before its lease ended: the new process answers that it is
// not that incarnation, and the call is gone with the old one.
func TestADialoutOfALifeThatIsOverIsAnsweredHereThoughItsLeaseGoesOn(t *testing.T) {
	_, _, call := dialoutNet(attempt.Connected, 2)
	for name, c := range dialoutCommands(call) {
		n, one, _ := dialoutNet(attempt.Connected, 2)
		_, id := theCall()
		row := one.tree.rows[id]
		row.Node = 7
		one.tree.rows[id] = row
		n.former = 7
		err := c.ask(one.router)
		switch told := len(one.tree.got); {
		case name != "call":
			if engine.ErrorCode(err) != "call_being_closed" || told > 0 {
				t.Errorf("%s: %v, and this node did %v", name, err, one.tree.got)
			}
		case err != nil || told != 1:
			t.Errorf("%s: %v, and this node did %v", name, err, one.tree.got)
		}
	}
}
