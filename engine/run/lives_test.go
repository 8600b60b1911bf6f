package run

import (
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/journal"
)

// begun is an instance of a run that started at a given time, and a function that returns the
// effects of an event.
func begun(t *testing.T, at time.Time) (s *State, give func(event any) []Effect) {
	t.Helper()
	s = New("cmp", Config{Tick: time.Second, LookAhead: 10})
	give = func(event any) []Effect {
		t.Helper()
		effects, err := s.Apply(Input{Now: at, Event: event, Process: idle{}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return effects
	}
	give(&Started{})
	return s, give
}

// A timer that was set before a crash fires in the next instance, which does not know it.
func TestATimerOfAnEarlierLifeIsForNobody(t *testing.T) {
	at := time.Date(2030, 3, 4, 10, 0, 0, 0, time.UTC)
	armed := func(life *State, give func(any) []Effect) Arm {
		t.Helper()
		for _, e := range give(&Loaded{Life: life.Life, Err: engine.Unavailable("database_unavailable", "", time.Second)}) {
			if a, ok := e.(Arm); ok {
				return a
			}
		}
		t.Fatal("no timer")
		return Arm{}
	}
	before, give := begun(t, at)
	early := armed(before, give)
	now, give := begun(t, at.Add(time.Millisecond))
	late := armed(now, give)
	if effects := give(&TimerFired{Timer: early.Timer, Epoch: early.Epoch}); len(effects) != 0 || len(now.Later) != 1 {
		t.Errorf("the timer of the life before led to %v", effects)
	}
	if effects := give(&TimerFired{Timer: late.Timer, Epoch: late.Epoch}); len(effects) != 1 {
		t.Errorf("the timer led to %v", effects)
	}
}

// If the run crashes, the next instance answers the requests that wait for queued triggers.
func TestAQueuedTriggerIsAnsweredByTheNextLife(t *testing.T) {
	_, give := begun(t, time.Date(2030, 3, 4, 10, 0, 0, 0, time.UTC))
	waits := &Continuation{Do: thenAnswerTrigger, Request: "caller", Value: campaign.TriggerReply{Status: "queued"},
		Trigger: &call.Trigger{}}
	effects := give(&Written{Then: waits})
	if r, ok := effects[0].(Reply); len(effects) != 1 || !ok || r.Request != "caller" || r.Err != nil {
		t.Errorf("%+v", effects)
	}
	effects = give(&Written{Then: waits, Err: journal.ErrReplyExists})
	if r, ok := effects[0].(Reply); len(effects) != 1 || !ok || r.Err == nil {
		t.Errorf("%+v", effects)
	}
}

// A second hand-over waits as long for outstanding replies as the first did.
func TestASecondHandOverHasItsOwnWait(t *testing.T) {
	s, give := begun(t, time.Date(2030, 3, 4, 10, 0, 0, 0, time.UTC))
	handOver := func() (wait Arm) {
		t.Helper()
		for _, e := range give(&LastWord{HandOver: true}) {
			if a, ok := e.(Arm); ok {
				wait = a
			}
			if _, ok := e.(SayLastWord); ok {
				t.Error("answers are owed")
			}
		}
		return wait
	}
	s.Adding = 1 // the client that added the list waits
	first, second := handOver(), handOver()
	if effects := give(&TimerFired{Timer: first.Timer, Epoch: first.Epoch}); len(effects) != 0 {
		t.Errorf("the first wait ended with %v", effects)
	}
	if effects := give(&TimerFired{Timer: second.Timer, Epoch: second.Epoch}); len(effects) != 1 {
		t.Errorf("the second wait ended with %v", effects)
	}
}

// A trigger that waits for another of its number, and a contact that is added again, are carried
// over to the next instance. A timer of an earlier instance with nothing to carry over does
// nothing.
func TestWhatIsOwedOutlivesACrash(t *testing.T) {
	w := ready(t)
	w.out = nil
	w.do(&TimerFired{Timer: TimerAgain, Epoch: w.s.Life - 1})
	if len(w.out) > 0 {
		t.Fatalf("%+v", w.out)
	}
	w.do(&TimerFired{Timer: TimerAgain, Epoch: w.s.Life - 1, Owed: &Deferred{
		Event: &Trigger{Command: campaign.Trigger{Number: "+4915112345678"}, LookUp: true}, From: "somebody"}})
	if q := one[FindTrigger](w); q.Request != "somebody" {
		t.Fatalf("%+v", q)
	}
	w.do(&TimerFired{Timer: TimerAgain, Epoch: w.s.Life - 1, Owed: &Deferred{
		Event: &readmitLater{[]campaign.NewContact{{Number: engine.PhoneNumber("+4915112345679")}}}}})
	q := one[ReadExcluded](w)
	w.do(&ExcludedRead{Read: q.Read, Again: q.Again})
	if w.s.Readmission.Running != 0 {
		t.Errorf("%+v", w.s.Readmission)
	}
}
