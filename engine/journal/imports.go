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

// Activation is the switch of a staged import: what its rows become.
type Activation struct {
	Import   engine.ImportID
	Campaign engine.CampaignID
	Run      int
	Source   string
	Max      int
	DueClass contact.DueClass
	At       time.Time
	// Staged is how many rows there must be: with fewer some were lost.
	Staged int
	// Sticky: every exclusion refuses rows. Without it only those do that came
	// since Since, when the import began: adding somebody again undoes the
	// earlier ones.
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

// Gate is what the owner of the campaign adds at the last moment. From then
// on, until it hears of the end, it lets nothing through that the rows could
// miss: no exclusion, no end of the run.
type Gate struct {
	Epoch int64
	// Event is journaled in the same transaction, its Count set to the rows
	// added; an import of which nothing is added leaves no event.
	Event Event
}

// Activated is what became of an import.
type Activated struct {
	Import campaign.Import
	// Lifted are the exclusions that the import undid.
	Lifted []engine.PhoneNumber
	// Readmit are rows of contacts that are in the campaign and excluded, and are
	// to be called again: of the duplicates, at most ReadmitCap.
	Readmit []campaign.NewContact
}

// ReadmitCap bounds how many excluded contacts one file makes callable again.
const ReadmitCap = 10_000

// Why an import does not go on.
var (
	ErrImportGone = engine.Conflict("import_gone", "")
	// ErrImportRequest: an import under way or done has the same Idempotency-Key.
	ErrImportRequest = engine.TemporaryConflict("idempotency_in_progress", "a file was sent, or is being sent, with this Idempotency-Key; repeat the request in a moment", time.Second)
	ErrImportLost    = engine.Unavailable("import_lost", "", time.Second)
)
