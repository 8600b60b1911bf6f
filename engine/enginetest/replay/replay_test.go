package replay

import (
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/run"
)

// still is a process in which nothing happens.
type still struct{ draining bool }

func (s *still) Draining() bool                             { return s.draining }
func (*still) DatabaseAway() bool                           { return false }
func (*still) TrunksDown() bool                             { return false }
func (*still) Fenced() bool                                 { return false }
func (*still) CommitLate() time.Duration                    { return 0 }
func (*still) BotLate(engine.BotID) time.Duration           { return 0 }
func (*still) NeedsSeat(engine.PhoneNumber, time.Time) bool { return false }
func (*still) Carrier(engine.TrunkID) engine.Incarnation    { return 0 }
func (*still) Owned(engine.AttemptID) bool                  { return false }

// recorded plays the beginning of a run.
func recorded(t *testing.T) *Recorder {
	t.Helper()
	cfg := run.Config{Tick: time.Second, Reconcile: time.Minute, SendBy: 10 * time.Second, LookAhead: 100}
	r, s := New("cmp", cfg), run.New("cmp", cfg)
	now := time.Date(2030, 3, 4, 10, 0, 0, 0, time.UTC)
	var waits []run.Effect
	give := func(event any) {
		t.Helper()
		in := r.Before(run.Input{Now: now, Event: event, From: "somebody", Process: &still{}})
		effects, err := s.Apply(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.After(effects)
		waits = append(waits, effects...)
	}
	give(&run.Started{Seed: [32]byte{1}})
	fence, _ := waits[0].(run.Fence)
	give(&run.Durable{Ticket: fence.Ticket})
	c := campaign.Campaign{ID: "cmp", State: campaign.Running, Run: 1, Settings: campaign.Defaults(), StartedAt: &now,
		RunningSince: &now}
	c.Settings.Window.Zone, c.Settings.Concurrency = "UTC", 5
	give(&run.Loaded{Life: s.Life, Campaign: c, Contacts: 1})
	give(&run.RosterCalled{Life: s.Life})
	give(&run.Detail{})
	if r.Inputs() != 5 || len(waits) < 8 {
		t.Fatalf("%d inputs, effects %T", r.Inputs(), waits)
	}
	return r
}

func TestTheInputsOfARunLeadToTheSameEffects(t *testing.T) {
	if err := recorded(t).Verify(); err != nil {
		t.Fatal(err)
	}
}

func TestAnInputThatWasAnotherOneIsFound(t *testing.T) {
	for name, change := range map[string]func(*Recorder){
		"an event":                func(r *Recorder) { r.inputs[2].in.Event.(*run.Loaded).Campaign.Settings.Concurrency = 6 },
		"who asked":               func(r *Recorder) { r.inputs[4].in.From = "another" },
		"the time":                func(r *Recorder) { r.inputs[0].in.Now = r.inputs[0].in.Now.Add(1) },
		"the seed":                func(r *Recorder) { r.inputs = r.inputs[1:] },
		"what the process said":   func(r *Recorder) { r.inputs[3].answers[0] = true },
		"a question that is less": func(r *Recorder) { r.inputs[3].answers = r.inputs[3].answers[1:] },
		"a question that is more": func(r *Recorder) { r.inputs[3].answers = append(r.inputs[3].answers, false) },
	} {
		r := recorded(t)
		change(r)
		if err := r.Verify(); err == nil || !strings.Contains(err.Error(), "input") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhatIsKeptCannotBeChangedAfterwards(t *testing.T) {
	at := time.Now()
	e := &run.TrunksReserved{Round: 1, Trunks: []engine.TrunkID{"a"}, RetryAt: at}
	kept, _ := clone(e).(*run.TrunksReserved)
	e.Trunks[0], e.Round = "b", 2
	if kept.Trunks[0] != "a" || kept.Round != 1 || !kept.RetryAt.Equal(at) {
		t.Fatalf("%+v", kept)
	}
}
