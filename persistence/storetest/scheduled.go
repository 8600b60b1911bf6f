package storetest

import (
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/enginetest"
	"dialler/engine/journal"
)

// scheduled returns a dialout that waits until a time from now, with the priority.
func (w *world) scheduled(in time.Duration, priority int) campaign.ScheduledDialout {
	at := w.now.Add(in)
	return campaign.NewScheduledDialout(attemptID(), campaign.Dialout{Bot: "bot", To: number(),
		Variables: map[string]string{"name": "Ada"}, Who: engine.Who{Key: "key_1", Name: "CRM"}, DayCap: 3,
		Transfers: attempt.TransferRules{Limit: 1, Allowed: []string{"+4930*"}},
		Times:     contact.Times{NotBefore: &at, Priority: &priority}}, w.now)
}

func schedule(d campaign.ScheduledDialout) journal.Write {
	return journal.Write{Schedule: &d, Events: []journal.Event{{At: d.CreatedAt, Type: journal.DialoutScheduled,
		Version: 1, Attempt: d.ID, Data: journal.Data{Times: &d.Command.Times}}}}
}

// placed is the write that places a scheduled dialout.
func (w *world) placed(d campaign.ScheduledDialout, at time.Time) journal.Write {
	a := attempt.Attempt{ID: d.ID, Bot: d.Command.Bot, To: d.Command.To, From: "+4930111222", Trunk: "t1",
		SendBy: at.Add(10 * time.Second), State: attempt.Reserved, ReservedAt: &at, Pass: 1, Number: 1}
	a.Legs = []attempt.Leg{{ID: a.ID.Leg(1), Trunk: "t1"}}
	return journal.Write{Unschedule: true, Intent: &journal.Intent{Attempt: a.ID, Number: a.To},
		Attempts: []attempt.Attempt{a}, Events: []journal.Event{{At: at, Type: journal.AttemptReserved, Version: 1,
			Attempt: a.ID}}}
}

// unplaced is the write that ends one that was not dialled.
func unplaced(d campaign.ScheduledDialout, o engine.Outcome, at time.Time) journal.Write {
	return journal.Write{Unschedule: true, Attempts: []attempt.Attempt{d.Ended(o, at, 0)},
		Events: []journal.Event{{At: at, Type: journal.AttemptEnded, Version: 1, Attempt: d.ID}}}
}

func (w *world) waits(id engine.AttemptID) bool {
	w.t.Helper()
	_, ok, err := w.store.ScheduledDialout(w.ctx, id)
	must(w.t, err)
	return ok
}

func (w *world) dueDialouts(now time.Time, claim time.Duration, limit int,
	except ...engine.BotID) (ids []engine.AttemptID, next *time.Time) {
	w.t.Helper()
	list, next, err := w.store.DueDialouts(w.ctx, now, claim, limit, except)
	must(w.t, err)
	for i := range list {
		ids = append(ids, list[i].ID)
	}
	return ids, next
}

func scheduledDialouts(t *testing.T, w *world) {
	d := w.scheduled(time.Hour, 7)
	times := d.Command.Times
	d.Command, d.Reason = enginetest.Filled[campaign.Dialout](), "no_capacity"
	d.Command.To, d.Command.Times = number(), times
	w.commit(schedule(d))
	w.commit(schedule(d)) // again
	got, ok, err := w.store.ScheduledDialout(w.ctx, d.ID)
	if must(t, err); !ok || !reflect.DeepEqual(got, d) {
		t.Errorf("%v\n%+v\n%+v", ok, got, d)
	}
	if ids, err := w.store.DialoutsTo(w.ctx, d.Command.To); err != nil || len(ids) != 1 || ids[0] != d.ID {
		t.Errorf("to the number: %v %v", ids, err)
	}
	// Placed once, whoever tries, and neither waiting nor cancelled afterwards.
	at := w.now.Add(time.Hour)
	place := w.placed(d, at)
	w.commit(place)
	w.commit(place) // again
	if w.waits(d.ID) {
		t.Error("it waits though it is placed")
	}
	if got := code(w.try(w.placed(d, at.Add(time.Second)))[0]); got != engine.CodeDialoutPlaced {
		t.Errorf("placed twice: %q", got)
	}
	if got := code(w.try(unplaced(d, engine.OutcomeCancelled, at))[0]); got != engine.CodeDialoutPlaced {
		t.Errorf("cancelled though it is placed: %q", got)
	}
	w.commit(schedule(d)) // the request's write comes late
	if w.waits(d.ID) || w.storedAttempt(d.ID).State != attempt.Reserved {
		t.Error("a late repeat schedules it again")
	}
	// One that is given up before its intent is known to be stored.
	end := place
	end.Intent = nil
	a := place.Attempts[0]
	ended := at.Add(time.Second)
	a.State, a.Outcome, a.EndedAt = attempt.Ended, engine.OutcomeCancelled, &ended
	end.Attempts = []attempt.Attempt{a}
	w.commit(end)

	// Cancelled once, and not placed afterwards.
	c := w.scheduled(time.Hour, 5)
	w.commit(schedule(c))
	cancel := unplaced(c, engine.OutcomeCancelled, w.now)
	w.commit(cancel)
	w.commit(cancel) // again
	for what, x := range map[string]journal.Write{"placed": w.placed(c, at),
		"expired": unplaced(c, engine.OutcomeExpired, at), "of another": w.placed(w.scheduled(0, 5), at)} {
		if got := code(w.try(x)[0]); got != engine.CodeDialoutPlaced {
			t.Errorf("%s: %q", what, got)
		}
	}
	if a := w.storedAttempt(c.ID); a.Outcome != engine.OutcomeCancelled || a.Live() ||
		a.Variables["name"] != "Ada" || !a.ReservedAt.Equal(c.NotBefore) {
		t.Errorf("%+v", a)
	}
}

// Of a group the first stands; of many writers one.
func scheduledRace(t *testing.T, w *world) {
	d := w.scheduled(0, 5)
	w.commit(schedule(d))
	got := w.try(unplaced(d, engine.OutcomeCancelled, w.now), w.placed(d, w.now.Add(time.Second)))
	if code(got[0]) != "" || code(got[1]) != engine.CodeDialoutPlaced {
		t.Errorf("%v", got)
	}
	d = w.scheduled(0, 5)
	w.commit(schedule(d))
	var all sync.WaitGroup
	errs := make([]error, 6)
	for i := range errs {
		x := w.placed(d, w.now.Add(time.Duration(i)*time.Second))
		if i%2 == 1 {
			x = unplaced(d, engine.OutcomeCancelled, w.now.Add(time.Duration(i)*time.Second))
		}
		all.Go(func() {
			refused, err := w.store.Commit(w.ctx, []journal.Write{x})
			if errs[i] = err; err == nil {
				errs[i] = refused[0]
			}
		})
	}
	all.Wait()
	won := 0
	for _, err := range errs {
		if c := code(err); c == "" {
			won++
		} else if c != engine.CodeDialoutPlaced {
			t.Error(err)
		}
	}
	if won != 1 {
		t.Errorf("%d of them were accepted: %v", won, errs)
	}
}

// A refused intent leaves the dialout waiting.
func scheduledRefused(t *testing.T, w *world) {
	d := w.scheduled(0, 5)
	w.commit(schedule(d))
	late := w.placed(d, w.now)
	late.Intent.NotAfter = w.now.Add(-time.Second)
	if got := code(w.try(late)[0]); got != "deadline_passed" || !w.waits(d.ID) {
		t.Errorf("too late: %q", got)
	}
	w.noAttempt(d.ID)
	// Stored in time, it is accepted again, however late that is.
	other := w.scheduled(0, 5)
	place := w.placed(other, w.now)
	place.Intent.NotAfter = w.now.Add(time.Hour)
	w.commit(schedule(other))
	w.commit(place)
	intent := *place.Intent
	intent.NotAfter = w.now.Add(-time.Second)
	place.Intent = &intent
	w.commit(place)
	w.commit(w.write(func(x *journal.Write) {
		x.Suppressions = []journal.Suppression{{Number: d.Command.To, Reason: "import", CreatedAt: w.now}}
	}))
	if got := code(w.try(w.placed(d, w.now))[0]); got != "suppressed" || !w.waits(d.ID) {
		t.Errorf("suppressed: %q", got)
	}
	end := unplaced(d, engine.OutcomeBlocked, w.now)
	if w.commit(end); w.waits(d.ID) {
		t.Error("it waits on")
	}
}

// Those whose time has come, by priority and time, each for one who asks.
func scheduledDue(t *testing.T, w *world) {
	low, first, second, later := w.scheduled(-3*time.Minute, 2), w.scheduled(-2*time.Minute, 5),
		w.scheduled(-time.Minute, 5), w.scheduled(time.Minute, 9)
	urgent := w.scheduled(-time.Second, 9)
	for _, d := range []campaign.ScheduledDialout{later, second, low, urgent, first} {
		w.commit(schedule(d))
	}
	is := func(what string, got []engine.AttemptID, want ...campaign.ScheduledDialout) {
		t.Helper()
		same := len(got) == len(want)
		for i := range want {
			same = same && got[i] == want[i].ID
		}
		if !same {
			t.Errorf("%s: %v", what, got)
		}
	}
	if ids, _ := w.dueDialouts(w.now, time.Minute, 3, "bot", "other"); len(ids) > 0 {
		t.Errorf("of a bot that was left out: %v", ids)
	}
	expired := w.scheduled(-2*time.Hour, 5)
	w.commit(schedule(expired))
	ids, _ := w.dueDialouts(w.now, time.Minute, 3, "bot")
	is("one of it that has expired", ids, expired)
	w.commit(unplaced(expired, engine.OutcomeExpired, w.now))
	ids, next := w.dueDialouts(w.now, time.Minute, 3, "other")
	is("the first three", ids, urgent, first, second)
	if next == nil || !next.Equal(later.NotBefore) {
		t.Errorf("next at %v", next)
	}
	ids, _ = w.dueDialouts(w.now, time.Minute, 9)
	is("the rest", ids, low)
	must(t, w.store.PutOffDialout(w.ctx, first.ID, w.now.Add(time.Second), "no_capacity"))
	ids, _ = w.dueDialouts(w.now.Add(2*time.Second), time.Minute, 9)
	is("put off", ids, first)
	if d, _, err := w.store.ScheduledDialout(w.ctx, first.ID); err != nil || d.Reason != "no_capacity" {
		t.Errorf("%+v %v", d, err)
	}
	ids, next = w.dueDialouts(w.now.Add(2*time.Minute), time.Minute, 9)
	is("after the claim", ids, urgent, later, first, second, low)
	if next == nil || !next.Equal(w.now.Add(3*time.Minute)) { // one that was taken, and not placed
		t.Errorf("next at %v", next)
	}
	// One was dialled through another server, whose latest commits this one has not seen: its hold is
	// written again (Renews).
	x := w.placed(low, w.now)
	x.Unschedule, x.Events = false, nil
	w.commit(x)
	ids, _ = w.dueDialouts(w.now.Add(4*time.Minute), time.Minute, 9)
	is("without the one that was dialled", ids, urgent, later, first, second)
	if w.waits(low.ID) {
		t.Error("it waits on")
	}
}

// Those that were put off let others of their priority come first.
func scheduledTurns(t *testing.T, w *world) {
	for i := range 3 {
		w.commit(schedule(w.scheduled(time.Duration(i-9)*time.Second, 5)))
	}
	first, _ := w.dueDialouts(w.now, time.Second, 2)
	for _, id := range first {
		must(t, w.store.PutOffDialout(w.ctx, id, w.now, "no_number"))
	}
	if next, _ := w.dueDialouts(w.now, time.Second, 1); len(next) != 1 || slices.Contains(first, next[0]) {
		t.Errorf("%v, then %v", first, next)
	}
}

// A dialout is stored as long as its request waits for the answer.
func scheduledLate(t *testing.T, w *world) {
	d := w.scheduled(time.Hour, 5)
	late := schedule(d)
	late.ScheduleBy = w.now.Add(-time.Second)
	if got := code(w.try(late)[0]); got != "deadline_passed" || w.waits(d.ID) {
		t.Errorf("too late: %q", got)
	}
	inTime := schedule(d)
	inTime.ScheduleBy = w.now.Add(time.Hour)
	w.commit(inTime)
	w.commit(late) // it is stored already
}

// No more dialouts wait than may, and one that comes again is not one more.
func scheduledCap(t *testing.T, w *world) {
	const part = 2000
	var last journal.Write
	for range campaign.ScheduledCap / part {
		group := make([]journal.Write, part)
		for i := range group {
			d := w.scheduled(time.Hour, 5)
			group[i] = journal.Write{Schedule: &d}
		}
		w.commit(group...)
		last = group[0]
	}
	one := w.scheduled(time.Hour, 5)
	got := w.try(last, schedule(one))
	if code(got[0]) != "" || code(got[1]) != "too_many_scheduled" || w.waits(one.ID) {
		t.Errorf("%v", got)
	}
	w.commit(unplaced(*last.Schedule, engine.OutcomeCancelled, w.now))
	w.commit(schedule(one))
}

// They are among the calls, by their time, each once.
func scheduledListed(t *testing.T, w *world) {
	var all []engine.AttemptID
	var to engine.PhoneNumber
	for i := range 7 {
		d := w.scheduled(time.Duration(i)*time.Minute, 5)
		d.ID = engine.AttemptID(fmt.Sprintf("%012x", d.NotBefore.UnixMilli()) + id()[12:])
		w.commit(schedule(d))
		switch i {
		case 2:
			w.commit(w.placed(d, w.now))
		case 3:
			w.commit(unplaced(d, engine.OutcomeCancelled, w.now))
		case 4:
			to = d.Command.To
		}
		all = append(all, d.ID)
	}
	slices.Reverse(all)
	f := func(what string, q attempt.Query, want ...engine.AttemptID) {
		t.Helper()
		var got []engine.AttemptID
		for q.Limit = 2; len(got) <= len(all); {
			list, next, err := w.pg.Lists.Calls(t.Context(), q)
			must(t, err)
			for i := range list {
				got = append(got, list[i].ID)
				if waits := list[i].State == attempt.Scheduled; waits != (list[i].Waits != nil) {
					t.Errorf("%s: %+v", what, list[i])
				}
			}
			if q.Before = next; next == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	waiting := slices.Concat(all[:3], all[5:])
	f("all", attempt.Query{}, all...)
	f("those that wait", attempt.Query{State: attempt.Scheduled}, waiting...)
	f("to a number", attempt.Query{To: to}, all[2])
	f("of a time", attempt.Query{From: w.now.Add(4 * time.Minute), Until: w.now.Add(6 * time.Minute)}, all[1], all[2])
	f("with an outcome", attempt.Query{Outcome: engine.OutcomeCancelled}, all[3])
	f("of a trunk", attempt.Query{State: attempt.Scheduled, Trunk: "t1"})
}
