package storetest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/persistence"
)

// world is one store with one campaign and helpers to make its rows.
type world struct {
	t     testing.TB
	ctx   context.Context
	store Port
	pg    *persistence.Store // nil on another store
	c     campaign.Campaign
	now   time.Time
	seq   atomic.Int64
}

// at is the tests' current time, to the microsecond that PostgreSQL stores.
func at() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

func newWorld(t testing.TB, store Port) *world {
	t.Helper()
	w := &world{t: t, ctx: t.Context(), store: store, now: at()}
	w.pg, _ = store.(*persistence.Store)
	w.c = w.campaign()
	return w
}

func id() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// attemptID returns an identifier that begins with its time, as those of the engine do.
func attemptID() engine.AttemptID {
	return engine.AttemptID(fmt.Sprintf("%012x", at().UnixMilli()) + id()[12:])
}

// number returns a number that no other test of the schema uses.
func number() engine.PhoneNumber {
	var b [4]byte
	_, _ = rand.Read(b[:])
	return engine.PhoneNumber(fmt.Sprintf("+49151%010d", uint32(b[0])<<24|uint32(b[1])<<16|uint32(b[2])<<8|uint32(b[3])))
}

// campaign stores a running campaign and acquires it.
func (w *world) campaign(change ...func(*campaign.Campaign)) campaign.Campaign {
	w.t.Helper()
	c := campaign.Campaign{
		ID: engine.CampaignID("cmp_" + id()[:10]), State: campaign.Running, Version: 1, Run: 1, EverRun: true,
		Settings:  campaign.Settings{Name: "autumn", Bot: "bot", Concurrency: 10, MaxAttempts: 3},
		CreatedAt: w.now, CreatedBy: engine.Who{User: "u1", Name: "ada@example.org"},
	}
	for _, f := range change {
		f(&c)
	}
	must(w.t, w.store.InsertCampaign(w.ctx, c))
	c, err := w.store.AcquireCampaign(w.ctx, c.ID)
	must(w.t, err)
	return c
}

func (w *world) contact(change ...func(*contact.Contact)) contact.Contact {
	due := w.now
	c := contact.Contact{
		ID: engine.ContactID(id()), Campaign: w.c.ID, Number: number(), Variables: map[string]string{"name": "Ada",
			"plan": "gold"},
		Position: w.seq.Add(1), Source: "api", Run: w.c.Run, State: contact.Pending, Max: 3, DueAt: &due,
		DueClass: contact.DueFirst, DuePass: 1,
		CreatedAt: w.now, UpdatedAt: w.now, Version: 1,
	}
	for _, f := range change {
		f(&c)
	}
	return c
}

func (w *world) attempt(c contact.Contact) attempt.Attempt {
	reserved := w.now
	a := attempt.Attempt{
		ID: attemptID(), Campaign: c.Campaign, Contact: c.ID, Run: c.Run, Pass: 1, Number: c.Used + 1, Bot: "bot",
		To: c.Number, From: "+4930111222", Trunk: "t1", Epoch: w.c.Epoch, SendBy: w.now.Add(10 * time.Second),
		State: attempt.Reserved, ReservedAt: &reserved,
	}
	a.Legs = []attempt.Leg{{ID: a.ID.Leg(1), Trunk: "t1"}}
	return a
}

// event returns the campaign's next event.
func (w *world) event(t journal.Type, c engine.ContactID, a engine.AttemptID) journal.Event {
	return journal.Event{Campaign: w.c.ID, Seq: w.seq.Add(1), Run: w.c.Run, At: w.now, Type: t, Version: 1, Contact: c,
		Attempt: a}
}

// intent is the write that precedes an INVITE; the contact refers to the attempt.
func (w *world) intent(c *contact.Contact) (journal.Write, attempt.Attempt) {
	a := w.attempt(*c)
	before := c.Facts()
	c.Attempt, c.DueAt = a.ID, nil
	c.Version++
	after := c.Facts()
	reserved := w.event(journal.AttemptReserved, c.ID, a.ID)
	reserved.Data = journal.Data{Before: &before, After: &after, Pass: a.Pass}
	return journal.Write{
		Campaign: c.Campaign, Epoch: w.c.Epoch, Intent: &journal.Intent{Attempt: a.ID, Number: c.Number},
		Contacts: []contact.Contact{*c}, Attempts: []attempt.Attempt{a},
		Events: []journal.Event{reserved},
	}, a
}

// ended is the write of an attempt's end.
func (w *world) ended(c *contact.Contact, a attempt.Attempt, o engine.Outcome) (journal.Write, attempt.Attempt) {
	t := w.now.Add(time.Second)
	a.State, a.Outcome, a.EndedAt, a.Consumed = attempt.Ended, o, &t, true
	a.Legs = append([]attempt.Leg(nil), a.Legs...)
	for i := range a.Legs {
		a.Legs[i].EndedAt = &t
		a.Legs[i].Seq++
	}
	c.Attempt, c.LastOutcome = "", o
	c.Used++
	c.Version++
	return journal.Write{
		Campaign: c.Campaign, Epoch: w.c.Epoch, Contacts: []contact.Contact{*c}, Attempts: []attempt.Attempt{a},
		Holds:  []journal.HoldRelease{{Attempt: a.ID, Number: c.Number}},
		Events: []journal.Event{w.event(journal.AttemptEnded, c.ID, a.ID)},
	}, a
}

func (w *world) write(f func(*journal.Write)) journal.Write {
	x := journal.Write{Campaign: w.c.ID, Epoch: w.c.Epoch}
	f(&x)
	return x
}

// commit expects that no write is refused.
func (w *world) commit(group ...journal.Write) {
	w.t.Helper()
	for i, err := range w.try(group...) {
		if err != nil {
			w.t.Fatalf("write %d refused: %v", i, err)
		}
	}
}

// try repeats the group when the database did not answer, as a writer does: the server ends a
// transaction whose client, on a busy machine, pauses for three seconds.
func (w *world) try(group ...journal.Write) []error {
	w.t.Helper()
	refused, err := w.store.Commit(w.ctx, group)
	for range 4 {
		var e *engine.Error
		if !errors.As(err, &e) || e.Kind != engine.KindUnavailable {
			break
		}
		w.t.Logf("given again: %v", err)
		refused, err = w.store.Commit(w.ctx, group)
	}
	must(w.t, err)
	if len(refused) != len(group) {
		w.t.Fatalf("%d answers to %d writes", len(refused), len(group))
	}
	return refused
}

func (w *world) stored(id engine.ContactID) contact.Contact {
	w.t.Helper()
	c, ok, err := w.store.ContactByID(w.ctx, id)
	must(w.t, err)
	if !ok {
		w.t.Fatalf("contact is not stored")
	}
	return c
}

func (w *world) storedAttempt(id engine.AttemptID) attempt.Attempt {
	w.t.Helper()
	a, ok, err := w.store.Attempt(w.ctx, id)
	must(w.t, err)
	if !ok {
		w.t.Fatalf("attempt is not stored")
	}
	return a
}

func (w *world) noAttempt(id engine.AttemptID) {
	w.t.Helper()
	if _, ok, err := w.store.Attempt(w.ctx, id); err != nil || ok {
		w.t.Fatalf("attempt of a refused write is stored (err %v)", err)
	}
}

func (w *world) events() []journal.Event {
	w.t.Helper()
	list, err := w.store.Events(w.ctx, w.c.ID, 0, 10000)
	must(w.t, err)
	return list
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func code(err error) string {
	if err == nil {
		return ""
	}
	return engine.ErrorCode(err)
}
