package call

import (
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/memstore"
)

// A run drops a write whose step it has already had from the contact, and a write may be confirmed
// after the contact that sent it has crashed.
func TestARestartedContactGivesNoStepOfItsEarlierLifeAgain(t *testing.T) {
	now := time.Date(2030, 1, 7, 9, 0, 0, 0, time.UTC)
	rules := RulesOf(campaign.Campaign{ID: "c", Run: 1, Settings: campaign.Defaults()})
	row := contact.Contact{ID: "k", Campaign: "c", Number: "+4915112345678", Run: 1, State: contact.Pending, Max: 3,
		DueAt: &now, Version: 1}
	c := NewContact(row, &rules, Limits{}, nil)
	apply := func(event any) (steps []int) {
		now = now.Add(time.Second)
		for _, e := range c.Apply(Input{Now: now, Boot: engine.BootTime(now.UnixNano()), Event: event, Process: Alone{}},
			nil) {
			if p, ok := e.(*Persist); ok {
				steps = append(steps, p.Step)
			}
		}
		return steps
	}
	id := engine.AttemptID("01b91c475d326c758f0da97b0d51af36")
	apply(&Started{})
	before := apply(&Dial{Attempt: id, Trunk: "t", To: row.Number, From: "+493012345678", SendWithin: 10 * time.Second})
	reserved := c.Machine.C
	at := c.Call.Machine.A
	c = NewContact(row, &rules, Limits{}, nil)
	apply(&Restarted{})
	apply(&Durable{Step: before[0]}) // waits until the contact is loaded
	apply(&ContactLoaded{Row: reserved, Attempt: &at})
	apply(&LegsAttached{})
	after := apply(&MediaClosed{})
	if len(before) != 1 || len(after) != 1 || after[0] <= before[0] {
		t.Fatalf("steps %v before the crash and %v after it", before, after)
	}
	for event, ok := c.Next(); ok; event, ok = c.Next() {
		apply(event)
	}
	if c.Call.Machine.A.State != attempt.Ended || len(c.Call.Pending) != 1 || c.Call.Acked >= after[0] {
		t.Errorf("the end of the attempt, %s, counts as durable: %d writes wait, step %d is acknowledged",
			c.Call.Machine.A.State, len(c.Call.Pending), c.Call.Acked)
	}
}

// Leg and audio events that happen while a contact is loading are replayed in order once the legs
// and media are taken over: none may be applied before those that came first.
func TestARestartedContactWaitsForTheReplayOfItsMedia(t *testing.T) {
	now := time.Date(2030, 1, 7, 9, 0, 0, 0, time.UTC)
	settings := campaign.Defaults()
	settings.AMD = engine.AMDParallel
	rules := RulesOf(campaign.Campaign{ID: "c", Run: 1, Settings: settings})
	id := engine.AttemptID("01b91c475d326c758f0da97b0d51af36")
	row := contact.Contact{ID: "k", Campaign: "c", Number: "+4915112345678", Run: 1, State: contact.Pending, Max: 3,
		Attempt: id, Version: 2}
	at := attempt.Attempt{ID: id, Campaign: "c", Contact: "k", Run: 1, To: row.Number, State: attempt.Screening,
		AnsweredAt: &now, Seated: true, Legs: []attempt.Leg{{ID: id.Leg(1), Trunk: "t", Seq: 4,
			Dialog: &engine.DialogState{}}}}
	c := NewContact(row, &rules, Limits{}, nil)
	apply := func(event any) {
		for _, e := range c.Apply(Input{Now: now, Boot: 1, Event: event, Process: Alone{}}, nil) {
			if r, ok := e.(*Refused); ok {
				t.Errorf("%T: %v", event, r.Err)
			}
		}
	}
	second := &engine.MediaEvent{Attempt: id, Seq: 2, At: now, Kind: engine.MediaVerdict, Verdict: engine.VerdictHuman}
	apply(&Restarted{})
	apply(second)
	apply(&ContactLoaded{Row: row, Attempt: &at})
	apply(&LegsAttached{Known: 1})
	if len(c.Stash) != 0 {
		t.Errorf("%T waits, and comes again", c.Stash[0])
	}
	apply(second) // before the run has said whether there is a seat
	if c.Call.Machine.A.MediaSeq != 0 {
		t.Errorf("event %d was taken before the first", c.Call.Machine.A.MediaSeq)
	}
	apply(&Reattached{Attempt: id, Seated: true})
	apply(&engine.MediaEvent{Attempt: id, Seq: 1, At: now, Kind: engine.MediaBotConnected, Session: "s"})
	apply(second)
	if c.Call.Machine.A.MediaSeq != 2 || c.Call.Machine.A.State != attempt.Connected {
		t.Errorf("%d events were taken, the call is %s", c.Call.Machine.A.MediaSeq, c.Call.Machine.A.State)
	}
}

// A contact that crashes while it watches the legs of an ended attempt resumes that: nobody else
// would record their end.
func TestARestartedContactWatchesTheLegsOfALostAttemptOn(t *testing.T) {
	at := ended(t, first)
	at.Legs[0].EndedAt = nil
	r := restarted(t)
	r.on(&ContactLoaded{Row: rowOf(nil), Attempt: &at}, "own a", "recover leg a.1", "reported - ")
	r.apply(&engine.LegEvent{Attempt: first, Leg: first.Leg(1), Kind: engine.LegClosed, Proof: engine.ProofBye})
	if w := r.write(); len(w.Attempts) != 1 || w.Attempts[0].Legs[0].EndedAt == nil {
		t.Errorf("%v", r.log)
	}
}

func TestAContactIsReadWithTheAttemptWhoseLegsAreWatched(t *testing.T) {
	now := time.Date(2030, 1, 7, 9, 0, 0, 0, time.UTC)
	s := memstore.New(memstore.Options{Now: func() time.Time { return now }, KeepEnded: true})
	row := contact.Contact{ID: "k", Campaign: "c", Number: "+4915112345678", Run: 1, State: contact.Waiting, Max: 3}
	if err := s.InsertCampaign(t.Context(), campaign.Campaign{ID: "c", Run: 1}); err != nil {
		t.Fatal(err)
	}
	s.Lock()
	s.PutContact(row)
	s.Holds[row.Number] = memstore.Hold{Attempt: first, Until: now.Add(time.Minute)}
	s.Unlock()
	at := attempt.Attempt{ID: first, To: row.Number, Campaign: "c", Contact: "k", Run: 1, State: attempt.Ended,
		ReservedAt: &now, EndedAt: &now, Outcome: engine.OutcomeLost, Legs: []attempt.Leg{{ID: first.Leg(1)}}}
	read := func() *attempt.Attempt {
		t.Helper()
		w := journal.Write{Campaign: "c", Attempts: []attempt.Attempt{at}}
		if refused, err := s.Commit(t.Context(), []journal.Write{w}); err != nil || refused[0] != nil {
			t.Fatal(refused, err)
		}
		m := ReadContact(t.Context(), s, "k")
		if m.Err != nil || m.Row.ID != "k" {
			t.Fatalf("%+v", m)
		}
		return m.Attempt
	}
	if a := read(); a == nil || a.ID != first {
		t.Errorf("%+v", a)
	}
	at.Legs = []attempt.Leg{{ID: first.Leg(1), EndedAt: &now}}
	if a := read(); a != nil {
		t.Errorf("%+v, and its legs are over", a)
	}
}
