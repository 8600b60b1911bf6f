package call

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

func resultOf(id engine.AttemptID, edit ...func(*attempt.Result)) *StoreResult {
	m := &StoreResult{Call: id.Call(), Result: attempt.Result{Disposition: "sold"}, Request: someone}
	for _, f := range edit {
		f(&m.Result)
	}
	return m
}

func fetched(m *StoreResult, at *attempt.Attempt, err error) *StoreResult {
	f := *m
	f.Fetched, f.Attempt, f.Err = true, at, err
	return &f
}

func doNotCall(r *attempt.Result) { r.DoNotCall = true }

// ended is the stored attempt of a conversation.
func ended(t *testing.T, id engine.AttemptID) attempt.Attempt {
	t.Helper()
	r := up(t, nil, nil)
	r.talking(id)
	r.apply(r.leg(1, engine.LegHungUp))
	return r.write().Attempts[0]
}

func TestAResultThatComesBeforeTheEnd(t *testing.T) {
	r := up(t, nil, nil)
	r.talking(first)
	r.on(resultOf(first), "count result", "write 4 result.stored +contact")
	if d := r.write().Events[0].Data; !d.Connected || d.Disposition != "sold" || d.Trunk != "trunk" || d.Number != 1 ||
		d.Pass != 1 {
		t.Errorf("%+v", d)
	}
	r.on(&Durable{Step: 4}, "answer someone")
	r.on(resultOf(first), "count result", "write 5 result.stored +contact")
	if d := r.write().Events[0].Data; d.Connected {
		t.Error("a second result is counted as another conversation")
	}
}

// A result that comes before the conversation is recorded a second time, as the conversation's
// result, in the write that begins the conversation: after a crash both or neither exist. The
// result was answered by then.
func TestAResultThatComesBeforeTheConversation(t *testing.T) {
	r := up(t, nil, nil)
	r.dialled(first)
	r.apply(r.leg(1, engine.LegAnswered, answered))
	r.durable(2)
	r.clear()
	r.on(resultOf(first), "count result", "write 3 result.stored +contact")
	if r.write().Events[0].Data.Connected {
		t.Error("there was no conversation")
	}
	r.on(&Durable{Step: 3}, "answer someone")
	r.apply(&SeatGranted{Attempt: first})
	r.clear()
	r.apply(r.mediaEvent(engine.MediaBotConnected))
	if !r.has("write 4 attempt.connected result.stored +contact") || r.has("count result") {
		t.Fatalf("%v", r.log)
	}
	if w := r.write(); !w.Events[1].Data.Connected || !w.Contacts[0].ConnectedOnce || !w.Contacts[0].HasResult {
		t.Errorf("the conversation has its result: %+v", w.Contacts[0])
	}
	r.clear()
	r.on(&Durable{Step: 4})
}

func TestAResultAfterTheEnd(t *testing.T) {
	at := ended(t, first)
	row := func(c *contact.Contact) { c.State, c.DueAt, c.Used = contact.Connected, nil, 1 }
	r := up(t, row, nil)
	m := resultOf(first)
	r.on(m, "fetch a")
	if r.apply(&Stop{}); !r.has("not idle") {
		t.Error("the contact stops while the attempt is read")
	}
	r.clear()
	r.on(fetched(m, &at, nil), "own a", "count result", "write 1 result.stored +contact")
	if w := r.write(); w.Attempts[0].Result == nil || w.Contacts[0].State != contact.Completed {
		t.Errorf("%+v", w.Contacts[0])
	}
	r.on(&Durable{Step: 1}, "answer someone", "idle")

	// The attempt does not exist, or the database is unavailable.
	for _, err := range []error{ErrCallNotFound, engine.Unavailable("database_unavailable", "", 0)} {
		r = up(t, row, nil)
		r.apply(m)
		r.clear()
		r.on(fetched(m, nil, err), "answer someone "+engine.ErrorCode(err), "idle")
	}
}

func TestAResultOfARunBeforeChangesNothingHere(t *testing.T) {
	at := ended(t, first)
	r := up(t, func(c *contact.Contact) { c.Run = 2 }, func(rl *Rules) { rl.Run = 2 })
	m := resultOf(first)
	r.apply(m)
	r.apply(fetched(m, &at, nil))
	if e := r.write().Events[0]; e.Run != 1 || e.Data.Before != nil || e.Data.After != nil || e.Attempt != first {
		t.Errorf("%+v", e)
	}
}

// While a newer attempt is current, an older attempt's result is stored with that attempt, and
// counts only once until its row is in the table.
func TestTheResultOfAnOlderAttempt(t *testing.T) {
	at := ended(t, first)
	r := up(t, func(c *contact.Contact) { c.Used = 1 }, nil)
	r.dialled(second)
	m := resultOf(first)
	r.on(m, "fetch a")
	r.on(fetched(m, &at, nil), "count result", "write 2 result.stored +contact")
	e := r.write().Events[0]
	if e.Attempt != first || !e.Data.Connected || e.Data.Pass != 1 || r.call.Machine.A.ID != second {
		t.Errorf("%+v", e)
	}
	r.apply(m)
	r.apply(fetched(m, &at, nil))
	if r.write().Events[0].Data.Connected || r.write().Attempts[0].Result.Revision != 1 {
		t.Error("a second result is counted as another conversation")
	}
	r.clear()
	r.on(&Durable{Step: 2}, "answer someone")
	r.on(&Durable{Step: 3}, "answer someone")
	// The newer attempt reaches nobody: the contact already has its result.
	r.apply(r.leg(1, engine.LegRefused, code(486)))
	if c := r.write().Contacts[0]; c.State != contact.Completed || c.DueAt != nil || c.Used != 2 {
		t.Errorf("%+v", c)
	}

	// The same goes for an attempt that is open in the table, and for a result that comes while
	// legs are watched.
	open := at
	open.State, open.EndedAt = attempt.Connected, nil
	r = up(t, nil, nil)
	r.apply(m)
	r.clear()
	r.apply(fetched(m, &open, nil))
	if r.has("own") || !r.has("write 1 result.stored") {
		t.Errorf("%v", r.log)
	}
	if a := r.write().Contacts[0]; a.HasResult != r.contact.Machine.C.HasResult {
		t.Errorf("%+v", a)
	}
	r = up(t, nil, nil)
	r.call.Watching = 1
	r.apply(m)
	r.clear()
	r.apply(fetched(m, &at, nil))
	if r.has("own") || !r.has("write 1 result.stored") {
		t.Errorf("%v", r.log)
	}
}

// A contact that watches the legs of a lost call continues into the next run. A result of that call
// belongs to the earlier run, and changes the contact as that run left it.
func TestAResultOfACallWhoseLegsAreWatchedIntoTheNextRun(t *testing.T) {
	at := ended(t, first)
	at.Legs[0].EndedAt = nil
	r := newRig(t)
	kept := rowOf(func(c *contact.Contact) { c.State, c.DueAt, c.Used, c.Version = contact.Failed, nil, 1, 5 })
	r.contact = NewContact(kept, rulesOf(nil), limits, nil)
	r.call = &r.contact.Call
	r.apply(&Started{Lost: &at})
	r.contact.Kept = map[int]contact.Contact{7: {}}
	r.clear()

	r.on(&Reload{}, "load contact")
	r.apply(resultOf(first))
	r.contact.Rules = rulesOf(func(rl *Rules) { rl.Run = 2 })
	row := rowOf(func(c *contact.Contact) { c.Run, c.Version = 2, 6 })
	r.on(&ContactLoaded{Row: row, Attempt: &at}, "fetch a")
	if r.call.Watching != 1 || r.contact.Kept != nil {
		t.Errorf("%d legs are watched, kept %v", r.call.Watching, r.contact.Kept)
	}
	m := fetched(resultOf(first), &at, nil)
	m.Kept = &kept
	r.apply(m)
	w := r.write()
	if e := &w.Events[0]; len(w.Kept) != 1 || w.Kept[0].State != contact.Completed || e.Run != 1 || !e.Data.Kept {
		t.Errorf("%+v, %+v", w.Kept, e)
	}
	if c := &w.Contacts[0]; c.Run != 2 || c.State != contact.Pending || c.HasResult {
		t.Errorf("the next run: %+v", c)
	}
	// The end of the legs keeps the result.
	r.apply(&engine.LegEvent{Attempt: first, Leg: first.Leg(1), Kind: engine.LegClosed, Proof: engine.ProofBye})
	if a := &r.write().Attempts[0]; a.Result == nil || a.Legs[0].EndedAt == nil {
		t.Errorf("%+v", a)
	}

	// Of the states that a run left, the newest is used.
	newer := w.Kept[0]
	newer.Version, newer.LastDisposition = 20, "called"
	m = fetched(resultOf(first), &at, nil)
	m.Kept = &newer
	r.apply(m)
	if got := r.write().Kept[0].Version; got != 21 {
		t.Errorf("version %d, want that after the newest", got)
	}
	r.apply(resultOf(first))
	r.clear()
	r.on(fetched(resultOf(first), nil, engine.Unavailable("database_unavailable", "", 0)),
		"answer someone database_unavailable")
}

// Legs that end while a contact loads its row end once.
func TestALegThatEndsWhileAContactLoadsItsRowAgain(t *testing.T) {
	at := ended(t, first)
	at.Legs[0].EndedAt = nil
	r := newRig(t)
	r.contact = NewContact(rowOf(nil), rulesOf(nil), limits, nil)
	r.call = &r.contact.Call
	r.apply(&Started{Lost: &at})
	r.apply(&Reload{})
	r.clear()
	r.on(&engine.LegEvent{Attempt: first, Leg: first.Leg(1), Kind: engine.LegClosed, Proof: engine.ProofBye})
	r.apply(&ContactLoaded{Row: rowOf(nil), Attempt: &at})
	if w := r.write(); w.Attempts[0].Legs[0].EndedAt == nil || r.call.Watching != 0 {
		t.Errorf("%v", r.log)
	}
}

// A result held back while the database was unavailable comes late. After a newer result of its
// call it changes only do-not-call, whether the call is current or an earlier one.
func TestALateResultChangesNothingBehindANewerOne(t *testing.T) {
	older := func(edit ...func(*attempt.Result)) *StoreResult {
		m := resultOf(first, append(edit, func(r *attempt.Result) {
			r.Disposition, r.ReceivedAt = "call again", start
			r.Callback = &attempt.Callback{Requested: true}
		})...)
		m.Late = true
		return m
	}
	newer := func(r *attempt.Result) { r.ReceivedAt = start.Add(time.Minute) }
	// The call is current.
	r := up(t, nil, nil)
	r.talking(first)
	r.apply(resultOf(first, newer))
	r.apply(r.leg(1, engine.LegHungUp))
	r.durable(r.call.Step)
	at, row := r.call.Machine.A, r.contact.Machine.C
	r.clear()
	same := func(what string) {
		t.Helper()
		if r.contact.Machine.C.Version != row.Version || !reflect.DeepEqual(r.call.Machine.A.Result, at.Result) {
			t.Errorf("%s: %+v, %+v", what, r.contact.Machine.C, r.call.Machine.A.Result)
		}
	}
	r.on(older(), "answer someone", "idle")
	same("current")
	barred := func(what string, w *journal.Write) {
		t.Helper()
		got, e := w.Attempts[0].Result, &w.Events[0]
		if !got.DoNotCall || got.Disposition != "sold" || !got.ReceivedAt.Equal(start.Add(time.Minute)) ||
			len(w.Suppressions) != 1 || w.Suppressions[0].Number != callee {
			t.Errorf("%s: %+v, %+v", what, got, w.Suppressions)
		}
		if e.Data.Connected || e.Data.Disposition != "sold" || *e.Data.Before != *e.Data.After {
			t.Errorf("%s: it is counted again: %+v", what, e.Data)
		}
	}
	r.apply(older(doNotCall))
	barred("current", r.write())
	r.durable(r.call.Step)

	// Another call is current.
	r = up(t, func(c *contact.Contact) { c.Used, c.ConnectedOnce, c.HasResult = 1, true, true }, nil)
	r.dialled(second)
	row = r.contact.Machine.C
	r.clear()
	r.on(fetched(older(), &at, nil), "answer someone")
	if r.contact.Machine.C.Version != row.Version || len(r.call.Results) != 0 {
		t.Errorf("behind another: %+v, %v", r.contact.Machine.C, r.call.Results)
	}
	r.apply(fetched(older(doNotCall), &at, nil))
	barred("behind another", r.write())
	// Until that is in the table, this result is what is known about the call.
	r.clear()
	r.on(fetched(older(doNotCall), &at, nil), "answer someone")
	// A newer result replaces it.
	late := older()
	late.Result.ReceivedAt = start.Add(time.Hour)
	r.apply(fetched(late, &at, nil))
	if got := r.write().Attempts[0].Result; got.Disposition != "call again" || got.Revision != 2 {
		t.Errorf("%+v", got)
	}
}

func TestAResultThatSaysDoNotCall(t *testing.T) {
	r := up(t, nil, nil)
	r.talking(first)
	r.on(resultOf(first, doNotCall), "count result", "write 4 result.stored +contact +do_not_call")
	r.on(&Durable{Step: 4}, "suppress "+string(callee)+" someone") // answers once everybody has confirmed
	r.apply(resultOf(first, doNotCall))
	r.clear()
	r.on(&Durable{Step: 5, Err: journal.ErrStaleEpoch}, "answer someone stale_epoch", "replaced a, 1 legs", "idle")
}

// A run for the unreached carries a contact over as the previous run left it: a late result tells
// both runs that the conversation has one.
func TestALateResultOfARunBeforeChangesWhatThatRunLeft(t *testing.T) {
	f := func(what string, set func(*contact.Contact), state contact.State, writes string) {
		t.Helper()
		r := up(t, func(c *contact.Contact) {
			c.Run, c.DueAt = 2, nil
			set(c)
		}, func(rl *Rules) { rl.Run = 2 })
		at := attempt.Attempt{
			ID:             first,
			Contact:        r.contact.Machine.C.ID,
			To:             callee,
			Run:            1,
			State:          attempt.Ended,
			Consumed:       true,
			Outcome:        engine.OutcomeConnectedNoResult,
			AnsweredAt:     &start,
			ServedAt:       &start,
			BotConnectedAt: &start,
			EndedAt:        &start,
		}
		kept := contact.Contact{
			ID:            r.contact.Machine.C.ID,
			Campaign:      "cmp",
			Run:           1,
			State:         contact.Failed,
			Used:          1,
			ConnectedOnce: true,
			Reason:        string(engine.OutcomeConnectedNoResult),
			Version:       7,
		}
		r.apply(&StoreResult{Call: first.Call(), Request: someone, Result: attempt.Result{Disposition: "sold"}})
		if ask := last[*FetchAttempt](r); ask.Run != 2 {
			t.Errorf("%s: asked for one of another run than %d", what, ask.Run)
		}
		r.apply(
			&StoreResult{
				Call:    first.Call(),
				Request: someone,
				Result:  attempt.Result{Disposition: "sold"},
				Attempt: &at,
				Kept:    &kept,
				Fetched: true,
			},
		)
		w := r.write()
		e := &w.Events[0]
		if len(w.Kept) != 1 || w.Kept[0].State != contact.Completed || w.Kept[0].Version != 8 || e.Run != 1 ||
			!e.Data.Kept ||
			e.Data.After.State != contact.Completed {
			t.Errorf("%s: the run before: %+v, %+v", what, w.Kept, e)
		}
		var types []string
		for i := range w.Events {
			types = append(types, string(w.Events[i].Type))
		}
		if got := r.contact.Machine.C.State; got != state || strings.Join(types, " ") != writes {
			t.Errorf("%s: it is %s, want %s; the history says %q", what, got, state, types)
		}
	}
	f("left out", func(c *contact.Contact) {
		c.State, c.DuePass, c.ConnectedOnce, c.Used = contact.Failed, 0, true, 1
	}, contact.Completed, "result.stored contact.changed")
	f("reset", func(c *contact.Contact) { c.State, c.DuePass = contact.Pending, 1 }, contact.Pending, "result.stored")
	f(
		"dialled in the next run",
		func(c *contact.Contact) { c.State, c.DuePass, c.Used = contact.Failed, 1, 1 },
		contact.Failed,
		"result.stored",
	)
}
