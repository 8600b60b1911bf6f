package run

import (
	"fmt"
	"testing"
	"time"

	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

func act(a campaign.Action) *Act { return &Act{campaign.Act{Action: a}} }

// bulkDone answers what the write to all contacts did: it moved n contacts.
func (w *world) bulkDone(n int) {
	w.t.Helper()
	q := one[ReadBulk](w)
	before, after := contact.Fresh(3), contact.Facts{State: contact.ManuallyStopped, Max: 3, Awaits: 1}
	w.do(&BulkRead{Seq: q.Seq, Epoch: q.Epoch, Stored: true, Event: journal.Event{Type: journal.ContactsClosed,
		Run:  w.s.M.C.Run,
		Data: journal.Data{Moves: []journal.Move{{Before: &before, After: &after, Count: n}}}}})
}

func TestAStopClosesWhoWaitsByOneWriteAndTellsWhoIsUp(t *testing.T) {
	w := dialling(t, 2)
	w.do(result("c9"))
	w.s.Queue.Push(w.row("c8"))
	w.forget()
	r := w.ask(act(campaign.ActionStop))
	b := one[Write](w).Write.Bulk
	eq(w, "closed", []any{b.To, b.Limit, b.Except, b.Event.Type, b.At}, []any{contact.ManuallyStopped, 5000,
		"[c1 c2 c9]", journal.ContactsClosed, w.now})
	eq(w, "look-ahead", w.s.Queue.Len(), 0)
	eq(w, "cancelled", len(told[*call.End](w, "c1")), 1)
	eq(w, "ended", told[*call.RunEnded](w, "c1")[0].Kind, contact.RunStopped)
	w.do(&ContactRead{Contact: "c9", Row: w.row("c9"), OK: true})
	eq(w, "ended", told[*call.RunEnded](w, "c9")[0].Kind, contact.RunStopped)
	w.waits(r)
	w.durable()
	w.bulkDone(3)
	d := granted[campaign.Detail](w, r)
	eq(w, "reply", []any{d.Campaign.State, d.Draining, d.Counters.ManuallyStopped}, []any{campaign.Completed, true, 3})
	none[Write](w)
}

func TestContactsAreClosedInBatchesOf5000(t *testing.T) {
	w := ready(t)
	r := w.ask(act(campaign.ActionStop))
	for range 2 {
		eq(w, "limit", one[Write](w).Write.Bulk.Limit, 5000)
		w.durable()
		w.bulkDone(5000)
		w.ask(&Detail{})
	}
	granted[campaign.Detail](w, r) // with the first batch
	eq(w, "draining", granted[campaign.Detail](w, w.ask(&Detail{})).Draining, true)
	one[Write](w)
	w.durable()
	w.bulkDone(4999)
	none[Write](w)
	eq(w, "draining", granted[campaign.Detail](w, w.ask(&Detail{})).Draining, false)
}

func TestWhatAWriteToAllContactsDidIsAskedUntilTheDatabaseAnswers(t *testing.T) {
	w := ready(t)
	r := w.ask(act(campaign.ActionStop))
	w.durable()
	q := one[ReadBulk](w)
	w.do(&BulkRead{Seq: q.Seq, Epoch: q.Epoch, Err: errDown})
	w.pass(999 * time.Millisecond)
	none[ReadBulk](w)
	w.pass(time.Millisecond)
	eq(w, "again", one[ReadBulk](w), q)
	// The event of an earlier instance, or of another write, answers nobody.
	w.do(&BulkRead{Seq: q.Seq, Epoch: q.Epoch - 1, Stored: true})
	w.do(&BulkRead{Seq: q.Seq - 1, Epoch: q.Epoch, Stored: true, Event: journal.Event{Run: 1}})
	w.waits(r)
	// The write was refused: another owner acts.
	w.do(&BulkRead{Seq: q.Seq, Epoch: q.Epoch})
	granted[campaign.Detail](w, r)
}

func TestWhoeverIsWantedDuringTheWriteWaitsForItsEnd(t *testing.T) {
	w := ready(t)
	w.due(w.rows(1), 5)
	w.ask(act(campaign.ActionStop))
	r := w.ask(result("c5"))
	none[ReadContact](w)
	w.durable()
	w.bulkDone(1)
	one[ReadContact](w)
	w.waits(r)
	// An answer for the look-ahead from before the write is dropped.
	w = ready(t)
	w.ask(act(campaign.ActionStop))
	w.due(w.rows(3), 0)
	eq(w, "look-ahead", w.s.Queue.Len(), 0)
}

func TestAnEditOfMaxAttemptsRetunesTheContactsAtRest(t *testing.T) {
	w := ready(t, in(campaign.Paused))
	s := w.s.M.C.Settings
	s.MaxAttempts = 5
	w.forget()
	r := w.ask(&Act{campaign.Act{Action: campaign.ActionEdit, Settings: &s}})
	wr := one[Write](w).Write
	eq(w, "retune", []any{wr.Retune.MaxAttempts, wr.Retune.Limit, wr.Retune.Event.Type, wr.CampaignRow.Version},
		[]any{5, 0, journal.ContactsRetuned, 2})
	w.durable()
	q := one[ReadBulk](w)
	w.do(&BulkRead{Seq: q.Seq, Epoch: q.Epoch, Stored: true, Event: journal.Event{Type: journal.ContactsRetuned, Run: 1,
		Data: journal.Data{Moves: []journal.Move{{Count: 5000}}}}})
	granted[campaign.Detail](w, r)
	none[Write](w) // no second batch is needed
}

func TestTheCandidatesOfARoundAreNotPutBackAfterAWriteToAll(t *testing.T) {
	w := ready(t)
	w.due(w.rows(1), 0)
	w.seats(10)
	w.trunks(1, "")
	w.ask(act(campaign.ActionStop))
	w.numbers(1, "")
	eq(w, "look-ahead", []any{w.s.Queue.Len(), len(w.s.Lines)}, "[0 0]")
}

func TestARestartPreparesTheContactsOnceNobodyIsUp(t *testing.T) {
	for _, late := range []bool{false, true} {
		w := dialling(t, 1)
		w.ask(act(campaign.ActionStop))
		w.durable()
		w.bulkDone(0)
		w.moved("c1", attempt.PhaseOver)
		w.forget()
		r := w.ask(act(campaign.ActionRestart))
		eq(w, "sent to rest", len(told[*call.Rest](w, "c1")), 1)
		w.durable()
		none[Prepare](w)
		if late { // it watches the legs of a lost call and no longer changes
			w.do(&call.Watches{Contact: "c1"})
			w.pass(2*time.Second - 1)
			w.durable()
			none[Prepare](w)
			w.pass(1)
		} else {
			w.rests(w.final("c1"))
		}
		none[Prepare](w)
		w.noWaits()
		none[Prepare](w)
		w.durable()
		p := one[Prepare](w)
		eq(w, "prepare", []any{p.Of, p.Campaign.Run, p.Event.Type, p.Event.Run}, []any{campaign.ResetContacts{}, 2,
			journal.ContactsReset, 2})
		w.waits(r)
		held := w.ask(result("c1")) // would be written to the previous run
		eq(w, "told meanwhile", len(told[*call.StoreResult](w, "c1")), 0)
		w.forget()
		w.do(&Prepared{Of: p.Of, Counters: campaign.Counters{Total: 8}})
		eq(w, "total", granted[campaign.Detail](w, r).Counters.Total, 8)
		if late { // it goes on in the next run
			var order []string
			for _, e := range w.out {
				if e, ok := e.(Tell); ok {
					order = append(order, fmt.Sprintf("%T", e.Command))
				}
			}
			eq(w, "told", order, "[*call.Reload *call.StoreResult]")
			w.waits(held)
		}
		w.pass(5 * time.Second)
		w.durable()
		none[Prepare](w)
	}
}

// noWaits answers a restarted run that no result is awaited.
func (w *world) noWaits() {
	w.t.Helper()
	q := one[ReadOverdue](w)
	eq(w, "whose results are awaited", q.All, true)
	w.do(&OverdueRead{Read: q.Read, All: true})
}

// Rows read before the contacts moved to the next run are not used.
func TestARowOfTheRunBeforeIsReadAgain(t *testing.T) {
	w := ready(t, in(campaign.Completed))
	w.ask(result("c1"))
	w.ask(result("c2"))
	w.ask(act(campaign.ActionRestart))
	w.noWaits()
	w.durable()
	p := one[Prepare](w)
	w.forget()
	w.do(&ContactRead{Contact: "c1", Row: w.final("c1"), OK: true})
	none[Spawn](w)
	w.do(&Prepared{Of: p.Of})
	eq(w, "read again", one[ReadContact](w).Contact, "c1")
	w.do(&ContactRead{Contact: "c2", Row: w.final("c2"), OK: true})
	none[Spawn](w)
	eq(w, "read again", one[ReadContact](w).Contact, "c2")
	for _, id := range []string{"c1", "c2"} {
		row := w.row(id)
		row.Run = 2
		w.do(&ContactRead{Contact: row.ID, Row: row, OK: true})
		eq(w, "run", one[Spawn](w).Row.Run, 2)
	}
}

// A contact that stopped after its row was read no longer waits: it is not told twice.
func TestAWaitIsNotEndedByAnOutdatedRow(t *testing.T) {
	w := ready(t, in(campaign.Completed))
	w.ask(act(campaign.ActionRestart))
	q := one[ReadOverdue](w)
	w.do(&OverdueRead{Read: q.Read, All: true, Rows: []contact.Contact{w.row("c1")}})
	w.do(&call.Up{Contact: "c1"})
	w.pass(2*time.Second - 1)
	none[ReadOverdue](w)
	w.pass(1) // it is not idle
	eq(w, "asked again", len(told[*call.Rest](w, "c1")), 1)
	w.do(&call.Watches{Contact: "c1"})
	w.do(&call.Watches{Contact: "nobody"})
	w.pass(restPatience)
	q = one[ReadOverdue](w)
	w.rests(w.final("c1"))
	w.forget()
	w.do(&OverdueRead{Read: q.Read, All: true, Rows: []contact.Contact{w.row("c1")}})
	none[Spawn](w)
	w.pass(restPatience)
	w.noWaits()
	w.durable()
	one[Prepare](w)
}

// A contact whose write the database has not accepted yet would move itself back into the run before.
func TestTheContactsMoveOnceNoneHasAnythingLeftToWrite(t *testing.T) {
	w := ready(t, in(campaign.Completed))
	w.ask(act(campaign.ActionRestart))
	q := one[ReadOverdue](w)
	w.do(&OverdueRead{Read: q.Read, All: true, Rows: []contact.Contact{w.row("c1"), w.row("c2")}})
	w.do(&call.Up{Contact: "c1"})
	w.do(&call.Up{Contact: "c2"})
	for range 5 {
		w.do(&call.Watches{Contact: "c2"})
		w.forget()
		w.pass(restPatience)
		none[ReadOverdue](w)
		none[Prepare](w)
		eq(w, "asked", []int{len(told[*call.Rest](w, "c1")), len(told[*call.Rest](w, "c2"))}, []int{1, 0})
	}
	w.rests(w.final("c1"))
	w.forget()
	w.pass(restPatience)
	one[ReadOverdue](w)
}

func TestARestartEndsTheWaitsForResultsFirst(t *testing.T) {
	w := ready(t, in(campaign.Completed))
	r := w.ask(act(campaign.ActionRestart))
	q := one[ReadOverdue](w)
	w.do(&OverdueRead{Read: q.Read, All: true, Rows: []contact.Contact{w.row("c1")}})
	s := one[Spawn](w)
	eq(w, "its first message", *s.First[0].(*call.ResultTimeout), call.ResultTimeout{Restarted: true})
	w.durable()
	none[Prepare](w)
	w.rests(w.final("c1"))
	q = one[ReadOverdue](w)
	w.do(&OverdueRead{Read: q.Read, All: true, Err: errDown})
	none[Prepare](w)
	w.pass(2 * time.Second)
	w.noWaits()
	w.durable()
	p := one[Prepare](w)
	w.do(&Prepared{Of: p.Of})
	granted[campaign.Detail](w, r)
}

func TestWhatTheDatabaseDidNotPrepareIsTriedAgainAfterASecond(t *testing.T) {
	w := ready(t, in(campaign.Completed))
	r := w.ask(act(campaign.ActionRestart))
	w.noWaits()
	w.durable()
	p := one[Prepare](w)
	held := w.ask(result("c1"))
	none[ReadContact](w)
	w.do(&Prepared{Of: p.Of, Err: errDown})
	w.refused(r, "database_unavailable")
	one[ReadContact](w)
	w.waits(held)
}

func TestARunIsAskedForNothingWhileItsContactsAreOwed(t *testing.T) {
	w := ready(t, in(campaign.Completed))
	w.ask(act(campaign.ActionRestart))
	w.noWaits()
	w.durable()
	p := one[Prepare](w)
	w.refused(w.ask(act(campaign.ActionCancelRestart)), "contacts_being_prepared")
	w.refused(w.ask(&Lift{Command: campaign.Lift{Number: phone("c1")}}), "contacts_being_prepared")
	w.refused(w.ask(&MayImport{}), "contacts_locked")
	w.do(&Prepared{Of: p.Of, Err: errDown})
	w.pass(999 * time.Millisecond)
	w.durable()
	none[Prepare](w)
	w.pass(time.Millisecond)
	w.noWaits()
	w.durable()
	one[Prepare](w)
	w.do(&Prepared{Of: p.Of})
	w.ask(act(campaign.ActionCancelRestart))
	w.durable()
	eq(w, "restored", one[Prepare](w).Event.Type, journal.ContactsRestored)
}

func TestACancelledRestartShowsTheLedgerOfTheRunBefore(t *testing.T) {
	w := ready(t, in(campaign.Completed))
	w.s.Pace.Books.Served()
	w.ask(act(campaign.ActionRestart))
	eq(w, "the next run begins with an empty ledger", w.s.Pace.Books.Run.Live, 0)
	eq(w, "and goes on with the day's", w.s.Pace.Books.Day.Live, 1)
	w.noWaits()
	w.durable()
	w.do(&Prepared{Of: one[Prepare](w).Of})
	r := w.ask(act(campaign.ActionCancelRestart))
	w.durable()
	m := &Prepared{Of: one[Prepare](w).Of}
	m.Ledgers.Books.Run.Live, m.Ledgers.Books.Day.Live = 1, 99
	w.do(m)
	eq(w, "state", granted[campaign.Detail](w, r).Campaign.State, campaign.Completed)
	eq(w, "ledgers", []any{w.s.Pace.Books.Run.Live, w.s.Pace.Books.Day.Live}, "[1 1]")
}

func TestAResultThatIsOwedInARestoredRunIsStillLookedFor(t *testing.T) {
	w := ready(t, in(campaign.Completed))
	w.ask(act(campaign.ActionRestart))
	w.noWaits()
	w.durable()
	w.do(&Prepared{Of: one[Prepare](w).Of})
	w.pass(time.Minute) // a draft has no ticks
	w.ask(act(campaign.ActionCancelRestart))
	w.durable()
	owed := campaign.Counters{Total: 1, States: map[contact.State]int{contact.Connected: 1}}
	w.do(&Prepared{Of: one[Prepare](w).Of, Counters: owed})
	w.pass(time.Second)
	one[ReadOverdue](w)
}

func TestARunBeginsWithAnEmptyLedgerAtItsStart(t *testing.T) {
	w := ready(t, in(campaign.Draft))
	w.s.Pace.Books.Abandoned()
	w.goTo(t0.Add(24 * time.Hour)) // a draft has no ticks
	w.start()
	eq(w, "run", []any{w.s.Pace.Books.Run.Live, w.s.Pace.Books.Run.Since}, []any{0, w.now})
	eq(w, "day", []any{w.s.Pace.Books.Day.Live, w.s.Pace.Books.Thirty.Live}, "[0 1]")
}

func TestADraftThatNeverRanIsDeletedWithItsContacts(t *testing.T) {
	w := ready(t, in(campaign.Draft))
	r := w.ask(act(campaign.ActionDelete))
	held := w.ask(result("c1"))
	w.durable()
	p := one[Prepare](w)
	w.do(&Prepared{Of: p.Of, Err: errDown})
	w.refused(r, "database_unavailable")
	w.pass(time.Minute)
	w.durable()
	none[Prepare](w) // a deletion is not retried
	w.refused(held, "contact_not_found")
	r = w.ask(act(campaign.ActionDelete))
	w.durable()
	w.do(&Prepared{Of: one[Prepare](w).Of})
	eq(w, "deleted", granted[campaign.Detail](w, r).Campaign.ID, "cmp")
	one[Leave](w)
	w.refused(w.ask(&Detail{}), "campaign_not_found")
	w.refused(w.ask(result("c1")), "campaign_not_found")
}
