package call

import (
	"testing"

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

// ended is an attempt of a conversation as it is stored.
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

// One that comes before the conversation is recorded a second time, as that of a
// conversation, when that begins. It was answered by then.
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
	if !r.has("write 4 attempt.connected") || !r.has("write 5 result.stored") || r.has("count result") {
		t.Fatalf("%v", r.log)
	}
	if !r.write().Events[0].Data.Connected {
		t.Error("the conversation has its result")
	}
	r.clear()
	r.on(&Durable{Step: 5})
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

	// Nobody knows the attempt, or the database is away.
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

// While a newer attempt is at hand, the result of an older one is stored beside it, and
// counts once until its row is in the table.
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

	// So is one of an attempt that the table says is open, and one that comes while
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

func TestAResultThatSaysDoNotCall(t *testing.T) {
	r := up(t, nil, nil)
	r.talking(first)
	r.on(resultOf(first, doNotCall), "count result", "write 4 result.stored +contact +do_not_call")
	r.on(&Durable{Step: 4}, "suppress "+string(callee)+" someone") // answers once everybody has confirmed
	r.apply(resultOf(first, doNotCall))
	r.clear()
	r.on(&Durable{Step: 5, Err: journal.ErrStaleEpoch}, "answer someone stale_epoch")
}
