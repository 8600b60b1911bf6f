package ownership

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dialler/engine"
	"dialler/engine/fsm"
)

var terms = Terms{}.WithDefaults()

const second = engine.BootTime(time.Second)

// node is a lease together with its latest effects.
type node struct {
	Lease
	t   *testing.T
	did []Effect
}

func newNode(t *testing.T) *node { return &node{Lease: Lease{Terms: terms}, t: t} }

func (n *node) apply(now engine.BootTime, ev Event, want State, kinds ...EffectKind) {
	n.t.Helper()
	var err error
	if n.did, err = n.Apply(now, ev, nil); err != nil {
		n.t.Fatal(err)
	}
	var got []EffectKind
	for _, e := range n.did {
		if e.Kind != WakeAt {
			got = append(got, e.Kind)
		}
	}
	if n.State != want || !slices.Equal(got, kinds) {
		n.t.Fatalf("%s at %v: %s %v, want %s %v", ev.Kind, time.Duration(now), n.State, got, want, kinds)
	}
}

func (n *node) wakes(at engine.BootTime) {
	n.t.Helper()
	if i := slices.IndexFunc(n.did, func(e Effect) bool { return e.Kind == WakeAt }); i < 0 || n.did[i].At != at {
		n.t.Fatalf("wakes by %+v, want %v", n.did, time.Duration(at))
	}
}

// joinedNode is a node that joined as 7 at 10 s.
func joinedNode(t *testing.T) *node {
	n := newNode(t)
	n.apply(10*second, Event{Kind: Tick}, Absent, AskToJoin)
	n.apply(10*second+second/2, Event{Kind: Joined, Incarnation: 7, Asked: 10 * second}, Member, KeepUntil, Begin)
	return n
}

func TestANodeJoinsAndRenewsItsLease(t *testing.T) {
	n := joinedNode(t)
	if n.Until != 14*second || !n.May(14*second-1) || n.May(14*second) {
		t.Fatalf("until %v", time.Duration(n.Until)) // counted from before the request, less the margin
	}
	n.wakes(11 * second)
	n.apply(11*second-1, Event{Kind: Tick}, Member)
	n.apply(11*second, Event{Kind: Tick}, Member, AskToRenew)
	n.wakes(14 * second)
	n.apply(12*second, Event{Kind: Tick}, Member) // one request at a time
	n.apply(12*second, Event{Kind: Renewed, Incarnation: 7, Asked: 11 * second}, Member, KeepUntil)
	if n.Until != 15*second {
		t.Fatalf("until %v", time.Duration(n.Until))
	}
	n.wakes(12 * second) // late: the next renewal is due
}

func TestALeaseThatIsNotRenewedEndsBeforeAnybodyElseMayClaim(t *testing.T) {
	n := joinedNode(t)
	n.apply(11*second, Event{Kind: Tick}, Member, AskToRenew)
	n.apply(13*second, Event{Kind: RenewalLost, Incarnation: 7}, Member)
	n.wakes(13 * second)
	n.apply(13*second, Event{Kind: Tick}, Member, AskToRenew)
	n.apply(14*second, Event{Kind: Tick}, Fenced, KeepUntil, Fence)
	if n.did[1].Incarnation != 7 || n.did[1].Why != "expired" || n.May(14*second) || n.Until != 0 {
		t.Fatalf("%+v", n.did)
	}
	n.wakes(14 * second)
	// The answer comes after all, but an expired lease does not come back.
	n.apply(14*second, Event{Kind: Renewed, Incarnation: 7, Asked: 13 * second}, Fenced)
	n.apply(14*second, Event{Kind: Tick}, Fenced, AskToJoin)
	n.apply(15*second, Event{Kind: JoinLost}, Fenced)
	n.wakes(15 * second)
	n.apply(15*second, Event{Kind: Tick}, Fenced, AskToJoin)
	n.apply(20*second, Event{Kind: Joined, Incarnation: 8, Asked: 15 * second}, Fenced) // too late to be of use
	n.apply(20*second, Event{Kind: Tick}, Fenced, AskToJoin)
	n.apply(20*second, Event{Kind: Joined, Incarnation: 9, Asked: 20 * second}, Member, KeepUntil, Begin)
	if n.Incarnation != 9 || !n.May(24*second-1) {
		t.Fatalf("%+v", n.Lease)
	}
	// Answers for an earlier incarnation do not affect this one.
	n.apply(21*second, Event{Kind: Refused, Incarnation: 7}, Member)
	n.apply(21*second, Event{Kind: Renewed, Incarnation: 7, Asked: 21 * second}, Member)
	n.apply(21*second, Event{Kind: RenewalLost, Incarnation: 7}, Member)
	if n.Until != 24*second {
		t.Fatalf("until %v", time.Duration(n.Until))
	}
}

func TestAnAnswerInTimeSavesALeaseThatNobodyLookedAt(t *testing.T) {
	// The process was suspended while its renewal was sent and carried out: in the database the
	// lease had no gap.
	n := joinedNode(t)
	n.apply(11*second, Event{Kind: Tick}, Member, AskToRenew)
	n.apply(14*second+second/2, Event{Kind: Renewed, Incarnation: 7, Asked: 11 * second}, Member, KeepUntil)
	if !n.May(15*second - 1) {
		t.Fatal("fenced")
	}
}

func TestARefusedRenewalFencesAtOnce(t *testing.T) {
	n := joinedNode(t)
	n.apply(11*second, Event{Kind: Tick}, Member, AskToRenew)
	n.apply(11*second, Event{Kind: Refused, Incarnation: 7}, Fenced, KeepUntil, Fence)
	if n.did[1].Why != "refused" || n.May(11*second) {
		t.Fatalf("%+v", n.did)
	}
}

func TestANodeThatDrainsGoesOnAndLeaves(t *testing.T) {
	n := joinedNode(t)
	n.apply(11*second, Event{Kind: Drain}, Draining, TellDrain)
	n.apply(11*second, Event{Kind: Drain}, Draining)
	n.apply(11*second, Event{Kind: Tick}, Draining, AskToRenew)
	n.apply(11*second, Event{Kind: Renewed, Incarnation: 7, Asked: 11 * second}, Draining, KeepUntil)
	if !n.May(15*second - 1) {
		t.Fatal("it does not act for what it owns")
	}
	n.apply(12*second, Event{Kind: Leave}, Left, KeepUntil, TellLeave)
	if n.May(12 * second) {
		t.Fatal("it acts")
	}
	n.apply(12*second, Event{Kind: Tick}, Left)
	// A node that loses its lease while it drains does not come back.
	n = joinedNode(t)
	n.apply(11*second, Event{Kind: Drain}, Draining, TellDrain)
	n.apply(14*second, Event{Kind: Tick}, Left, KeepUntil, Fence)
	// A node that left while it was about to join undoes that.
	n = newNode(t)
	n.apply(10*second, Event{Kind: Tick}, Absent, AskToJoin)
	n.apply(10*second, Event{Kind: Leave}, Left)
	n.apply(10*second, Event{Kind: Joined, Incarnation: 7, Asked: 10 * second}, Left, TellLeave)
}

func TestEveryEventOfALeaseIsThoughtOf(t *testing.T) {
	for p, c := range leaseTable.Cover() {
		if c == fsm.Illegal {
			t.Errorf("%s in %s", p.Event, p.State)
		}
	}
}

// TestNobodyMayClaimWhileANodeActs delays, loses and drops requests and answers, and suspends the
// node: whenever it may act, the database would let no other node claim what it owns.
func TestNobodyMayClaimWhileANodeActs(t *testing.T) {
	acted, fenced := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		l := Lease{Terms: terms}
		type request struct {
			kind        EffectKind
			id          engine.Incarnation
			asked, done engine.BootTime // done: when the database carries it out, 0 means never
			back        engine.BootTime // when the answer or the time-out arrives
			answer      Event
		}
		var (
			now      = 100 * second
			expires  = map[engine.Incarnation]engine.BootTime{}
			last     engine.Incarnation
			under    []*request
			wake     = now
			duration = rapid.Int64Range(0, int64(3*time.Second))
		)
		apply := func(ev Event) {
			did, err := l.Apply(now, ev, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range did {
				switch e.Kind {
				case AskToJoin, AskToRenew:
					r := &request{kind: e.Kind, id: e.Incarnation, asked: now,
						back: now.Add(time.Duration(duration.Draw(t, "patience")))}
					if rapid.Bool().Draw(t, "done") {
						r.done = now.Add(time.Duration(duration.Draw(t, "way")))
					}
					r.answer = Event{Kind: RenewalLost, Incarnation: e.Incarnation}
					if e.Kind == AskToJoin {
						r.answer = Event{Kind: JoinLost}
					}
					under = append(under, r)
				case WakeAt:
					wake = e.At
				case Fence:
					fenced++
				case Begin, TellDrain, TellLeave, KeepUntil:
				}
			}
		}
		for range 60 {
			// The next event, or a later time if the node is suspended.
			next := now.Add(time.Duration(rapid.Int64Range(1, int64(time.Second)).Draw(t, "step")))
			if rapid.IntRange(0, 9).Draw(t, "stands still") == 0 {
				next = now.Add(time.Duration(rapid.Int64Range(0, int64(20*time.Second)).Draw(t, "pause")))
			}
			slices.SortStableFunc(under, func(a, b *request) int { return cmp.Compare(a.done, b.done) })
			for _, r := range under { // the database keeps working
				if r.done == 0 || r.done > next {
					continue
				}
				switch end, ok := expires[r.id]; {
				case r.kind == AskToJoin:
					last++
					expires[last] = r.done.Add(terms.TTL)
					if r.done <= r.back {
						r.answer = Event{Kind: Joined, Incarnation: last, Asked: r.asked}
					}
				case ok && r.done < end:
					expires[r.id] = r.done.Add(terms.TTL)
					if r.done <= r.back {
						r.answer = Event{Kind: Renewed, Incarnation: r.id, Asked: r.asked}
					}
				case r.done <= r.back:
					r.answer = Event{Kind: Refused, Incarnation: r.id}
				}
				r.done = 0
			}
			now = next
			if l.May(now) { // before the node has noticed anything
				acted++
				if end := expires[l.Incarnation]; now >= end.Add(terms.Margin) {
					t.Fatalf("%d acts at %v, its lease ended at %v", l.Incarnation, time.Duration(now), time.Duration(end))
				}
			}
			if now >= wake {
				apply(Event{Kind: Tick})
			}
			under = slices.DeleteFunc(under, func(r *request) bool {
				if r.back > now {
					return false
				}
				apply(r.answer)
				return true
			})
		}
	})
	if acted == 0 || fenced == 0 {
		t.Errorf("%d moments in which a node acted, %d in which it was fenced", acted, fenced)
	}
}
