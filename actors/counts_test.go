package actors_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"dialler/actors"
	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/ownership"
	"dialler/engine/quota"
)

// teller is a node that keeps all counts.
type teller struct{}

func (teller) As() engine.Incarnation                                                       { return 1 }
func (teller) Mine(ownership.Identity) bool                                                 { return true }
func (teller) Ask(ownership.Identity, []byte, []byte, func([]byte, engine.BootTime, error)) {}
func (teller) Owe(ownership.Identity, []byte)                                               {}
func (teller) Recount()                                                                     {}

// asker is a node that keeps none, and asks over a network that loses, delays and duplicates.
type asker struct {
	bank  *actors.Tree
	clock bubbleClock

	mu   sync.Mutex
	rng  *rand.Rand
	away bool // the keeper answers no node
}

var errNoAnswer = errors.New("no answer")

func (*asker) As() engine.Incarnation       { return 2 }
func (*asker) Mine(ownership.Identity) bool { return false }
func (*asker) Recount()                     {}

func (a *asker) roll(n int) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.rng.IntN(n)
}

func (a *asker) silence(away bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.away = away
}

func (a *asker) Ask(of ownership.Identity, question, undo []byte, then func([]byte, engine.BootTime, error)) {
	asked, fate := a.clock.Boot(), a.roll(100)
	a.mu.Lock()
	if a.away {
		fate = 0
	}
	a.mu.Unlock()
	way := func() time.Duration { return time.Duration(1+a.roll(8)) * time.Millisecond }
	lost := func([]byte) {}
	if fate < 20 {
		time.AfterFunc(quota.Patience, func() {
			then(nil, 0, errNoAnswer)
			if undo != nil {
				a.Owe(of, undo)
			}
		})
		if fate >= 10 { // the answer is lost instead
			time.AfterFunc(way(), func() { a.bank.SharedCounts().Serve(of, 2, question, lost) })
		}
		return
	}
	time.AfterFunc(way(), func() {
		if fate < 30 { // it comes twice
			a.bank.SharedCounts().Serve(of, 2, question, lost)
		}
		a.bank.SharedCounts().Serve(of, 2, question, func(b []byte) {
			time.AfterFunc(way(), func() { then(b, asked, nil) })
		})
	})
}

func (a *asker) Owe(of ownership.Identity, notice []byte) {
	for range 1 + a.roll(2) {
		time.AfterFunc(time.Duration(1+a.roll(900))*time.Millisecond, func() { a.bank.SharedCounts().Take(of, notice) })
	}
}

// keptCounts are the counts that the tests of this file are about.
var keptCounts = []ownership.Identity{quota.Trunk("trunk"), quota.Seats("bot"), quota.Shard("+4930111111"),
	quota.Shard("+4930111112")}

// newKeptRig is a rig whose trunk, bot and numbers are counted by another node.
func newKeptRig(t *testing.T, channels, seats int, edit func(*campaign.Settings)) (*rig, *asker) {
	t.Helper()
	r := newRig(t, steady(500*time.Millisecond, 5*time.Second), edit)
	r.results()
	r.tree.Close()
	r.store.View(func() {
		r.store.TrunkList[0].ChannelCap, r.store.BotList[0].Seats = channels, seats
	})
	clock := bubbleClock{time.Now().Add(-time.Hour), &r.step}
	bank, err := actors.Start(
		t.Context(),
		actors.Config{Log: zerolog.Nop()},
		actors.Ports{
			Store:      r.store,
			Telephony:  r.near,
			Media:      r.near,
			Clock:      clock,
			Membership: newLease(),
			SharedCaps: teller{},
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	a := &asker{bank: bank, clock: clock, rng: rand.New(rand.NewPCG(3, 5))}
	if err := bank.SharedCounts().Count(t.Context(), keptCounts, true); err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	var comparing sync.WaitGroup
	comparing.Go(func() {
		for {
			select {
			case <-over:
				return
			case <-time.After(30 * time.Second):
				if err := bank.SharedCounts().Count(context.Background(), keptCounts, false); err != nil {
					t.Errorf("the books are not compared: %v", err)
				}
			}
		}
	})
	t.Cleanup(func() {
		close(over)
		comparing.Wait()
		bank.Close()
	})
	r.member, r.sharedCaps = newLease(), a
	r.start()
	return r, a
}

// A campaign is dialled within caps that another node counts, over a bad network; at the end that
// node has everything back.
func TestACampaignIsDialledByCountsOfAnotherNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const channels, seats = 6, 4
		r, a := newKeptRig(t, channels, seats, nil)
		defer func() { r.tree.Close() }()
		r.add(60)
		r.act(campaign.ActionStart)
		most := 0
		r.until(20*time.Minute, "everybody is called", func() bool {
			d := r.detail()
			most = max(most, r.world.LiveCalls())
			if r.world.LiveCalls() > channels || d.Live != nil && d.Live.InProgress > seats {
				t.Fatalf("%d calls, %d in progress", r.world.LiveCalls(), d.Live.InProgress)
			}
			return r.completed()
		})
		if most < seats {
			t.Errorf("at most %d calls at a time", most)
		}
		r.check()
		time.Sleep(3 * time.Minute) // virtual: lost returns are found in the database
		synctest.Wait()
		if st := a.bank.Stats(); st.Trunks.Leases.Load() != 0 || st.Numbers.Leases.Load() != 0 ||
			st.Fleet.SeatsHeld.Load() != 0 {
			t.Errorf(
				"held in the end: %d channels, %d numbers, %d seats",
				st.Trunks.Leases.Load(),
				st.Numbers.Leases.Load(),
				st.Fleet.SeatsHeld.Load(),
			)
		}
	})
}

// While the keeper is away nothing is dialled, and the campaign says why.
func TestNothingIsDialledWhileTheKeeperIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, a := newKeptRig(t, 50, 10, nil)
		defer func() { r.tree.Close() }()
		r.add(100)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "calls", func() bool { return r.world.LiveCalls() > 3 })
		a.silence(true)
		time.Sleep(quota.SeatsFor + quota.UseFor)
		synctest.Wait()
		before := r.world.Invited()
		r.until(time.Minute, "it is said why",
			func() bool { return r.detail().Live.Constraint == engine.ConstraintKeeperAway })
		time.Sleep(10 * time.Second)
		if n := r.world.Invited(); n != before {
			t.Errorf("%d INVITEs left while nobody counts", n-before)
		}
		a.silence(false)
		r.until(10*time.Second, "it dials again", func() bool { return r.world.Invited() > before })
		r.until(30*time.Minute, "everybody is called", r.completed)
		r.check()
	})
}

// The campaign's owner dies; its successor loses the calls and ends their legs,
// which may take as long as a phone rings. Until then their caller IDs are in use.
func TestACallerIDIsInUseUntilTheLegOfALostCallIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, a := newKeptRig(t, 50, 10, nil)
		r.store.View(func() {
			for _, n := range []engine.PhoneNumber{"+4930111111", "+4930111112"} {
				r.store.Nums = append(r.store.Nums, engine.NumberSettings{Number: n, State: "active", ConcurrentCap: 1})
			}
		})
		for _, n := range r.store.Nums {
			a.bank.NumberChanged(n)
		}
		r.world.View(func() { r.world.Script = steady(10*time.Second, 30*time.Second) })
		r.add(6)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "two ring", func() bool { return r.world.LiveCalls() == 2 })
		r.kill()
		const rings = 20 * time.Second
		r.world.RecoverTakes = rings
		r.start()
		defer func() { r.tree.Close() }()
		r.tree.Ownership().Adopt(r.id)
		began := time.Now()
		r.until(rings, "both are lost", func() bool {
			lost := 0
			r.store.View(func() {
				for a := range r.store.AllAttempts() {
					if a.Outcome == engine.OutcomeLost {
						lost++
					}
				}
			})
			return lost == 2
		})
		time.Sleep(time.Until(began.Add(rings - time.Second))) // virtual
		synctest.Wait()
		if n := r.world.Invited(); n > 0 {
			t.Errorf("%d INVITEs from numbers whose one call each may still ring", n)
		}
		r.until(10*time.Second, "the numbers are used again", func() bool { return r.world.Invited() > 0 })
	})
}

// A node has lost its lease, and the owner of the calls that it carries has not been told yet that
// they are lost. The calls that the campaign dialled with its granted seats keep them, whether
// their count continues or is restarted.
func TestWhoIsCalledIsServedWhileANodeIsNotDeclaredGone(t *testing.T) {
	for _, anew := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			const seats = 4
			r, a := newKeptRig(t, 50, seats, nil)
			defer func() { r.tree.Close() }()
			r.world.View(func() { r.world.Script = steady(4*time.Second, 10*time.Second) })
			r.add(seats)
			r.act(campaign.ActionStart)
			r.until(time.Minute, "four ring", func() bool { return r.world.LiveCalls() == seats })
			// Two of them are carried by a dead node.
			r.store.View(func() {
				for at := range r.store.AllAttempts() {
					if n := at.To[len(at.To)-1]; n%2 == 0 {
						at.Node = 9
						r.store.PutAttempt(at)
					}
				}
			})
			if err := a.bank.SharedCounts().Count(t.Context(), keptCounts, anew); err != nil {
				t.Fatal(err)
			}
			r.until(time.Minute, "all talk", func() bool { return r.detail().Live.InProgress == seats })
			r.until(time.Hour, "completed", r.completed)
			r.check()
			if d := r.detail(); d.Counters.Abandoned != 0 {
				t.Errorf("%d live answers were abandoned", d.Counters.Abandoned)
			}
		})
	}
}
