package ownership

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/ownership"
)

// world is everything around the keeper of node 1. It records actions in order.
type world struct {
	mu     sync.Mutex
	did    []string
	nodes  []ownership.Node
	active []engine.CampaignID
	up     []engine.CampaignID
	owner  map[ownership.Identity]engine.Incarnation
	me     engine.Incarnation // 0: no lease
	open   []attempt.Attempt
	here   map[engine.AttemptID]bool
	stuck  map[engine.CampaignID]bool
	// stopped are the campaigns that were released and not yet Left.
	stopped map[engine.CampaignID]bool
	away    bool // the database
	// unlisted means that the open calls cannot be listed, unclaimed that nothing can be claimed.
	unlisted, unclaimed bool
	// refuses makes the other node reject what it is handed.
	refuses bool
	calls   map[engine.CampaignID]int
	carry   map[engine.Incarnation][]engine.AttemptID
	began   time.Time
	lost    []engine.AttemptID
	carried []engine.AttemptID // by other nodes, for this one
}

var errAway = engine.Unavailable("database_unavailable", "away", time.Second)

func (w *world) note(format string, args ...any) { w.did = append(w.did, fmt.Sprintf(format, args...)) }

func (w *world) lock() func() { w.mu.Lock(); return w.mu.Unlock }

func (w *world) Boot() engine.BootTime { return engine.BootTime(time.Since(w.began)) }

// Of the node.

func (w *world) Owner(_ context.Context, id ownership.Identity) (ownership.Owner, error) {
	defer w.lock()()
	if w.away {
		return ownership.Owner{}, errAway
	}
	if w.owner[id] == 0 {
		w.owner[id] = w.me
		w.note("claim %s", id)
	}
	return ownership.Owner{Identity: id, Incarnation: w.owner[id], Live: true}, nil
}

func (w *world) OwnersOf(_ context.Context, kind ownership.Kind, ids []string) (all []ownership.Owner, err error) {
	defer w.lock()()
	for _, s := range ids {
		id := ownership.Identity{Kind: kind, ID: s}
		all = append(all, ownership.Owner{Identity: id, Incarnation: w.owner[id], Live: w.owner[id] != 0})
	}
	return all, nil
}

func (w *world) HandTo(_ context.Context, id ownership.Identity, to engine.Incarnation) error {
	defer w.lock()()
	w.note("hand %s to %d", id.ID, to)
	if w.refuses {
		delete(w.owner, id)
		return errAway
	}
	w.owner[id] = to
	return nil
}

func (w *world) Owned(id ownership.Identity) (ownership.Owner, bool) {
	defer w.lock()()
	return ownership.Owner{Identity: id, Incarnation: w.me, Epoch: 3}, w.me != 0 && w.owner[id] == w.me
}

func (w *world) Claim(ctx context.Context, id ownership.Identity) (ownership.Owner, error) {
	if w.unclaimed {
		return ownership.Owner{}, errAway
	}
	return w.Owner(ctx, id)
}

func (w *world) Release(_ context.Context, id ownership.Identity) error {
	defer w.lock()()
	w.note("give up %s", id.ID)
	delete(w.owner, id)
	return nil
}

func (w *world) May() bool { defer w.lock()(); return w.me != 0 }
func (w *world) Drain()    { defer w.lock()(); w.note("drain") }

func (w *world) Nodes(context.Context) ([]ownership.Node, error) {
	defer w.lock()()
	if w.away {
		return nil, errAway
	}
	return slices.Clone(w.nodes), nil
}

// tree is the node's tree, gateway its calls, store its database.
type (
	tree    struct{ *world }
	gateway struct{ *world }
	store   struct{ *world }
)

func (w tree) ActiveCampaigns(context.Context) ([]engine.CampaignID, error) {
	defer w.lock()()
	return slices.Clone(w.active), nil
}

func (w tree) Up(context.Context) ([]engine.CampaignID, error) {
	defer w.lock()()
	return slices.Clone(w.up), nil
}

func (w tree) CallsOf(ids []engine.CampaignID) map[engine.CampaignID]int {
	out := map[engine.CampaignID]int{}
	for _, id := range ids {
		out[id] = w.calls[id]
	}
	return out
}

func (w tree) Adopt(id engine.CampaignID) {
	defer w.lock()()
	if !slices.Contains(w.up, id) {
		w.up = append(w.up, id)
		w.note("adopt %s", id)
	}
}

func (w tree) Release(_ context.Context, id engine.CampaignID) error {
	defer w.lock()()
	w.stopped[id] = true
	if w.stuck[id] {
		return errors.New("does not stop")
	}
	w.note("stop %s", id)
	w.up = slices.DeleteFunc(w.up, func(c engine.CampaignID) bool { return c == id })
	return nil
}

func (w tree) Left(id engine.CampaignID) {
	defer w.lock()()
	if !w.stopped[id] {
		w.note("%s left without a stop", id)
	}
	delete(w.stopped, id)
}

func (w tree) Has(id engine.AttemptID) bool { defer w.lock()(); return w.here[id] }

func (w tree) OpenDialouts(context.Context) ([]attempt.Attempt, error) {
	defer w.lock()()
	if w.unlisted {
		return nil, errAway
	}
	return slices.DeleteFunc(slices.Clone(w.open), func(a attempt.Attempt) bool { return a.Campaign != "" }), nil
}

func (w tree) CloseDialout(a attempt.Attempt, epoch int64) {
	defer w.lock()()
	w.note("close %s, epoch %d", a.ID, epoch)
}

func (w tree) Taken(id engine.AttemptID) { defer w.lock()(); w.note("taken %s", id) }

func (w tree) LegsGone(ids []engine.AttemptID) { defer w.lock()(); w.note("legs gone %v", ids) }

func (w gateway) Join(id engine.Incarnation) { defer w.lock()(); w.note("join %d", id) }

func (w gateway) Gone(id engine.Incarnation, address string) {
	defer w.lock()()
	w.note("gone %d%s", id, address)
	w.lost = w.carry[id]
}

func (w gateway) Lost() []engine.AttemptID {
	defer w.lock()()
	lost := w.lost
	w.lost = nil
	return lost
}

func (w gateway) Disown() []engine.AttemptID {
	defer w.lock()()
	given := w.carried
	w.carried = nil
	return given
}

func (w gateway) Leave(a engine.AttemptID, _ engine.Incarnation, epoch int64, peers []engine.LegID) {
	defer w.lock()()
	w.note("leave %s %d %d", a, epoch, len(peers))
}

func (w store) ActAs(id engine.Incarnation) { defer w.lock()(); w.me = id; w.note("act as %d", id) }

func (w store) Campaign(_ context.Context, id engine.CampaignID) (campaign.Campaign, error) {
	return campaign.Campaign{ID: id, Epoch: 7}, nil
}

func (w store) OpenAttempts(context.Context) ([]attempt.Attempt, error) {
	defer w.lock()()
	return slices.Clone(w.open), nil
}

func (w *world) owns(c engine.CampaignID, id engine.Incarnation) {
	w.owner[ownership.Identity{Kind: ownership.Campaign, ID: string(c)}] = id
}

// expect compares what was recorded since the last time.
func (w *world) expect(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	defer w.lock()()
	if !slices.Equal(w.did, want) {
		t.Fatalf("done:\n%s\nwant:\n%s", strings.Join(w.did, "\n"), strings.Join(want, "\n"))
	}
	w.did = nil
}

// keeping runs the keeper of node 1 in a world of nodes 1 and 2.
func keeping(t *testing.T, change func(*world), then func(*testing.T, *world, *Keeper)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{owner: map[ownership.Identity]engine.Incarnation{}, here: map[engine.AttemptID]bool{},
			stuck: map[engine.CampaignID]bool{}, stopped: map[engine.CampaignID]bool{},
			carry: map[engine.Incarnation][]engine.AttemptID{}, began: time.Now(),
			nodes: []ownership.Node{{Incarnation: 1, Live: true}, {Incarnation: 2, Live: true}}}
		change(w)
		k := New(Config{Tree: tree{w}, Calls: gateway{w}, Store: store{w}, Nodes: w, Clock: w, Log: zerolog.Nop()})
		k.Attach(w)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); k.Keep(ctx) }()
		k.Begin(1)
		synctest.Wait()
		w.mu.Lock()
		w.did = nil
		w.mu.Unlock()
		then(t, w, k)
		cancel()
		<-done
		if len(w.stopped) > 0 {
			t.Errorf("%v stopped and did not leave", w.stopped)
		}
	})
}

func TestANodeAdoptsWhatItOwnsAndWhatNobodyDoes(t *testing.T) {
	keeping(t, func(*world) {}, func(t *testing.T, w *world, k *Keeper) {
		w.mu.Lock()
		w.active = []engine.CampaignID{"ours", "nobodys", "theirs"}
		w.owns("ours", 1)
		w.owns("theirs", 2)
		w.mu.Unlock()
		time.Sleep(lookEvery)
		w.expect(t, "adopt ours", "claim campaign/nobodys", "adopt nobodys")
		time.Sleep(lookEvery)
		w.expect(t)
		if k.Campaigns() != 2 {
			t.Errorf("%d campaigns, want 2", k.Campaigns())
		}
	})
}

func TestACampaignThatBecameAnothersStopsAndItsCallsWait(t *testing.T) {
	keeping(t, func(w *world) {
		w.active = []engine.CampaignID{"ours"}
		w.owns("ours", 1)
		w.open = []attempt.Attempt{{ID: "a", Campaign: "ours", Peers: make([]attempt.Peer, 2)}, {ID: "b", Campaign: "other"}}
	}, func(t *testing.T, w *world, _ *Keeper) {
		w.mu.Lock()
		w.owns("ours", 2)
		w.mu.Unlock()
		time.Sleep(lookEvery)
		w.expect(t, "stop ours", "leave a 7 2")
	})
}

func TestActorsThatDoNotStopAreStoppedInTheNextRoundAndTheirCampaignIsKept(t *testing.T) {
	keeping(t, func(w *world) {
		w.active = []engine.CampaignID{"stuck", "fine"}
		w.owns("stuck", 1)
		w.owns("fine", 1)
		w.stuck["stuck"] = true
	}, func(t *testing.T, w *world, k *Keeper) {
		k.HandOver(t.Context())
		w.expect(t, "drain", "stop fine", "give up fine")
		w.mu.Lock()
		clear(w.stuck)
		w.mu.Unlock()
		time.Sleep(lookEvery)
		w.expect(t, "stop stuck", "give up stuck")
	})
}

func TestADrainedNodeAdoptsNothing(t *testing.T) {
	keeping(t, func(*world) {}, func(t *testing.T, w *world, k *Keeper) {
		k.HandOver(t.Context())
		w.mu.Lock()
		w.active = []engine.CampaignID{"new"}
		w.mu.Unlock()
		time.Sleep(3 * lookEvery)
		w.expect(t, "drain")
	})
}

func TestAFencedNodeLeavesItsCampaignsUpUntilItIsSomebodyAgain(t *testing.T) {
	keeping(t, func(w *world) { w.active = []engine.CampaignID{"ours"}; w.owns("ours", 1) },
		func(t *testing.T, w *world, k *Keeper) {
			k.Fence(1, "expired")
			time.Sleep(3 * lookEvery)
			w.expect(t, "act as 0")
			w.mu.Lock()
			w.owns("ours", 2)
			w.mu.Unlock()
			k.Begin(3)
			w.expect(t, "join 3", "act as 3", "stop ours")
		})
}

// A node that was cut off has not heard of calls on another node for so long that they count as
// lost. Their next owner has found them there: nothing is ended at the carrier.
func TestWhatAFencedNodeDidNotHearOfIsNotItsToEnd(t *testing.T) {
	keeping(t, func(w *world) { w.active = []engine.CampaignID{"ours"}; w.owns("ours", 1) },
		func(t *testing.T, w *world, k *Keeper) {
			k.Fence(1, "expired")
			time.Sleep(30 * lookEvery)
			w.mu.Lock()
			w.owns("ours", 2)
			w.carried = []engine.AttemptID{"silent", "heard"}
			w.mu.Unlock()
			w.expect(t, "act as 0")
			k.Begin(3)
			w.expect(t, "join 3", "act as 3", "stop ours", "taken silent", "taken heard")
			w.mu.Lock()
			w.lost = []engine.AttemptID{"y"}
			w.mu.Unlock()
			time.Sleep(lookEvery)
			w.expect(t, "legs gone [y]")
		})
}

// The calls that the node carried are lost; those outside campaigns are closed
// by one node, under the epoch of its claim.
func TestANodeThatIsGoneHasItsCallsClosedOnce(t *testing.T) {
	keeping(t, func(w *world) {
		w.open = []attempt.Attempt{{ID: "theirs", Node: 2}, {ID: "here", Node: 2}, {ID: "ours", Node: 1},
			{ID: "campaigns", Node: 2, Campaign: "c"}}
		w.here["here"] = true
		w.carry[2] = []engine.AttemptID{"x"}
	}, func(t *testing.T, w *world, _ *Keeper) {
		w.mu.Lock()
		w.nodes[1].Live = false
		w.mu.Unlock()
		time.Sleep(3 * lookEvery)
		w.expect(t, "gone 2", "legs gone [x]", "claim dialouts/2", "close theirs, epoch 3")
	})
}

// The database lists no node that was declared dead; the gateway needs to know where it listened.
func TestTheGatewayHearsWhereANodeListenedThatIsListedNoMore(t *testing.T) {
	keeping(t, func(w *world) { w.nodes[1].Address = " at b:1" }, func(t *testing.T, w *world, _ *Keeper) {
		w.mu.Lock()
		w.nodes = slices.Delete(w.nodes, 1, 2)
		w.mu.Unlock()
		time.Sleep(3 * lookEvery)
		w.expect(t, "gone 2 at b:1")
	})
}

// The actor of a call that this process goes on with may be gone before its end is stored.
func TestACallOfAGoneNodeIsClosedOnceItsActorHereIsGone(t *testing.T) {
	keeping(t, func(w *world) {
		w.open = []attempt.Attempt{{ID: "here", Node: 2}}
		w.here["here"] = true
	}, func(t *testing.T, w *world, _ *Keeper) {
		w.mu.Lock()
		w.nodes[1].Live = false
		w.mu.Unlock()
		time.Sleep(20 * lookEvery)
		w.expect(t, "gone 2", "claim dialouts/2")
		w.mu.Lock()
		delete(w.here, "here")
		w.mu.Unlock()
		time.Sleep(dialoutsEvery)
		w.expect(t, "close here, epoch 3")
	})
}

// The database may be away for the round in which the node is gone, for the list or for the claim.
func TestTheCallsOfANodeThatIsGoneAreClosedOnceTheDatabaseIsBack(t *testing.T) {
	for _, fails := range []func(*world) *bool{
		func(w *world) *bool { return &w.unlisted },
		func(w *world) *bool { return &w.unclaimed },
	} {
		keeping(t, func(w *world) { w.open = []attempt.Attempt{{ID: "theirs", Node: 2}} },
			func(t *testing.T, w *world, _ *Keeper) {
				set := func(away bool) { defer w.lock()(); *fails(w) = away; w.nodes[1].Live = false }
				set(true)
				time.Sleep(3 * lookEvery)
				w.expect(t, "gone 2")
				set(false)
				time.Sleep(lookEvery)
				w.expect(t, "claim dialouts/2", "close theirs, epoch 3")
				time.Sleep(3 * lookEvery)
				w.expect(t)
			})
	}
}

func TestARoundWithoutTheDatabaseIsMadeUpFor(t *testing.T) {
	keeping(t, func(w *world) { w.away = true; w.active = []engine.CampaignID{"new"} },
		func(t *testing.T, w *world, _ *Keeper) {
			time.Sleep(3 * lookEvery)
			w.expect(t)
			w.mu.Lock()
			w.away = false
			w.mu.Unlock()
			time.Sleep(lookEvery)
			w.expect(t, "claim campaign/new", "adopt new")
		})
}

// Of four campaigns, the two that the other node should have go there, those with the fewest calls
// first and one at a time; their calls go on here.
func TestCampaignsGoToANodeThatHasFewer(t *testing.T) {
	four := func(w *world) {
		for _, id := range []engine.CampaignID{"a", "b", "c", "d"} {
			w.active = append(w.active, id)
			w.owns(id, 1)
		}
		w.calls = map[engine.CampaignID]int{"a": 3, "b": 2, "c": 0, "d": 1}
		w.open = []attempt.Attempt{{ID: "x", Campaign: "d"}}
	}
	keeping(t, four, func(t *testing.T, w *world, k *Keeper) {
		time.Sleep(7 * lookEvery)
		w.expect(t, "stop c", "hand c to 2")
		time.Sleep(7 * lookEvery)
		w.expect(t, "stop d", "leave x 7 0", "hand d to 2")
		time.Sleep(time.Minute)
		w.expect(t)
		if k.Given() != 2 || k.Campaigns() != 2 {
			t.Errorf("%d given, %d are left", k.Given(), k.Campaigns())
		}
	})
	keeping(t, func(w *world) { four(w); w.refuses = true }, func(t *testing.T, w *world, _ *Keeper) {
		time.Sleep(7 * lookEvery)
		w.expect(t, "stop c", "hand c to 2", "claim campaign/c", "adopt c")
		time.Sleep(20 * time.Second)
		w.expect(t)
	})
	keeping(t, func(w *world) { four(w); w.nodes[1].Draining = true }, func(t *testing.T, w *world, _ *Keeper) {
		time.Sleep(time.Minute)
		w.expect(t)
	})
}
