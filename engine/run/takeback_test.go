package run

import (
	"testing"
	"time"

	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

func undo() *UndoImport {
	return &UndoImport{campaign.UndoImport{Import: "imp"}}
}

// tookBack answers a page: n contacts went.
func (w *world) tookBack(q TakeBack, n int, state campaign.UndoState) {
	w.t.Helper()
	f := contact.Fresh(3)
	out := journal.TakenBack{Undo: campaign.ImportUndo{State: state}}
	if out.Undo.Count(contact.Goes, n); n > 0 {
		out.Event.Data.Moves = []journal.Move{{Before: &f, Count: n}}
	}
	w.do(&TookBack{Page: q.Page, Out: out})
}

func TestAPageLeavesOutWhoHasAnActorAndNobodyIsStartedMeanwhile(t *testing.T) {
	w := dialling(t, 2)
	w.s.Queue.Push(w.row("c8"))
	total := w.s.Tally.C.Total
	r := w.ask(undo())
	eq(w, "look-ahead", w.s.Queue.Len(), 0)
	none[TakeBack](w) // before what contacts wrote is durable
	w.durable()
	q := one[TakeBack](w)
	eq(w, "page", []any{q.Page.Import, q.Page.Except, q.Page.Limit}, []any{"imp", "[c1 c2]", 5000})
	w.forget()
	stop, result := w.ask(act(campaign.ActionStop)), w.ask(result("c9"))
	none[Write](w)
	none[ReadContact](w)
	w.waits(stop)
	w.waits(result)
	w.tookBack(q, 3, campaign.UndoDone)
	eq(w, "reply", granted[campaign.ImportUndo](w, r).TakenBack, 3)
	eq(w, "total", w.s.Tally.C.Total, total-3)
	one[Write](w) // the stop
	eq(w, "left", w.s.TakingBack == nil && w.s.Adding == 0, true)
}

func TestPagesFollowEachOtherAndAnUnknownOutcomeIsAskedAgain(t *testing.T) {
	w := ready(t)
	first := w.ask(undo())
	w.durable()
	q := one[TakeBack](w)
	again := w.ask(undo())
	w.do(&TookBack{Page: q.Page, Err: errDown})
	w.waits(first)
	w.pass(time.Second)
	eq(w, "the same page", one[TakeBack](w).Page.Seq, q.Page.Seq)
	w.tookBack(q, 5000, campaign.UndoInProgress)
	eq(w, "reply", granted[campaign.ImportUndo](w, first).State, campaign.UndoInProgress)
	granted[campaign.ImportUndo](w, again)
	w.refused(w.ask(&UndoImport{campaign.UndoImport{Import: "another"}}), "import_undo_in_progress")
	w.forget()
	w.pass(takeBackPause)
	w.durable()
	next := one[TakeBack](w)
	eq(w, "its place", next.Page.Seq > q.Page.Seq+1, true)
	w.tookBack(q, 5000, campaign.UndoDone) // the same answer again
	eq(w, "still", w.s.TakingBack != nil, true)
	w.tookBack(next, 0, campaign.UndoDone)
	eq(w, "left", w.s.TakingBack == nil, true)
}

func TestWhatIsNotTakenBackIsAnsweredWithTheReason(t *testing.T) {
	w := ready(t)
	r := w.ask(undo())
	w.durable()
	w.do(&TookBack{Page: one[TakeBack](w).Page, Err: journal.ErrImportOlder})
	w.refused(r, "import_of_earlier_run")
	eq(w, "left", w.s.TakingBack == nil && w.s.Sweep == nil, true)
	w = ready(t, in(campaign.Completed))
	w.refused(w.ask(undo()), "run_over")
	w = ready(t, in(campaign.Paused))
	w.ask(undo())
	w.durable()
	one[TakeBack](w)
}

func TestAFileIsNotSwitchedOnWhileAPageIsTakenBack(t *testing.T) {
	w := seated(t)
	w.ask(undo())
	w.durable()
	q := one[TakeBack](w)
	r := w.ask(begins("other"))
	w.pass(drainTimeout)
	w.durable()
	w.waits(r)
	w.tookBack(q, 1, campaign.UndoInProgress)
	w.durable()
	granted[ActivationStart](w, r)
	w.forget()
	w.pass(takeBackPause)
	none[TakeBack](w) // nor the other way round
}

func TestATriggerWhoseContactWentAddsItAnew(t *testing.T) {
	w := seated(t)
	w.ask(triggers("c1"))
	read := one[FindTrigger](w)
	w.ask(undo())
	w.durable()
	q := one[TakeBack](w)
	w.tookBack(q, 1, campaign.UndoDone)
	w.forget()
	w.do(&TriggerFound{Read: read.Read, Request: read.Request, Command: read.Command, Row: w.row("c1"), OK: true})
	w.do(&ContactRead{Contact: one[ReadContact](w).Contact})
	w.pass(0)
	one[FindTrigger](w)
}

func TestWhoOwnsTheCampaignNextCarriesOn(t *testing.T) {
	w := ready(t)
	w.s.TakingBack = &TakingBack{Import: "imp"} // as Loaded brings it
	w.do(&takeBackAgain{})
	w.durable()
	q := one[TakeBack](w)
	eq(w, "import", q.Page.Import, "imp")
	w.tookBack(q, 2, campaign.UndoDone) // nobody waits for an answer
	eq(w, "left", w.s.TakingBack == nil, true)
}
