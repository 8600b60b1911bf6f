package ownership

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"dialler/engine"
)

func at(id engine.Incarnation, live bool) Node { return Node{Incarnation: id, Live: live} }

func incarnations(all []Node) (ids []engine.Incarnation) {
	for i := range all {
		ids = append(ids, all[i].Incarnation)
	}
	return ids
}

// Where a node listened tells later incarnations of its process, and one that has left is listed no more.
func TestANodeThatHasLeftIsGoneAsItWasLastListed(t *testing.T) {
	r := Roll{Margin: terms.Margin}
	r.Call(0, []Node{{Incarnation: 1, Live: true}})
	r.Call(second, []Node{{Incarnation: 1, Live: true, Address: "a:1"}})
	if gone := r.Call(2*second, nil); len(gone) != 1 || gone[0].Address != "a:1" {
		t.Errorf("%+v", gone)
	}
}

func TestANodeWithoutALeaseIsGoneAfterTheMargin(t *testing.T) {
	r := Roll{Margin: terms.Margin}
	call := func(now engine.BootTime, all []Node, want ...engine.Incarnation) {
		t.Helper()
		if gone := incarnations(r.Call(now, all)); !slices.Equal(gone, want) {
			t.Fatalf("at %d gone %v, want %v", now/second, gone, want)
		}
	}
	call(0, []Node{at(1, true), at(2, true)})
	call(second, []Node{at(1, true), at(2, false)})
	if !r.There(2) {
		t.Fatal("the second node is gone at once")
	}
	call(second*3/2, []Node{at(1, true), at(2, false)})
	call(2*second, []Node{at(1, true), at(2, false)}, 2)
	call(4*second, []Node{at(1, true), at(2, false)})
	if r.There(2) || !r.There(1) {
		t.Fatal("who is gone is there, or who is there is gone")
	}
	call(5*second, []Node{at(1, true)}) // declared dead
	call(6*second, []Node{}, 1)         // left
}

// Whatever the database lists, a node with a lease is there, one that has left is gone, and each is
// reported as gone once for each time that it was there.
func TestEachNodeIsGoneOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Roll{Margin: terms.Margin}
		there := map[engine.Incarnation]bool{}
		now := engine.BootTime(0)
		for range rapid.IntRange(1, 40).Draw(t, "calls") {
			now += engine.BootTime(rapid.Int64Range(0, int64(2*terms.Margin)).Draw(t, "later"))
			var all []Node
			for id := engine.Incarnation(1); id <= 4; id++ {
				switch rapid.SampledFrom([]string{"live", "lapsed", "left"}).Draw(t, "node") {
				case "live":
					all = append(all, at(id, true))
				case "lapsed":
					all = append(all, at(id, false))
				default:
				}
			}
			for _, id := range incarnations(r.Call(now, all)) {
				if !there[id] {
					t.Fatalf("node %d, which was not there, is gone", id)
				}
				there[id] = false
				if r.There(id) {
					t.Fatalf("node %d is gone, and there", id)
				}
			}
			for id := engine.Incarnation(1); id <= 4; id++ {
				i := slices.IndexFunc(all, func(n Node) bool { return n.Incarnation == id })
				if i >= 0 && all[i].Live && !r.There(id) {
					t.Fatalf("node %d has its lease and is not there", id)
				}
				if r.There(id) {
					there[id] = true
				}
				if i < 0 && (r.There(id) || there[id]) {
					t.Fatalf("node %d has left and was not told to be gone", id)
				}
			}
		}
	})
}
