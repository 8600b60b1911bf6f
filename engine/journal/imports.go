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
}

// Check is a dry run: what Activation would do, without doing it.
type Check struct {
	Import   engine.ImportID
	Campaign engine.CampaignID
	Staged   int
	Sticky   bool
	Since    time.Time
	At       time.Time
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
