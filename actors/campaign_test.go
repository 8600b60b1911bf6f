package actors_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"dialler/actors"
	"dialler/actors/actortest"
	"dialler/actors/call"
	campaignactor "dialler/actors/campaign"
	"dialler/actors/lease"
	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/enginetest/replay"
	"dialler/engine/frequency"
	"dialler/engine/journal"
	"dialler/engine/redial"
	"dialler/engine/run"
	"dialler/engine/tally"
)

// bubbleClock is the virtual clock of a synctest bubble.
type bubbleClock struct {
	start time.Time
	step  *atomic.Int64 // of the wall clock
}

func (c bubbleClock) Now() time.Time        { return stepped(time.Now(), time.Duration(c.step.Load())) }
func (c bubbleClock) Boot() engine.BootTime { return engine.BootTime(time.Since(c.start)) + 1 }

// rig is a tree over fake ports with one campaign.
type rig struct {
	writesCap int  // 0 means the default
	far       bool // another node carries every call
	besides   bool // a new tree is another node's: the old one goes on
	nodes     *farNodes
	near      *actortest.World // of the node that carries no calls
	t         *testing.T
	store     *actortest.Store
	world     *actortest.World
	spool     *actortest.Spool // nil: none
	tree      *actors.Tree
	faults    *actortest.Faults // of that tree
	id        engine.CampaignID

	member  actors.Membership // nil: alone
	held    *heldBack         // nil: INVITEs leave at once
	configs campaignactor.Configs
	hook    call.Eligibility // nil means no check before a dial
	optOut  byte
	cap     int           // attempts per number and day
	tick    time.Duration // 0 means the default
	step    atomic.Int64  // of the wall clock
	life    atomic.Pointer[life]
	// sharedCaps nil means the tree keeps its own counts of trunks, bots and numbers.
	sharedCaps lease.SharedCaps
	said       bytes.Buffer // the log of all trees, written through log
	log        io.Writer
}

// life is one tree of a rig; bots may post while it is still starting.
type life struct {
	up   chan struct{} // closed when tree can be used
	tree *actors.Tree
}

// post delivers a result to the current tree, as soon as it is up.
func (r *rig) post(call engine.CallID, res attempt.Result) {
	l := r.life.Load()
	<-l.up
	_ = l.tree.SubmitResult(context.Background(), campaign.SubmitResult{Call: call, Result: res})
}

func number(i int) engine.PhoneNumber { return engine.PhoneNumber(fmt.Sprintf("+4915112%06d", i)) }

func newRig(t *testing.T, script func(engine.PhoneNumber, int) actortest.Script, edit func(*campaign.Settings)) *rig {
	t.Helper()
	return makeRig(t, &rig{far: *elsewhere}, script, edit)
}

// newDaysRig is a rig for a campaign that takes days: it evaluates its pacing less often, to save
// minutes of test time.
func newDaysRig(t *testing.T, script func(engine.PhoneNumber, int) actortest.Script,
	edit func(*campaign.Settings)) *rig {
	t.Helper()
	return makeRig(t, &rig{far: *elsewhere, tick: 3 * time.Second}, script, edit)
}

// newFarRig is a rig whose calls are on another node.
func newFarRig(t *testing.T, script func(engine.PhoneNumber, int) actortest.Script,
	edit func(*campaign.Settings)) *rig {
	t.Helper()
	return makeRig(t, &rig{far: true}, script, edit)
}

func makeRig(t *testing.T, r *rig, script func(engine.PhoneNumber, int) actortest.Script,
	edit func(*campaign.Settings)) *rig {
	t.Helper()
	s := actortest.NewStore()
	s.BotList = []engine.Bot{{ID: "bot", Active: true, Seats: 10, Endpoints: []string{"ws://bot"}}}
	s.TrunkList = []engine.TrunkSettings{{ID: "trunk", Active: true, CPSCap: 50, ChannelCap: 500}}
	set := campaign.Settings{
		Name: "test", Bot: "bot", Concurrency: 10, Numbers: []engine.PhoneNumber{"+4930111111", "+4930111112"},
		MaxAttempts: 3, RetryDelaySec: 20, RetryOnSystem: redial.DefaultOnSystem(), RingTimeoutSec: 15, CallLimitSec: 900,
		ResultTimeoutSec: 20, AMD: engine.AMDParallel, AbandonCapPPM: 30000, PacingMode: "strict",
	}
	set.Window.Zone = "UTC"
	if edit != nil {
		edit(&set)
	}
	id := engine.CampaignID("cmp_test")
	c := campaign.Campaign{ID: id, Settings: set, State: campaign.Draft, Version: 1, Run: 1, CreatedAt: time.Now()}
	if err := s.InsertCampaign(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	r.log = zerolog.SyncWriter(&r.said)
	r.t, r.store, r.world, r.id, r.near = t, s, actortest.NewWorld(script), id, actortest.NewWorld(script)
	// After Close, each message that the world still sends to a stopped actor keeps a protoactor
	// goroutine for a second.
	t.Cleanup(func() { time.Sleep(2 * time.Hour) }) // virtual
	r.start()
	return r
}

func (r *rig) start() {
	r.t.Helper()
	if r.world.Now == nil { // before anything reads it
		r.world.Now = func() time.Time { return stepped(time.Now(), time.Duration(r.step.Load())) }
	}
	l := &life{up: make(chan struct{})}
	r.life.Store(l)
	r.faults = new(actortest.Faults)
	ports := actors.Ports{Store: r.store, Telephony: r.world, Media: r.world, Configs: r.configs, Eligibility: r.hook,
		Clock: r.faults.Clock(bubbleClock{time.Now().Add(-time.Hour), &r.step})}
	if r.spool != nil {
		ports.Spool = r.spool
	}
	ports.Membership, ports.SharedCaps = r.member, r.sharedCaps
	if r.far {
		r.goFar(&ports)
	}
	if r.held != nil {
		r.held.Telephony = ports.Telephony
		ports.Telephony = r.held
	}
	tree, err := actors.Start(context.Background(), actors.Config{
		Campaigns: campaignactor.Config{RecordRun: replayed(r.t), Tick: r.tick},
		Calls: call.Config{
			OptOutDigit: r.optOut,
		}, Actors: r.faults.Options(), Frequency: r.frequency(), WritesCap: r.writesCap,
		Log: zerolog.New(zerolog.MultiLevelWriter(zerolog.NewTestWriter(r.t), r.log)).Level(zerolog.WarnLevel)}, ports)
	if err != nil {
		r.t.Fatal(err)
	}
	r.tree, l.tree = tree, tree
	r.heard()
	close(l.up)
}

// heard says that every trunk answers OPTIONS.
func (r *rig) heard() {
	r.store.View(func() {
		for _, s := range r.store.TrunkList {
			r.tree.TrunkHealth(engine.TrunkHealth{Trunk: s.ID, Life: engine.TrunkAlive})
		}
	})
}

// replayed replays the beginning of every activation of the run at the end of the test and checks
// that its inputs lead to the same effects.
func replayed(t *testing.T) func(engine.CampaignID, run.Config) campaignactor.RunRecorder {
	if crc32.ChecksumIEEE([]byte(t.Name()))%replayEach != 0 {
		return nil
	}
	return func(id engine.CampaignID, cfg run.Config) campaignactor.RunRecorder {
		r := replay.NewShort(id, cfg, time.Now())
		t.Cleanup(func() {
			if _, err := r.Verify(); err != nil && !t.Failed() {
				t.Errorf("the run of %s does not replay: %v", id, err)
			}
		})
		return r
	}
}

func (r *rig) add(n int) {
	r.t.Helper()
	cmd := campaign.AddContacts{Campaign: r.id, Source: "api"}
	for i := range n {
		cmd.Contacts = append(cmd.Contacts, campaign.NewContact{Number: number(i),
			Variables: map[string]string{"i": fmt.Sprint(i)}})
	}
	rep, err := r.tree.AddContacts(context.Background(), cmd)
	if err != nil || rep.Added != n {
		r.t.Fatalf("add contacts: %+v, %v", rep, err)
	}
}

func (r *rig) act(a campaign.Action) campaign.Detail {
	r.t.Helper()
	d, err := r.tree.Act(context.Background(), campaign.Act{Campaign: r.id, Action: a, Who: engine.Who{Name: "test"}})
	if err != nil {
		r.t.Fatalf("%s: %v", a, err)
	}
	return d
}

func (r *rig) detail() campaign.Detail {
	r.t.Helper()
	d, err := r.tree.Detail(context.Background(), r.id)
	if err != nil {
		r.t.Fatal(err)
	}
	return d
}

// until waits in virtual time.
func (r *rig) until(limit time.Duration, what string, ok func() bool) {
	r.t.Helper()
	// Polling every 100 ms would mean a million queries for a day of virtual time, so the interval
	// grows to a thousandth of the time waited.
	for began := time.Now(); time.Since(began) < limit; time.Sleep(max(100*time.Millisecond,
		time.Since(began)/1000)) { // virtual
		if ok() {
			return
		}
	}
	d := r.detail()
	r.store.View(func() {
		for a := range r.store.AllAttempts() {
			if a.State != attempt.Ended {
				r.t.Logf("attempt %s: %s, ending %+v, seq %d, leg %+v", a.ID.Short(), a.State, a.Ending, a.MediaSeq,
					a.Legs[len(a.Legs)-1])
			}
		}
	})
	r.t.Fatalf("not within %v: %s\n%+v\nlive %+v\ncounters %+v", limit, what, d.Campaign.State, *d.Live, d.Counters)
}

// over waits until the ends of all calls are stored: counters include a call before it has ended.
func (r *rig) over() {
	r.t.Helper()
	r.until(time.Minute, "the ends of all calls are stored", func() bool {
		return !slices.ContainsFunc(r.attempts(), func(a attempt.Attempt) bool {
			return a.State != attempt.Ended ||
				a.OpenLeg()
		})
	})
	synctest.Wait()
}

// attempts returns all stored attempts.
func (r *rig) attempts() (list []attempt.Attempt) {
	r.store.View(func() { list = slices.Collect(r.store.AllAttempts()) })
	return list
}

func (r *rig) completed() bool { return r.detail().Campaign.State == campaign.Completed }

// check asserts the invariants of an ended campaign.
func (r *rig) check() {
	r.t.Helper()
	synctest.Wait()
	d := r.detail()
	sum := 0
	for s, n := range d.Counters.States {
		sum += n
		if !s.Processed() && s != contact.Excluded {
			r.t.Errorf("%d contacts are still %s", n, s)
		}
	}
	if sum != d.Counters.Total {
		r.t.Errorf("Total %d, sum of states %d", d.Counters.Total, sum)
	}
	r.threeWays()
	r.store.View(func() {
		legs := 0
		for a := range r.store.AllAttempts() {
			if a.State != attempt.Ended {
				r.t.Errorf("attempt %s is %s", a.ID.Short(), a.State)
			}
			for _, l := range a.Legs {
				if l.SentAt != nil {
					legs++
				}
			}
		}
		if legs != r.world.Invited() {
			r.t.Errorf("%d legs in the store, %d INVITEs at the carrier", legs, r.world.Invited())
		}
		if n := len(r.store.Holds); n > 0 {
			r.t.Errorf("%d numbers still held", n)
		}
		live, abandoned := 0, 0
		for _, e := range r.store.AllEvents() {
			switch e.Type {
			case journal.AttemptConnected:
				live++
			case journal.AttemptAbandoned:
				live, abandoned = live+1, abandoned+1
			}
			if abandoned*100 > live*3 && r.cap3() {
				r.t.Errorf("abandons %d of %d live answers: over 3 %%", abandoned, live)
			}
		}
	})
	if r.world.Overlaps > 0 {
		r.t.Errorf("%d overlapping calls", r.world.Overlaps)
	}
	st := r.tree.Stats()
	if n := st.Calls.Illegal.Load(); n > 0 {
		r.t.Errorf("%d events were refused by machines", n)
	}
	if n := st.Trunks.Leases.Load(); n != 0 {
		r.t.Errorf("%d trunk leases are held", n)
	}
	if n := st.Numbers.Leases.Load(); n != 0 {
		r.t.Errorf("%d number leases are held", n)
	}
	time.Sleep(time.Minute) // virtual: seats are returned
	synctest.Wait()
	if n := st.Fleet.SeatsHeld.Load(); n != 0 {
		r.t.Errorf("%d seats are held", n)
	}
}

func (r *rig) cap3() bool { return true }

// threeWays compares the live state, the tables and the fold of the events.
func (r *rig) threeWays() {
	r.t.Helper()
	synctest.Wait()
	d := r.detail()
	tables, _ := r.store.Counters(context.Background(), r.id, d.Campaign.Run)
	for _, x := range tally.Compare(d.Counters, tables) {
		r.t.Errorf("%s: live %s, tables %s", x.Figure, x.A, x.B)
	}
	for _, x := range tally.Compare(r.fold().Counters(d.Campaign.Run), tables) {
		r.t.Errorf("%s: events %s, tables %s", x.Figure, x.A, x.B)
	}
}

// fold folds the stored events in their order.
func (r *rig) fold() tally.Runs {
	fold := tally.Runs{}
	r.store.View(func() {
		list := slices.Clone(r.store.AllEvents())
		slices.SortStableFunc(list, func(a, b journal.Event) int { return cmp.Compare(a.Seq, b.Seq) })
		for i := range list {
			if list[i].Campaign == r.id {
				fold.Apply(&list[i])
			}
		}
	})
	return fold
}

// results posts a result for every connected attempt as its bot would.
func (r *rig) results() { r.resultsLike(attempt.Result{Disposition: "interested"}) }

// resultsLike posts this result for every conversation that ended.
func (r *rig) resultsLike(x attempt.Result) {
	r.store.View(func() {
		r.store.OnWrite = func(w *journal.Write) {
			for _, e := range w.Events {
				if e.Type == journal.AttemptEnded && e.Data.Connected {
					id := e.Attempt
					res := x
					res.ReceivedAt = time.Now()
					go r.post(id.Call(), res)
				}
			}
		}
	})
}

func TestCampaignRunsToItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, actortest.Mix(1, 0.5, 0.2, 20*time.Second), nil)
		defer r.tree.Close()
		r.results()
		r.add(300)
		r.act(campaign.ActionStart)
		r.until(3*time.Hour, "campaign completed", r.completed)
		d := r.detail()
		t.Logf("%+v", d.Counters)
		r.check()
	})
}

// Reading an idle campaign must not take it over.
func TestACampaignThatIsNotUpIsNotBroughtUpByALookAtIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(time.Second, time.Second), nil)
		defer r.tree.Close()
		look := func() bool {
			t.Helper()
			d, up, err := r.tree.DetailIfUp(context.Background(), r.id)
			if err != nil || up != (d.Campaign.ID == r.id) {
				t.Fatalf("%v %v %v", d.Campaign.ID, up, err)
			}
			return up
		}
		for range 2 {
			if look() {
				t.Error("it is up")
			}
		}
		r.store.View(func() {
			if e := r.store.CampaignRow(r.id).Epoch; e != 0 {
				t.Errorf("it was taken over, epoch %d", e)
			}
		})
		r.add(1)
		if !look() {
			t.Error("it is not up after a command")
		}
	})
}

func (r *rig) frequency() (rules frequency.Rules) {
	if r.cap > 0 {
		rules = rules.With(frequency.Rule{Limits: []frequency.Limit{{What: frequency.Attempts, Most: r.cap,
			Period: 24 * time.Hour}}})
	}
	return rules
}
