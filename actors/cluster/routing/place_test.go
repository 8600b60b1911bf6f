package routing

import (
	"context"
	"reflect"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/enginetest"
)

func TestADialoutIsPlacedByTheNodeThatIsChosen(t *testing.T) {
	cmd := enginetest.Filled[campaign.Dialout]()
	later := cmd
	cmd.Times.NotBefore = nil
	for _, node := range []engine.Incarnation{0, 1, 2} { // 0 and 1: the node that is asked
		_, one, two := newNet()
		one.router.Carrier = func(trunk engine.TrunkID) engine.Incarnation {
			if trunk != cmd.Trunk {
				t.Errorf("chosen for trunk %q", trunk)
			}
			return node
		}
		reply, err := one.router.Dialout(context.Background(), cmd)
		if err != nil || !reflect.DeepEqual(reply, enginetest.Filled[campaign.DialoutReply]()) {
			t.Errorf("node %d: %+v, %v", node, reply, err)
		}
		at, other := one, two
		if node == 2 {
			at, other = two, one
		}
		if len(at.tree.got) != 1 || !reflect.DeepEqual(at.tree.got[0], any(cmd)) || len(other.tree.got) != 0 {
			t.Errorf("node %d: it was told %+v, the other %+v", node, at.tree.got, other.tree.got)
		}
	}
	// One for later is stored by the node that is asked.
	_, one, two := newNet()
	one.router.Carrier = func(engine.TrunkID) engine.Incarnation { return 2 }
	if _, err := one.router.Dialout(context.Background(), later); err != nil || len(one.tree.got) != 1 ||
		len(two.tree.got) != 0 {
		t.Errorf("for later: %v, %v, %v", one.tree.got, two.tree.got, err)
	}
}

// A dialout is placed here if the chosen node certainly did not take it, and not if it may have.
func TestADialoutThatAnotherNodeDidNotTakeIsPlacedHere(t *testing.T) {
	for code, here := range map[string]bool{"node_overloaded": true, "node_fenced": true, "node_draining": true,
		"owner_silent": false, "no_capacity": false, "suppressed": false} {
		_, one, two := newNet()
		one.router.Carrier = func(engine.TrunkID) engine.Incarnation { return 2 }
		two.tree.err = engine.Unavailable(code, "not now", time.Second)
		_, err := one.router.Dialout(context.Background(), campaign.Dialout{})
		if placed := len(one.tree.got) == 1; placed != here || (err == nil) != here {
			t.Errorf("%s: placed here %v, %v", code, placed, err)
		}
	}
	n, one, _ := newNet()
	n.gone[2] = true
	one.router.Carrier = func(engine.TrunkID) engine.Incarnation { return 2 }
	if _, err := one.router.Dialout(context.Background(), campaign.Dialout{}); err != nil || len(one.tree.got) != 1 {
		t.Errorf("the other node is gone: %v", err)
	}
}
