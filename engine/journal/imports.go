package journal

import (
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
)

// StagedRow is a row of a file that may become a contact.
type StagedRow struct {
	ID   engine.ContactID
	Line int
	campaign.NewContact
	Record string // as in the file, for the list of rejected rows
}

// Activation is the switch of a staged import, which turns its rows into contacts.
type Activation struct {
	Import   engine.ImportID
	Campaign engine.CampaignID
	Run      int
	Source   string
	Max      int
	DueClass contact.DueClass
	At       time.Time
	// Staged is how many rows there must be: if there are fewer, some were lost.
	Staged int
	// Sticky says that every exclusion refuses rows. Without it only exclusions do that came after
	// Since, when the import began: adding a contact again undoes earlier ones.
	Sticky bool
	Since  time.Time
	Layout campaign.FileLayout
}

// Check is a dry run: what Activation would do, without doing it.
type Check struct {
	Import   engine.ImportID
	Campaign engine.CampaignID
	Staged   int
	Sticky   bool
	Since    time.Time
	At       time.Time
	Layout   campaign.FileLayout
}

// Gate is what the campaign's owner adds at the last moment. From then on, until it is told of the
// end, it lets nothing through that the new rows could miss: no exclusion, no end of the run.
type Gate struct {
	Epoch int64
	// Event is journaled in the same transaction, with Count set to the rows added; an import that
	// adds nothing leaves no event.
	Event Event
}

// Activated is the result of an import.
type Activated struct {
	Import campaign.Import
	// Lifted are the exclusions that the import undid.
	Lifted []engine.PhoneNumber
	// Readmit are rows of contacts that are in the campaign, excluded, and to be called again: at
	// most ReadmitCap of the duplicates.
	Readmit []campaign.NewContact
}

// TakeBack is a page of an import that is taken back. The first page begins it; each takes up where the
// one before it ended.
type TakeBack struct {
	Campaign engine.CampaignID
	Epoch    int64
	Run      int
	Import   engine.ImportID
	Who      engine.Who // of the first page
	At       time.Time
	// Seq is the place of the page's contacts.taken_back in the campaign's sequence, and the next one that
	// of the import.undone which the last page writes. A page that is stored already changes nothing.
	Seq int64
	// Except are contacts with an actor: they are about to be dialled, or change otherwise.
	Except []engine.ContactID
	Limit  int // how many contacts are looked at
}

// TakenBack is what a page did.
type TakenBack struct {
	Undo campaign.ImportUndo // so far
	// Event has the moves of the contacts that went, none if nobody did.
	Event Event
}

// Begin is what the first page begins.
func (b *TakeBack) Begin() *campaign.ImportUndo {
	return &campaign.ImportUndo{State: campaign.UndoInProgress, CreatedAt: b.At, CreatedBy: b.Who,
		UndoCounts: campaign.UndoCounts{Reasons: map[contact.Stay]int{}}}
}

// Events are those of the page. Only the last one names its author, as the act that the activity log shows.
func (b *TakeBack) Events(imp *campaign.Import, moves []Move) (list []Event) {
	ev := Event{Campaign: b.Campaign, Seq: b.Seq, Run: b.Run, At: b.At, Type: ContactsTakenBack, Version: 1,
		Data: Data{Import: b.Import, Moves: moves}}
	if len(moves) > 0 {
		list = append(list, ev)
	}
	if u := imp.Undo; u.State == campaign.UndoDone {
		ev.Seq, ev.Type = b.Seq+1, ImportUndone
		ev.Data = Data{Import: b.Import, Who: &u.CreatedBy, Count: u.TakenBack}
		list = append(list, ev)
	}
	return list
}

// Mentions says whether an event shows that something other than its file has named the contact.
func (e *Event) Mentions() bool {
	switch e.Type { //nolint:exhaustive // the others are of calls, or of the campaign's rules
	case ContactTriggered, ContactRetried, ContactCallBackSet, ContactExcluded:
		return true
	}
	return false
}

// Reasons why an import is not taken back.
var (
	ErrImportNotActive = engine.Conflict("import_not_active", "")
	ErrImportOlder     = engine.Conflict("import_of_earlier_run", "")
	ErrImportUnmarked  = engine.Conflict("import_not_traceable", "")
)

// ReadmitCap bounds how many excluded contacts one file makes callable again.
const ReadmitCap = 10_000

// Reasons why an import stops.
var (
	ErrImportGone = engine.Conflict("import_gone", "")
	// ErrImportRequest says that another import, in progress or done, has the same Idempotency-Key.
	ErrImportRequest = engine.TemporaryConflict("idempotency_in_progress",
		"a file was sent, or is being sent, with this Idempotency-Key; repeat the request in a moment", time.Second)
	ErrImportLost = engine.Unavailable("import_lost", "", time.Second)
)
