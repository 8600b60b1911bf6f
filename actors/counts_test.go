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

// asker is a node that keeps none, and asks over a network that loses, delays and
// repeats.
type asker struct {
	bank  *actors.Tree
	clock bubbleClock

	mu   sync.Mutex
	rng  *rand.Rand
	away bool // the keeper answers nobody
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
		if fate >= 10 { // the answer is what is lost
			time.AfterFunc(way(), func() { a.bank.Serve(of, 2, question, lost) })
		}
		return
	}
	time.AfterFunc(way(), func() {
		if fate < 30 { // it comes twice
			a.bank.Serve(of, 2, question, lost)
		}
		a.bank.Serve(of, 2, question, func(b []byte) {
			time.AfterFunc(way(), func() { then(b, asked, nil) })
		})
	})
}

func (a *asker) Owe(of ownership.Identity, notice []byte) {
	for range 1 + a.roll(2) {
		time.AfterFunc(time.Duration(1+a.roll(900))*time.Millisecond, func() { a.bank.Take(of, notice) })
	}
}

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
	bank, err := actors.Start(t.Context(), actors.Config{Log: zerolog.Nop()},
		actors.Ports{Store: r.store, Telephony: r.near, Media: r.near, Clock: clock, Membership: newLease(), Keepers: teller{}})
	if err != nil {
		t.Fatal(err)
	}
	a := &asker{bank: bank, clock: clock, rng: rand.New(rand.NewPCG(3, 5))}
	counts := []ownership.Identity{quota.Trunk("trunk"), quota.Seats("bot"), quota.Shard("+4930111111"), quota.Shard("+4930111112")}
	live := map[engine.Incarnation]bool{0: true, 1: true, 2: true}
	if err := bank.Count(t.Context(), counts, true, live); err != nil {
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
				if err := bank.Count(context.Background(), counts, false, live); err != nil {
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
	r.member, r.keepers = newLease(), a
	r.start()
	return r, a
}

// A campaign is dialled within caps that another node counts, over a bad network,
// and when all is over that node has everything back.
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
		time.Sleep(3 * time.Minute) // virtual: what was lost is found by the database
		synctest.Wait()
		if st := a.bank.Stats(); st.TrunkLeases.Load() != 0 || st.SlotLeases.Load() != 0 || st.SeatsHeld.Load() != 0 {
			t.Errorf("held in the end: %d channels, %d numbers, %d seats", st.TrunkLeases.Load(), st.SlotLeases.Load(), st.SeatsHeld.Load())
		}
	})
}

// While the keeper answers nobody nothing is dialled, and it is said why.
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
		r.until(time.Minute, "it is said why", func() bool { return r.detail().Live.Constraint == engine.ConstraintKeeperAway })
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
