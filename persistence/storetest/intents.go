package storetest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/contact"
	"dialler/engine/frequency"
	"dialler/engine/journal"
)

func heldNumber(t *testing.T, w *world) {
	first := w.contact()
	x, a := w.intent(&first)
	w.commit(x)

	// The same person in another campaign: another owner, another writer.
	other := newWorld(t, w.store)
	second := other.contact(func(c *contact.Contact) { c.Number = first.Number })
	y, b := other.intent(&second)
	if err := other.try(y)[0]; !errors.Is(err, journal.ErrNumberHeld) {
		t.Fatalf("second intent: %v", err)
	}
	other.noAttempt(b.ID)
	if _, ok, _ := w.store.ContactByID(t.Context(), second.ID); ok {
		t.Error("the contact of a refused write is stored")
	}

	z, _ := w.ended(&first, a, engine.OutcomeNoAnswer)
	w.commit(z)
	other.commit(y) // the previous call is over
	if got := other.storedAttempt(b.ID); got.State != attempt.Reserved {
		t.Errorf("state %s", got.State)
	}
}

func heldInGroup(t *testing.T, w *world) {
	a := w.contact()
	other := newWorld(t, w.store)
	b := other.contact(func(c *contact.Contact) { c.Number = a.Number })
	x, _ := w.intent(&a)
	y, _ := other.intent(&b)
	refused := w.try(x, y)
	if refused[0] != nil || !errors.Is(refused[1], journal.ErrNumberHeld) {
		t.Fatalf("answers %v", refused)
	}
}

func heldByOne(t *testing.T, w *world) {
	n := number()
	const rivals = 6
	worlds := make([]*world, rivals)
	writes := make([]journal.Write, rivals)
	for i := range rivals {
		worlds[i] = newWorld(t, w.store)
		c := worlds[i].contact(func(c *contact.Contact) { c.Number = n })
		writes[i], _ = worlds[i].intent(&c)
	}
	var wg sync.WaitGroup
	errs := make([]error, rivals)
	for i := range rivals {
		wg.Go(func() {
			refused, err := w.store.Commit(t.Context(), writes[i:i+1])
			if errs[i] = err; err == nil {
				errs[i] = refused[0]
			}
		})
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		switch {
		case err == nil:
			won++
		case !errors.Is(err, journal.ErrNumberHeld):
			t.Error(err)
		}
	}
	if won != 1 {
		t.Errorf("%d of %d got the number", won, rivals)
	}
}

func lostHolds(t *testing.T, w *world) {
	c := w.contact()
	x, a := w.intent(&c)
	w.commit(x)
	end, lost := w.ended(&c, a, engine.OutcomeLost)
	lost.Legs[0].EndedAt = nil // the fate of the leg is unknown
	end.Attempts = []attempt.Attempt{lost}
	end.Holds[0].Until = at().Add(time.Hour)
	w.commit(end)

	again, _ := w.intent(&c)
	if err := w.try(again)[0]; !errors.Is(err, journal.ErrNumberHeld) {
		t.Fatalf("intent while the lost attempt's legs may ring: %v", err)
	}
	open, err := w.store.OpenLegs(t.Context())
	must(t, err)
	if len(open) != 1 || open[0].ID != a.ID || len(open[0].Legs) != 1 {
		t.Errorf("open legs %v", open)
	}

	w.commit(w.write(func(x *journal.Write) {
		x.Holds = []journal.HoldRelease{{Attempt: a.ID, Number: c.Number, Until: at().Add(-time.Second)}}
	}))
	w.commit(again)
	if open, _ := w.store.OpenLegs(t.Context()); len(open) != 0 {
		t.Errorf("%d legs are watched beyond their hold", len(open))
	}
}

func provenAtOnce(t *testing.T, w *world) {
	c := w.contact()
	x, a := w.intent(&c)
	w.commit(x)
	end, _ := w.ended(&c, a, engine.OutcomeLost)
	end.Holds[0].Until, end.Holds[0].Owed = at().Add(time.Hour), true
	w.commit(end, w.write(func(x *journal.Write) { x.Holds = []journal.HoldRelease{{Attempt: a.ID, Number: c.Number}} }))
	again, _ := w.intent(&c)
	w.commit(again)
}

// owedHolds checks that the longer hold counts when an attempt is lost on a node whose rules differ
// from those at its start.
func owedHolds(t *testing.T, w *world) {
	lose := func(bound, until time.Duration, owed bool) (again journal.Write) {
		c := w.contact()
		x, a := w.intent(&c)
		x.Intent.Bound = at().Add(bound)
		w.commit(x)
		end, lost := w.ended(&c, a, engine.OutcomeLost)
		lost.Legs[0].EndedAt = nil
		end.Attempts = []attempt.Attempt{lost}
		end.Holds[0].Until, end.Holds[0].Owed = at().Add(until), owed
		w.commit(end)
		again, _ = w.intent(&c)
		return again
	}
	held := func(what string, x journal.Write) {
		t.Helper()
		if err := w.try(x)[0]; !errors.Is(err, journal.ErrNumberHeld) {
			t.Errorf("%s: %v", what, err)
		}
	}
	held("the bound is later", lose(time.Hour, -time.Second, true))
	held("what the loser says is later", lose(-time.Second, time.Hour, true))
	w.commit(lose(-time.Minute, -time.Second, true))
	w.commit(lose(time.Hour, -time.Second, false)) // the callee's leg is over: the bound does not apply
	// The bound of the last intent counts.
	second := lose(time.Hour, -time.Second, false)
	second.Intent.Bound = at().Add(-time.Minute)
	w.commit(second)
	w.commit(w.write(func(x *journal.Write) {
		x.Holds = []journal.HoldRelease{{Attempt: second.Intent.Attempt, Number: second.Intent.Number,
			Until: at().Add(-time.Second), Owed: true}}
	}))
	other := newWorld(t, w.store)
	c := other.contact(func(c *contact.Contact) { c.Number = second.Intent.Number })
	third, _ := other.intent(&c)
	if err := other.try(third)[0]; err != nil {
		t.Errorf("the bound of an earlier intent counts: %v", err)
	}
}

// sessionHolds checks that a call is over once its session is over, however long the rules allowed
// it; a longer session is held only as long as the rules allow. A repeated report, as after an
// unconfirmed commit, changes nothing.
func sessionHolds(t *testing.T, w *world) {
	f := func(bound, until, session time.Duration, held bool) {
		t.Helper()
		c := w.contact()
		x, a := w.intent(&c)
		x.Intent.Bound = at().Add(bound)
		w.commit(x)
		end, lost := w.ended(&c, a, engine.OutcomeLost)
		lost.Legs[0].EndedAt = nil
		end.Attempts = []attempt.Attempt{lost}
		h := &end.Holds[0]
		h.Until, h.Owed = at().Add(until), true
		if session != 0 {
			h.SessionEnd = at().Add(session)
		}
		w.commit(end)
		w.commit(w.write(func(x *journal.Write) { x.Holds = end.Holds }))
		again, _ := w.intent(&c)
		if err := w.try(again)[0]; errors.Is(err, journal.ErrNumberHeld) != held || err != nil && !held {
			t.Errorf("the bound in %s, what the loser says in %s, the session's end in %s: %v", bound, until, session, err)
		}
	}
	const over, ahead = -time.Second, time.Hour
	f(ahead, ahead, over, false)
	f(ahead, over, over, false)
	f(ahead, ahead, ahead, true)
	f(ahead, over, ahead, true)
	f(over, ahead, ahead, true)
	f(over, over, ahead, false)
	f(ahead, over, 0, true)
	f(over, over, 0, false)
}

// lengthenedSession checks that the session length after a refresh is stored with the leg.
func lengthenedSession(t *testing.T, w *world) {
	c := w.contact()
	x, a := w.intent(&c)
	w.commit(x)
	step := func(sec uint32) {
		t.Helper()
		l := a.Legs[0]
		l.Seq++
		l.Dialog = &engine.DialogState{ToTag: "x", CSeq: 1, SessionSec: sec}
		a.Legs = []attempt.Leg{l}
		w.commit(w.write(func(x *journal.Write) { x.Attempts = []attempt.Attempt{a} }))
		if d := w.storedAttempt(a.ID).Legs[0].Dialog; d == nil || d.SessionSec != sec {
			t.Errorf("%+v, want a session of %d s", d, sec)
		}
	}
	step(600)
	step(900)
	step(0)
}

// unwatchedLegs plays a program that dies again and again before it has watched a lost leg to its
// end, until the number is free.
func unwatchedLegs(t *testing.T, w *world) {
	lose := func(left, ago time.Duration) (*contact.Contact, attempt.Attempt) {
		c := w.contact()
		x, a := w.intent(&c)
		a = began(&x, a, ago)
		c = x.Contacts[0]
		w.commit(x)
		end, lost := w.ended(&c, a, engine.OutcomeLost)
		lost.Legs[0].EndedAt = nil
		end.Attempts = []attempt.Attempt{lost}
		end.Holds[0].Until = at().Add(left)
		w.commit(end)
		return &c, lost
	}
	_, held := lose(time.Hour, 0)
	_, free := lose(-time.Second, 0)
	again, redialled := lose(-time.Second, 0)
	_, long := lose(-time.Second, 5*time.Hour) // its hold was that of a long call
	x, live := w.intent(again)                 // its hold replaces the previous one
	w.commit(x)
	must(t, w.store.Maintain(t.Context(), at()))
	for _, c := range []struct {
		id    engine.AttemptID
		ended bool
	}{{held.ID, false}, {free.ID, true}, {redialled.ID, true}, {long.ID, true}, {live.ID, false}} {
		a, ok, err := w.store.Attempt(t.Context(), c.id)
		must(t, err)
		if !ok || (a.Legs[0].EndedAt != nil) != c.ended {
			t.Errorf("attempt %s: leg %+v", c.id, a.Legs)
		}
	}
}

// began gives the attempt of an intent an identifier from some time ago.
func began(x *journal.Write, a attempt.Attempt, ago time.Duration) attempt.Attempt {
	if ago > 0 {
		a.ID = engine.AttemptID(fmt.Sprintf("%012x", at().Add(-ago).UnixMilli())) + a.ID[12:]
		a.Legs[0].ID = a.ID.Leg(1)
	}
	x.Intent.Attempt, x.Contacts[0].Attempt, x.Attempts[0], x.Events[0].Attempt = a.ID, a.ID, a, a.ID
	return a
}

// cappedNumber allows two calls an hour, wherever they come from.
func cappedNumber(t *testing.T, w *world) {
	n := number()
	dial := func(w *world, ago time.Duration) (journal.Write, *contact.Contact, attempt.Attempt) {
		c := w.contact(func(c *contact.Contact) { c.Number = n })
		x, a := w.intent(&c)
		begun := w.now.Add(-ago)
		a.ReservedAt = &begun
		x.Attempts[0] = a
		x.Intent.Cap = &journal.CalleeCap{Now: w.now, Limits: []frequency.Limit{
			{What: frequency.Attempts, Most: 2, Period: time.Hour}, {What: frequency.Abandons, Most: 1, Period: time.Hour}}}
		return x, &c, a
	}
	call := func(w *world, ago time.Duration, consumed bool) {
		x, c, a := dial(w, ago)
		w.commit(x)
		y, a := w.ended(c, a, engine.OutcomeNoAnswer)
		a.Consumed = consumed
		y.Attempts[0] = a
		w.commit(y)
	}
	one := func() *world { // one contact each, in campaigns of their own
		o := newWorld(t, w.store)
		o.now = w.now
		return o
	}
	call(one(), time.Hour, true) // just out of the period
	call(one(), 50*time.Minute, true)
	call(one(), 40*time.Minute, false) // does not count
	back := one()                      // nor does one that the person began
	came, c, in := dial(back, 20*time.Minute)
	in.Inbound = true
	came.Intent.Cap, came.Attempts[0] = nil, in
	back.commit(came)
	over, _ := back.ended(c, in, engine.OutcomeAbandoned)
	back.commit(over)
	third, _, a := dial(one(), 0)
	w.commit(third)
	w.commit(third) // a repeat is not refused, although its attempt is the second
	fourth := one()
	x, _, b := dial(fourth, 0)
	if err := fourth.try(x)[0]; !errors.Is(err, journal.ErrNumberHeld) {
		t.Fatalf("while the third lives: %v", err)
	}
	w.commit(w.write(func(x *journal.Write) { x.Holds = []journal.HoldRelease{{Attempt: a.ID, Number: n}} }))
	err := fourth.try(x)[0]
	if engine.ErrorCode(err) != engine.CodeCalleeCap || !engine.ErrorUntil(err).Equal(w.now.Add(10*time.Minute)) {
		t.Errorf("the third call within the hour: %v, until %s, want %s", err, engine.ErrorUntil(err),
			w.now.Add(10*time.Minute))
	}
	fourth.noAttempt(b.ID)
	x.Intent.Cap.Now = w.now.Add(10 * time.Minute) // the first of the two is an hour old
	fourth.commit(x)
	// Other numbers are not affected, nor are campaigns without a cap.
	alone := w.contact()
	other, _ := w.intent(&alone)
	other.Intent.Cap = &journal.CalleeCap{Now: w.now,
		Limits: []frequency.Limit{{What: frequency.Attempts, Most: 1, Period: time.Hour}}}
	w.commit(other)
}

// restedNumber is not called again for an hour after a conversation, and for two after an abandoned
// call: from the end of each.
func restedNumber(t *testing.T, w *world) {
	for _, tc := range []struct {
		what    frequency.What
		outcome engine.Outcome
		rest    time.Duration
	}{
		{frequency.Conversations, engine.OutcomeCompleted, time.Hour},
		{frequency.Abandons, engine.OutcomeAbandoned, 2 * time.Hour},
	} {
		n := number()
		dial := func() (*world, journal.Write, attempt.Attempt, contact.Contact) {
			o := newWorld(t, w.store)
			o.now = w.now
			c := o.contact(func(c *contact.Contact) { c.Number = n })
			x, a := o.intent(&c)
			x.Intent.Cap = &journal.CalleeCap{Now: w.now, Limits: []frequency.Limit{
				{What: frequency.Attempts, Most: 3, Period: 10 * time.Minute},
				{What: frequency.Conversations, Most: 1, Period: time.Hour},
				{What: frequency.Abandons, Most: 1, Period: 2 * time.Hour}}}
			return o, x, a, c
		}
		refused := func(until time.Time) {
			t.Helper()
			o, x, _, _ := dial()
			err := o.try(x)[0]
			if engine.ErrorCode(err) != engine.CodeCalleeCap || !engine.ErrorUntil(err).Equal(until) ||
				!strings.Contains(err.Error(), strings.TrimSuffix(string(tc.what), "s")) {
				t.Errorf("after %s: %v, until %s, want %s", tc.what, err, engine.ErrorUntil(err), until)
			}
		}
		end := func(o *world, c *contact.Contact, a attempt.Attempt, outcome engine.Outcome, at time.Time) {
			y, a := o.ended(c, a, outcome)
			a.EndedAt, a.Consumed = &at, true
			if outcome == engine.OutcomeCompleted {
				a.ServedAt, a.BotConnectedAt = &at, &at
			}
			y.Attempts[0] = a
			o.commit(y)
		}
		o, x, a, c := dial()
		o.commit(x)
		ended := w.now.Add(20 * time.Minute)
		end(o, &c, a, tc.outcome, ended)
		w.now = w.now.Add(30 * time.Minute)
		refused(ended.Add(tc.rest))
		w.now = ended.Add(tc.rest)
		o, x, a, c = dial()
		o.commit(x)
		end(o, &c, a, engine.OutcomeNoAnswer, w.now) // is neither
		o, x, _, _ = dial()
		o.commit(x)
	}
}

// cappedKey allows three dialouts a day, however many are requested at once.
func cappedKey(t *testing.T, w *world) {
	k := engine.APIKey{ID: engine.KeyID("key_" + id()[:12]), Name: "CRM", Hash: sha256.Sum256([]byte(id())), Active: true,
		DialoutsPerDay: 3, CreatedAt: w.now}
	if w.pg != nil {
		must(t, w.pg.Accounts.CreateKey(t.Context(), k, admin))
	}
	dialout := func(ago time.Duration) journal.Write {
		c := w.contact()
		a := w.attempt(c)
		begun := w.now.Add(-ago)
		a.Campaign, a.Contact, a.Key, a.ReservedAt = "", "", k.ID, &begun
		return journal.Write{Intent: &journal.Intent{Attempt: a.ID, Number: c.Number,
			KeyCap: &journal.KeyCap{Key: k.ID, Calls: 3, Now: w.now}}, Attempts: []attempt.Attempt{a}}
	}
	refused := func(err error, after time.Duration) {
		t.Helper()
		var e *engine.Error
		if !errors.As(err, &e) || e.Code != "key_dialout_cap" || e.Kind != engine.KindTooMany || e.RetryAfter != after {
			t.Errorf("%v, want a refusal with Retry-After %s", err, after)
		}
	}
	w.commit(dialout(24*time.Hour), dialout(23*time.Hour)) // the first is outside the day
	// Five at once, from separate writers: two places are left.
	var wg sync.WaitGroup
	errs := make([]error, 5)
	for i := range errs {
		x := dialout(0)
		wg.Go(func() {
			r, err := w.store.Commit(t.Context(), []journal.Write{x})
			if errs[i] = err; err == nil {
				errs[i] = r[0]
			}
		})
	}
	wg.Wait()
	placed := 0
	for _, err := range errs {
		if err == nil {
			placed++
		} else {
			refused(err, time.Hour)
		}
	}
	if placed != 2 {
		t.Errorf("%d placed, want 2: %v", placed, errs)
	}
	refused(w.try(dialout(0))[0], time.Hour)
	// Other keys are not affected; in one group the first come first; a repeat is not refused.
	k.ID, k.Hash = engine.KeyID("key_"+id()[:12]), sha256.Sum256([]byte(id()))
	if w.pg != nil {
		must(t, w.pg.Accounts.CreateKey(t.Context(), k, admin))
	}
	group := []journal.Write{dialout(0), dialout(0), dialout(0), dialout(0)}
	for range 2 {
		for i, err := range w.try(group...) {
			if i < 3 && err != nil {
				t.Errorf("dialout %d: %v", i+1, err)
			} else if i == 3 {
				refused(err, 24*time.Hour)
			}
		}
	}
	// Nor is it when the period has moved on since, and with it the calls of the key.
	k.ID, k.Hash = engine.KeyID("key_"+id()[:12]), sha256.Sum256([]byte(id()))
	if w.pg != nil {
		must(t, w.pg.Accounts.CreateKey(t.Context(), k, admin))
	}
	repeat := dialout(0)
	w.commit(dialout(24*time.Hour-time.Second), dialout(0), repeat)
	w.now = w.now.Add(2 * time.Second)
	w.commit(dialout(0))
	w.commit(repeat)
}

// freshContact checks that a new contact is refused when its number is not new, or is suppressed,
// and that nothing of the write stays.
func freshContact(t *testing.T, w *world) {
	fresh := func(w *world, n engine.PhoneNumber) journal.Write {
		c := w.contact(func(c *contact.Contact) { c.Number = n })
		return w.write(func(x *journal.Write) { x.Fresh, x.Contacts = true, []contact.Contact{c} })
	}
	known, listed, one := w.contact(), number(), number()
	w.commit(journal.Write{Suppressions: []journal.Suppression{{Number: listed, Reason: "import", CreatedAt: w.now}}},
		w.write(func(x *journal.Write) { x.Contacts = []contact.Contact{known} }))
	first := fresh(w, one)
	first.Reply = reply("fresh", w.now)
	group := []journal.Write{fresh(w, known.Number), first, fresh(w, one), fresh(w, listed)}
	for range 2 { // the second time as after an unconfirmed commit
		got := w.try(group...)
		if !errors.Is(got[0], journal.ErrContactExists) || got[1] != nil || !errors.Is(got[2], journal.ErrContactExists) ||
			!errors.Is(got[3], journal.ErrSuppressed) {
			t.Fatalf("%v", got)
		}
	}
	if c := w.stored(first.Contacts[0].ID); c.Number != one {
		t.Errorf("%+v", c)
	}
	used := fresh(w, known.Number)
	used.Reply = reply("fresh", w.now.Add(time.Second))
	if err := w.try(used)[0]; !errors.Is(err, journal.ErrReplyExists) {
		t.Errorf("a known number under a key that was used: %v", err)
	}
	plain := fresh(w, known.Number)
	plain.Fresh = false
	if err := w.try(plain)[0]; !errors.Is(err, journal.ErrContactExists) {
		t.Errorf("a known number in a write that does not ask: %v", err)
	}
	elsewhere := newWorld(t, w.store)
	elsewhere.commit(fresh(elsewhere, one)) // another campaign

	person := func(beside ...engine.PhoneNumber) journal.Write {
		x := fresh(w, listed)
		x.Contacts[0].Alternates = others(beside...)
		return x
	}
	also := number()
	w.commit(journal.Write{Suppressions: []journal.Suppression{{Number: also, Reason: "import", CreatedAt: w.now}}})
	if all := w.try(person(also))[0]; !errors.Is(all, journal.ErrSuppressed) {
		t.Errorf("a person whose numbers are all listed: %v", all)
	}
	w.commit(person(also, number()))
}

func suppressed(t *testing.T, w *world) {
	c := w.contact()
	w.commit(journal.Write{Suppressions: []journal.Suppression{
		{Number: c.Number, Reason: "do_not_call", CreatedAt: w.now}, {Number: c.Number, Reason: "import", CreatedAt: w.now}}})
	x, a := w.intent(&c)
	if err := w.try(x)[0]; !errors.Is(err, journal.ErrSuppressed) {
		t.Fatalf("intent to a suppressed number: %v", err)
	}
	w.noAttempt(a.ID)
	found, err := w.store.Suppressed(t.Context(), c.Number, number())
	must(t, err)
	if len(found) != 1 {
		t.Errorf("suppressed: %d", len(found))
	}
	if w.pg == nil {
		return
	}
	if ok, err := w.pg.Unsuppress(t.Context(), c.Number, engine.System); err != nil || !ok {
		t.Fatal(ok, err)
	}
	w.commit(x)
}

// barredIntent checks that facts known to the owner refuse an intent as the lists do, and that
// nothing of the write stays.
func barredIntent(t *testing.T, w *world) {
	c, other := w.contact(), w.contact()
	x, a := w.intent(&c)
	x.Intent.Refused = engine.Invalid(engine.CodeDestination, "not there")
	y, _ := w.intent(&other)
	refused := w.try(x, y)
	if engine.ErrorCode(refused[0]) != engine.CodeDestination || refused[1] != nil {
		t.Fatalf("%v", refused)
	}
	w.noAttempt(a.ID)
	x.Intent.Refused = nil
	w.commit(x) // the number was not held
}

func staleEpoch(t *testing.T, w *world) {
	c := w.contact()
	x, a := w.intent(&c)
	if _, err := w.store.AcquireCampaign(t.Context(), w.c.ID); err != nil {
		t.Fatal(err)
	}
	if err := w.try(x)[0]; !errors.Is(err, journal.ErrStaleEpoch) {
		t.Fatalf("write of the owner before: %v", err)
	}
	w.noAttempt(a.ID)
	if len(w.events()) != 0 {
		t.Error("events of a refused write are stored")
	}
	// Nothing of it stays: the new owner may dial the number at once.
	x.Epoch++
	w.commit(x)

	unknown := journal.Write{Campaign: "cmp_nowhere", Epoch: 0}
	if err := w.try(unknown)[0]; !errors.Is(err, journal.ErrStaleEpoch) {
		t.Errorf("write of a campaign that is not there: %v", err)
	}
	if _, err := w.store.AcquireCampaign(t.Context(), "cmp_nowhere"); code(err) != "campaign_not_found" {
		t.Errorf("taking over what is not there: %v", err)
	}
}

func takeOver(t *testing.T, w *world) {
	w.commit(w.write(func(x *journal.Write) {
		x.Events = []journal.Event{w.event(journal.CampaignStarted, "", ""), w.event(journal.CampaignPaused, "", "")}
	}))
	before := w.c.Epoch
	c, err := w.store.AcquireCampaign(t.Context(), w.c.ID)
	must(t, err)
	if c.Epoch != before+1 {
		t.Errorf("epoch %d after %d", c.Epoch, before)
	}
	if c.Seq != w.seq.Load() {
		t.Errorf("sequence %d, the last stored event is %d", c.Seq, w.seq.Load())
	}
	// The campaign's row never changes the epoch.
	row := c
	row.Epoch, row.State = 99, "paused"
	w.commit(journal.Write{Campaign: c.ID, Epoch: c.Epoch, CampaignRow: &row})
	got, err := w.store.Campaign(t.Context(), c.ID)
	must(t, err)
	if got.Epoch != c.Epoch || got.State != "paused" {
		t.Errorf("epoch %d state %s", got.Epoch, got.State)
	}
}

func groupIsolation(t *testing.T, w *world) {
	held, free, stale := w.contact(), w.contact(), w.contact()
	hold, _ := w.intent(&held)
	w.commit(hold)

	again := held
	a, first := w.intent(&again) // refused: its own number is held by the previous attempt
	a.Reply = &journal.Reply{Idempotency: engine.Idempotency{Key: "k", Route: "trigger", Token: "t", BodyHash: "h"},
		Status: 200, Body: []byte("{}"), At: w.now}
	b, second := w.intent(&free)
	c, third := w.intent(&stale)
	c.Epoch--
	refused := w.try(a, b, c)
	if !errors.Is(refused[0], journal.ErrNumberHeld) || refused[1] != nil ||
		!errors.Is(refused[2], journal.ErrStaleEpoch) {
		t.Fatalf("answers %v", refused)
	}
	w.noAttempt(first.ID)
	w.noAttempt(third.ID)
	w.storedAttempt(second.ID)
	if got := w.stored(held.ID); got.Version != held.Version {
		t.Errorf("version %d of a refused write", got.Version)
	}
	if _, ok, _ := w.store.FindReply(t.Context(), a.Reply.Idempotency); ok {
		t.Error("the reply of a refused write is stored")
	}
	// The refused write holds nothing: its number is free for the new owner.
	c.Epoch++
	w.commit(c)
}

func poison(t *testing.T, w *world) {
	good, bad := w.contact(), w.contact()
	same := w.contact(func(c *contact.Contact) { c.Number = good.Number })
	bad.ID = "not an identifier"
	x := w.write(func(x *journal.Write) { x.Contacts = []contact.Contact{good} })
	y := w.write(func(x *journal.Write) { x.Contacts = []contact.Contact{bad} })
	z := w.write(func(x *journal.Write) { x.Contacts = []contact.Contact{same} })
	refused := w.try(x, y, z)
	if refused[0] != nil || code(refused[1]) != "write_rejected" || code(refused[2]) != "contact_exists" {
		t.Fatalf("answers %v", refused)
	}
	w.stored(good.ID)
}

func wireText(t *testing.T, w *world) {
	c := w.contact(func(c *contact.Contact) {
		c.Variables = map[string]string{"k\x00": "a\x00b\\u0000 \xff", "backslash": `\\u0000`}
	})
	x, a := w.intent(&c)
	a.SIPReason = "Busy\x00 \xc3\x28 here"
	x.Attempts = []attempt.Attempt{a}
	w.commit(x)
	if got := w.storedAttempt(a.ID).SIPReason; got != "Busy \uFFFD( here" {
		t.Errorf("reason %q", got)
	}
	if got := w.stored(c.ID).Variables; got["k"] != "ab\\u0000 \uFFFD" || got["backslash"] != `\\u0000` {
		t.Errorf("variables %q", got)
	}
}
