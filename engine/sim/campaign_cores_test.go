package sim

import (
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/callee"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// played plays an installation to its end and returns the world.
func played(t *testing.T, in Installation, seed uint64, arrange ...func(*campaignWorld)) *campaignWorld {
	t.Helper()
	in.Clock = twoClocks
	w := newCampaignWorld(in.WithDefaults(), seed)
	for _, f := range arrange {
		f(w)
	}
	w.play()
	if w.check.broken != nil {
		t.Fatal(w.check.broken)
	}
	return w
}

// at schedules an action or a check in a world.
func at(when time.Duration, f func(w *campaignWorld)) func(*campaignWorld) {
	return func(w *campaignWorld) { w.later(when, func() { f(w) }) }
}

func (w *campaignWorld) contact(place int) contact.Contact {
	c, _, _ := w.store.ContactByNumber(background, w.campaigns[0].id, w.person(place).Number)
	return c
}

func TestASecondRunBeginsItsLedgerAnewAndKeepsTheCap(t *testing.T) {
	in := plain(300)
	p := &in.Campaigns[0]
	p.Settings.AMD = engine.AMDSequential
	p.Acts = append(p.Acts, PlannedAct{At: 40 * time.Minute, Action: campaign.ActionStop},
		PlannedAct{At: 50 * time.Minute, Action: campaign.ActionRestart},
		PlannedAct{At: 51 * time.Minute, Action: campaign.ActionStart})
	var first int
	w := played(t, in, 4, at(45*time.Minute,
		func(w *campaignWorld) { first = w.process.runs[0].state.Pace.Books.Run.Live }),
		at(51*time.Minute+5*time.Second, func(w *campaignWorld) {
			if n := w.process.runs[0].state.Pace.Books.Run.Live; n != 0 {
				t.Errorf("the second run begins with %d live answers of the first", n)
			}
		}))
	if c := w.result().Campaigns[0]; first == 0 || c.Run != 2 || c.Counts.Live == 0 || c.State != campaign.Completed {
		t.Errorf("%d live answers in the first run; %+v", first, c)
	}
}

// The gate places lines beyond the free workers only as far as its credit goes.
func TestTheCapHoldsAfterEveryAnswerOfALongRun(t *testing.T) {
	in := plain(1500)
	in.People = callee.Standard()
	in.People.Answer = callee.Always(0.6)
	w := played(t, in, 1)
	if c := w.result().Campaigns[0].Counts; c.Abandoned < 5 || !c.Within(30_000, 0) {
		t.Errorf("%+v", c)
	}
}

func TestTheNeighbourOfAPausedCampaignGetsItsSeats(t *testing.T) {
	in := plain(5000)
	in.Large, in.Seats, in.Length = true, 10, 30*time.Minute
	second := in.Campaigns[0]
	second.First = 10_000
	second.Acts = append(second.Acts[:1:1], PlannedAct{At: 10 * time.Minute, Action: campaign.ActionPause})
	in.Campaigns = append(in.Campaigns, second)
	w := played(t, in, 3, at(9*time.Minute, func(w *campaignWorld) {
		if a, b := w.check.runs[0].granted, w.check.runs[1].granted; a != 5 || b != 5 {
			t.Errorf("%d and %d seats while both dial", a, b)
		}
	}))
	if a, b := w.check.runs[0].granted, w.check.runs[1].granted; a != 10 || b != 0 {
		t.Errorf("%d seats, and %d of the one that is paused", a, b)
	}
}

// Rounds of reservations take time: meanwhile contacts are touched, and exclusions overtake
// triggers.
func TestWhoIsExcludedWhileARoundIsUnderWayIsNotDialled(t *testing.T) {
	in := plain(400)
	touched, overtaken := 0, 0
	var look func(w *campaignWorld, left int)
	look = func(w *campaignWorld, left int) {
		if r := w.process.runs[0]; r.state.Round != nil && left%40 == 0 {
			for i := range r.state.Round.Candidates {
				if c := &r.state.Round.Candidates[i]; i == 0 || c.Trigger != nil {
					w.exclude(w.campaigns[0], campaign.Exclude{Campaign: "cmp_1", Number: c.Row.Number, Who: operator})
				}
			}
		}
		if r := w.process.runs[0].state.Round; r != nil {
			touched += len(r.Touched)
			for i := range r.Candidates {
				if r.Candidates[i].Overtaken {
					overtaken++
				}
			}
		}
		if left > 0 {
			w.later(time.Millisecond/2, func() { look(w, left-1) })
		}
	}
	for i := range 60 {
		in.Campaigns[0].Acts = append(in.Campaigns[0].Acts,
			PlannedAct{At: time.Second + time.Duration(i)*250*time.Millisecond, Trigger: 1001 + i})
	}
	w := played(t, in, 2, at(time.Second, func(w *campaignWorld) { look(w, 60_000) }))
	n := w.result().Campaigns[0].Counters.Excluded
	t.Logf("%d touched, %d overtaken, %d excluded", touched, overtaken, n)
	if touched+overtaken == 0 || n == 0 {
		t.Errorf("%d touched, %d overtaken, %d excluded", touched, overtaken, n)
	}
}

func TestWhatACrashCostsIsBookedApart(t *testing.T) {
	in := plain(400)
	in.Campaigns[0].Settings.AMD = engine.AMDSequential
	in.People = callee.Standard()
	in.People.Answer = callee.Always(0.9)
	for i := range 6 {
		in.Faults = append(in.Faults, Fault{Kind: FaultCrash, At: time.Duration(5+5*i) * time.Minute,
			Length: 10 * time.Second})
	}
	c := played(t, in, 5).result().Campaigns[0]
	if c.Counts.CapacityLoss == 0 || c.Counts.CapacityLoss > c.Counts.Abandoned || c.Counters.Total != 400 {
		t.Errorf("%+v", c.Counts)
	}
}

func TestAStoppedRunIsClosedInBatchesAndLiveCallsCloseThemselves(t *testing.T) {
	in := plain(12_000)
	in.Campaigns[0].Settings.Concurrency = 40
	in.Campaigns[0].Acts = append(in.Campaigns[0].Acts, PlannedAct{At: 5 * time.Minute, Action: campaign.ActionStop})
	live := 0
	w := played(t, in, 6, at(5*time.Minute, func(w *campaignWorld) { live = len(w.process.runs[0].contacts) }))
	events, _ := w.store.Events(background, "cmp_1", 0, 1<<30)
	closed, batches := 0, 0
	for i := range events {
		if events[i].Type == journal.ContactsClosed {
			batches++
			for _, m := range events[i].Data.Moves {
				closed += m.Count
			}
		}
	}
	c := w.result().Campaigns[0]
	if live == 0 || batches < 3 || closed >= c.Counters.States[contact.ManuallyStopped]+1 || c.Open != 0 ||
		closed < 11_000 {
		t.Errorf("%d lived, %d were closed in %d batches, %+v", live, closed, batches, c.Counters.States)
	}
}

func TestWhoIsExcludedAndLiftedIsDialled(t *testing.T) {
	in := plain(50)
	in.Campaigns[0].Acts = []PlannedAct{{At: time.Second, Exclude: 41}, {At: 2 * time.Second, Exclude: 42},
		{At: 3 * time.Second, Lift: 42},
		{At: time.Minute, Action: campaign.ActionStart}}
	w := played(t, in, 1)
	if a, b := w.contact(40), w.contact(41); a.State != contact.Excluded || a.Used != 0 || b.State == contact.Excluded ||
		b.Used == 0 {
		t.Errorf("%+v\n%+v", a, b)
	}
}

func TestAnErasedPersonIsForgottenAndNotDialled(t *testing.T) {
	in := plain(50)
	in.Campaigns[0].Acts = append(in.Campaigns[0].Acts, PlannedAct{At: 20 * time.Second, Erase: 45})
	w := played(t, in, 1)
	if c := w.contact(44); c.ID != "" || w.check.answers["end erasure"] != 1 {
		t.Errorf("%+v, %v", c, w.check.answers)
	}
	stones := 0
	for c := range w.store.AllContacts() {
		if c.Number.Erased() && c.Variables == nil && c.Used == 0 && c.State == contact.Excluded {
			stones++
		}
	}
	if c := w.result().Campaigns[0]; stones != 1 || c.Counters.Total != 50 || c.State != campaign.Completed {
		t.Errorf("%d tombstones, %+v", stones, c)
	}
}

func TestAFileIsSwitchedInBetweenTriggersAndExclusions(t *testing.T) {
	in := plain(60)
	p := &in.Campaigns[0]
	p.Acts = append(p.Acts, PlannedAct{At: 10 * time.Second, Import: 40})
	for i := range 40 { // contacts that are in the file
		p.Acts = append(p.Acts, PlannedAct{At: 10*time.Second + time.Duration(i)*50*time.Millisecond, Trigger: 61 + i,
			Keyed: i%2 == 0})
	}
	c := played(t, in, 8).result().Campaigns[0]
	if c.Counters.Total != 100 || c.State != campaign.Completed {
		t.Errorf("%+v", c.Counters)
	}
}

func TestAnotherMaxAttemptsHoldsForThoseWhoWait(t *testing.T) {
	in := plain(200)
	p := &in.Campaigns[0]
	p.Settings.MaxAttempts = 5
	p.Acts = append(p.Acts, PlannedAct{At: 10 * time.Minute, Action: campaign.ActionPause},
		PlannedAct{At: 11 * time.Minute, Edit: &CampaignEdit{MaxAttempts: 1, Concurrency: 3}},
		PlannedAct{At: 12 * time.Minute, Action: campaign.ActionResume})
	dials := 0
	w := played(t, in, 9, at(12*time.Minute, func(w *campaignWorld) { dials = w.campaigns[0].dials }))
	for c := range w.store.AllContacts() {
		if c.Max != 1 && c.Open() {
			t.Fatalf("%+v", c)
		}
	}
	if n := w.campaigns[0].dials; dials == 0 || n > dials+200 {
		t.Errorf("%d dials before the edit, %d in all", dials, n)
	}
}

// A run that crashes loads the durable state and asks its contacts where they stand; no call ends
// because of it.
func TestACrashOfTheRunEndsNoCall(t *testing.T) {
	in := plain(200)
	for i := range 20 {
		in.Faults = append(in.Faults, Fault{Kind: FaultRunCrash, At: time.Duration(1+i) * 47 * time.Second})
	}
	none(t, played(t, in, 10), engine.OutcomeLost, engine.OutcomeSystemError)
}

// A contact that crashes takes over its legs; if its INVITE had not left, the attempt is lost and
// is closed.
func TestAContactThatCrashesTakesItsCallOver(t *testing.T) {
	in := plain(200)
	in.Commit = 1500 * time.Millisecond // many crashes happen while a write is on its way
	for i := range 60 {
		in.Faults = append(in.Faults, Fault{Kind: FaultContactCrash, At: time.Duration(60+11*i) * time.Second, Value: i})
	}
	w := played(t, in, 11)
	none(t, w, engine.OutcomeLost)
	if c := w.result().Campaigns[0]; c.State != campaign.Completed || c.Counters.ConnectedCalls == 0 {
		t.Errorf("%+v", c)
	}
}

func TestACampaignThatIsHandedOverKeepsItsCalls(t *testing.T) {
	in := plain(200)
	for i := range 8 {
		in.Faults = append(in.Faults, Fault{Kind: FaultHandOver, At: time.Duration(2+2*i) * time.Minute,
			Length: 300 * time.Millisecond})
	}
	w := played(t, in, 12)
	none(t, w, engine.OutcomeLost)
	if row := w.row(w.campaigns[0]); row.Epoch < 9 || row.State != campaign.Completed {
		t.Errorf("%+v", row)
	}
}

func none(t *testing.T, w *campaignWorld, outcomes ...engine.Outcome) {
	t.Helper()
	for a := range w.store.AllAttempts() {
		for _, o := range outcomes {
			if a.Outcome == o && a.InviteAt != nil {
				t.Errorf("attempt %s ended %s: %+v", a.ID, o, attempt.Attempt{AnsweredAt: a.AnsweredAt, EndedAt: a.EndedAt})
			}
		}
	}
}

// The legs of a call lost in a process crash are watched to their end, even by a contact that
// crashes meanwhile.
func TestAContactThatCrashesWatchesTheLegsOfALostCallOn(t *testing.T) {
	in := plain(10)
	in.People = callee.Standard()
	in.People.RingMean = 20 * time.Second
	in.Campaigns[0].Settings.MaxAttempts = 1
	in.Faults = []Fault{{Kind: FaultCrash, At: 8 * time.Second, Length: time.Second}}
	for i := range 10 {
		in.Faults = append(in.Faults, Fault{Kind: FaultContactCrash, At: 9100 * time.Millisecond, Value: i})
	}
	lost := 0
	for a := range played(t, in, 1).store.AllAttempts() {
		if a.Outcome == engine.OutcomeLost {
			lost++
		}
	}
	if lost == 0 {
		t.Error("no call was lost")
	}
}

// A contact whose calls no carrier took was dialled, although that used up no attempt.
func TestARunWhoseAttemptsDidNotCountCompletesAsAnyOther(t *testing.T) {
	f := func(dialled bool, want campaign.CompletionReason) {
		t.Helper()
		in := plain(3)
		p := &in.Campaigns[0]
		for i := range 3 { // before they are dialled, or before a retry
			p.Acts = append(p.Acts, PlannedAct{At: 20 * time.Second, Exclude: i + 1})
		}
		in.Faults = []Fault{{Kind: FaultTrunkRefuses, Length: in.Length}}
		if !dialled {
			p.Acts[0].At = time.Minute // the start
			p.Acts = append(p.Acts, PlannedAct{At: 30 * time.Second, Add: 1}, PlannedAct{At: time.Minute, Exclude: 4})
		}
		c := played(t, in, 1).result().Campaigns[0]
		if c.State != campaign.Completed || c.Counters.Attempts != 0 || c.CompletionReason != want {
			t.Errorf("%s %s after %d attempts, want %s", c.State, c.CompletionReason, c.Counters.Attempts, want)
		}
	}
	f(true, campaign.ReasonAllFinal)
	f(false, campaign.ReasonNoCallable)
}
