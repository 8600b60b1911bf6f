package storetest

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

func repeatedGroup(t *testing.T, w *world) {
	c := w.contact()
	x, a := w.intent(&c)
	x.Reply = reply("tok", w.now)
	y := w.write(func(x *journal.Write) {
		x.Exclusions = []journal.Exclusion{{Campaign: w.c.ID, Number: number(), Reason: "asked", CreatedAt: w.now}}
		x.Suppressions = []journal.Suppression{{Number: number(), Reason: "import", CreatedAt: w.now}}
	})
	w.commit(x, y)
	contactOnce, attemptOnce, eventsOnce := w.stored(c.ID), w.storedAttempt(a.ID), w.events()
	w.commit(x, y)
	w.commit(x)
	if got := w.stored(c.ID); !reflect.DeepEqual(got, contactOnce) {
		t.Errorf("contact changed: %+v", got)
	}
	if got := w.storedAttempt(a.ID); !reflect.DeepEqual(got, attemptOnce) {
		t.Errorf("attempt changed: %+v", got)
	}
	if got := w.events(); len(got) != len(eventsOnce) {
		t.Errorf("%d events, %d before", len(got), len(eventsOnce))
	}

	end, _ := w.ended(&c, a, engine.OutcomeBusy)
	w.commit(end)
	w.commit(x, end) // a group that was split differently is repeated
	if got := w.storedAttempt(a.ID); got.State != attempt.Ended {
		t.Errorf("state %s after the repeat", got.State)
	}
	next, _ := w.intent(&c)
	w.commit(next) // the number is free
}

func olderContact(t *testing.T, w *world) {
	c := w.contact()
	old := c
	c.Version, c.State = 5, contact.Failed
	w.commit(w.write(func(x *journal.Write) { x.Contacts = []contact.Contact{c} }))
	old.Variables = map[string]string{"name": "old"}
	w.commit(w.write(func(x *journal.Write) { x.Contacts = []contact.Contact{old} }))
	if got := w.stored(c.ID); got.Version != 5 || got.State != contact.Failed || got.Variables["name"] != "Ada" {
		t.Errorf("version %d, state %s, variables %v", got.Version, got.State, got.Variables)
	}
}

func endedAttempt(t *testing.T, w *world) {
	c := w.contact()
	x, a := w.intent(&c)
	w.commit(x)
	end, done := w.ended(&c, a, engine.OutcomeConnectedNoResult)
	w.commit(end)
	only := func(a attempt.Attempt) journal.Write {
		return w.write(func(x *journal.Write) { x.Attempts = []attempt.Attempt{a} })
	}
	ringing := a
	ringing.State = attempt.Ringing
	ringing.MediaSeq = 1000
	w.commit(only(ringing))
	if got := w.storedAttempt(a.ID); got.State != attempt.Ended || got.EndedAt == nil {
		t.Fatalf("an ended attempt went back to %s", got.State)
	}
	late := done
	late.Outcome = engine.OutcomeCompleted
	late.Result = &attempt.Result{Disposition: "sold", ReceivedAt: w.now}
	w.commit(only(late))
	w.commit(end) // the end is repeated
	got := w.storedAttempt(a.ID)
	if got.Result == nil || got.Result.Disposition != "sold" || got.Outcome != engine.OutcomeCompleted {
		t.Errorf("outcome %s, result %+v", got.Outcome, got.Result)
	}
}

func attemptGoesOn(t *testing.T, w *world) {
	c := w.contact()
	x, a := w.intent(&c)
	w.commit(x)
	only := func(a attempt.Attempt) journal.Write {
		return w.write(func(x *journal.Write) { x.Attempts = []attempt.Attempt{a} })
	}
	sent, answered := a, a
	when := w.now
	sent.State, sent.Legs = attempt.Dialling, []attempt.Leg{{ID: a.ID.Leg(1), Trunk: "t1", SentAt: &when, Seq: 1}}
	answered.State, answered.Legs = attempt.Answered, []attempt.Leg{{ID: a.ID.Leg(1), Trunk: "t1", SentAt: &when, Seq: 4,
		SIPCode: 200,
		Dialog:  &engine.DialogState{ToTag: "x", CSeq: 1}}}
	w.commit(only(answered))
	w.commit(only(sent)) // was delayed for too long
	got := w.storedAttempt(a.ID)
	if got.State != attempt.Answered || got.Legs[0].Seq != 4 || got.Legs[0].Dialog == nil {
		t.Errorf("went back to %s, leg %+v", got.State, got.Legs[0])
	}
}

func lastInGroup(t *testing.T, w *world) {
	c := w.contact()
	x, a := w.intent(&c)
	when := w.now
	ringing := a
	ringing.State, ringing.RingingAt = attempt.Ringing, &when
	ringing.Legs = []attempt.Leg{{ID: a.ID.Leg(1), Trunk: "t1", SentAt: &when, Seq: 2}}
	c.Version++
	c.Reason = "second"
	y := w.write(func(x *journal.Write) {
		x.Attempts = []attempt.Attempt{ringing}
		x.Contacts = []contact.Contact{c}
		x.Exclusions = []journal.Exclusion{{Campaign: w.c.ID, Number: c.Number, CreatedAt: w.now}}
	})
	z := w.write(func(x *journal.Write) {
		x.Exclusions = []journal.Exclusion{{Campaign: w.c.ID, Number: c.Number, Lifted: true,
			CreatedAt: w.now.Add(time.Second)}}
	})
	w.commit(x, y, z)
	if got := w.storedAttempt(a.ID); got.State != attempt.Ringing || got.Legs[0].Seq != 2 {
		t.Errorf("state %s, leg %+v", got.State, got.Legs[0])
	}
	if got := w.stored(c.ID); got.Reason != "second" {
		t.Errorf("contact of version %d stands", got.Version)
	}
	if list, _ := w.store.Exclusions(t.Context(), w.c.ID); len(list) != 0 {
		t.Errorf("the exclusion was lifted in the same group, yet stands")
	}
}

func lateIntent(t *testing.T, w *world) {
	c := w.contact()
	x, a := w.intent(&c)
	w.commit(x)
	end, _ := w.ended(&c, a, engine.OutcomeBusy)
	w.commit(end)
	w.commit(x) // delivered again, long after
	next, _ := w.intent(&c)
	if err := w.try(next)[0]; errors.Is(err, journal.ErrNumberHeld) {
		t.Error("the number is held for an attempt that ended")
	}
}

func reply(token string, at time.Time) *journal.Reply {
	return &journal.Reply{
		Idempotency: engine.Idempotency{Key: "key_1", Route: "trigger", Token: token, BodyHash: "abc"},
		Status:      200, Body: []byte(`{"status":"dialled",  "contact_id":"x"}`), At: at,
	}
}

func replyAtomic(t *testing.T, w *world) {
	c, d := w.contact(), w.contact()
	x, _ := w.intent(&c)
	x.Reply = reply("one", w.now)
	w.commit(x)
	r, ok, err := w.store.FindReply(t.Context(), x.Reply.Idempotency)
	must(t, err)
	if !ok || r.BodyHash != "abc" || string(r.Body) != string(x.Reply.Body) || r.Status != 200 {
		t.Fatalf("stored reply %v %+v", ok, r)
	}

	// The same request on another node: none of it is stored.
	y, b := w.intent(&d)
	y.Reply = reply("one", w.now.Add(time.Millisecond))
	if err := w.try(y)[0]; !errors.Is(err, journal.ErrReplyExists) {
		t.Fatalf("second reply: %v", err)
	}
	w.noAttempt(b.ID)
	y.Reply = nil
	w.commit(y) // and its number is free

	e := w.contact()
	z, _ := w.intent(&e)
	z.Reply = reply("two", w.now)
	z.Epoch--
	_ = w.try(z)
	if _, ok, _ := w.store.FindReply(t.Context(), z.Reply.Idempotency); ok {
		t.Error("the reply of a refused write is stored")
	}

	// Two in one group: the first wins.
	one, two := w.write(func(x *journal.Write) { x.Reply = reply("three", w.now) }), w.write(
		func(x *journal.Write) { x.Reply = reply("three", w.now) })
	if refused := w.try(one, two); refused[0] != nil || !errors.Is(refused[1], journal.ErrReplyExists) {
		t.Errorf("answers %v", refused)
	}
}

func replyLife(t *testing.T, w *world) {
	old := reply("tok", at().Add(-25*time.Hour))
	put := func(r *journal.Reply) error { return w.try(journal.Write{Reply: r})[0] }
	must(t, put(old))
	if _, ok, err := w.store.FindReply(t.Context(), old.Idempotency); ok || err != nil {
		t.Errorf("a reply of yesterday is replayed (err %v)", err)
	}
	must(t, put(reply("tok", w.now))) // takes its place
	if err := put(reply("tok", w.now.Add(time.Second))); !errors.Is(err, journal.ErrReplyExists) {
		t.Errorf("second reply: %v", err)
	}
	if w.pg == nil {
		return
	}
	must(t, w.pg.StoreReply(t.Context(), *reply("old", at().Add(-25*time.Hour))))
	n, err := w.pg.PurgeReplies(t.Context(), w.now)
	must(t, err)
	if n != 1 {
		t.Errorf("%d purged", n)
	}
}
