package run

import (
	"testing"

	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/campaign"
)

// What becomes of the write of a queued trigger is said with all that its answer needs:
// the life that wrote it may be over.
func TestAQueuedTriggerIsAnsweredAlthoughTheRunCrashed(t *testing.T) {
	w := ready(t)
	then := &Continuation{Do: thenAnswerTrigger, Request: "somebody", Value: campaign.TriggerReply{Status: "queued"}, Trigger: &call.Trigger{}}
	w.do(&Written{Then: then})
	if r := one[Reply](w); r.Request != "somebody" || r.Err != nil {
		t.Errorf("%+v", r)
	}
}

// A trigger that waits for another of its number, and somebody who is added again, are
// owed by the next life too; a timer of an earlier life that is owed nothing does nothing.
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
