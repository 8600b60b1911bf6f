package campaign

import (
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/contact"
)

// ImportState of a file of contacts.
type ImportState string

// An import is staged row by row during the upload, and activated by one switch: before it none of
// its rows is in the campaign, after it all are.
const (
	ImportStaging    ImportState = "staging"
	ImportActivating ImportState = "activating"
	ImportActive     ImportState = "active"
	ImportFailed     ImportState = "failed"
	// ImportChecked is the end of a dry run.
	ImportChecked ImportState = "checked"
)

// Import is one import of contacts and the results of its rows, or for a dry run the results that
// they would have. Once it is active or checked, Rows = Added + Invalid + Duplicate + Excluded; of
// a failed import no row is in the campaign.
type Import struct {
	ID        engine.ImportID   `json:"import_id"`
	Campaign  engine.CampaignID `json:"campaign_id"`
	State     ImportState       `json:"state"`
	Filename  string            `json:"filename"`
	Rows      int               `json:"rows"`
	Added     int               `json:"added"`
	Invalid   int               `json:"invalid"`
	Duplicate int               `json:"duplicate"` // in the file, or in the campaign already
	Excluded  int               `json:"excluded"`  // suppressed ones among them
	// Readmitted counts the duplicates that were excluded and can be called again: Sticky Exclusion is off.
	Readmitted int            `json:"readmitted"`
	CreatedAt  time.Time      `json:"created_at"`
	CreatedBy  engine.Who     `json:"created_by"`
	FinishedAt *time.Time     `json:"finished_at"`
	Problem    *ImportProblem `json:"problem,omitempty"` // of a failed import
	DryRun     bool           `json:"dry_run"`
	// Country is that of numbers without a country code (ISO 3166), "" for none.
	Country string `json:"default_country,omitempty"`
	FileLayout
	// Undo says how far the import has been taken back, nil if nobody asked for that.
	Undo *ImportUndo `json:"undo,omitempty"`

	// Idempotency belongs to the request, BodyHash to its parameters.
	Idempotency engine.Idempotency `json:"-"`
}

// FileLayout is how a file was read; it is known once the whole of it was.
type FileLayout struct {
	Encoding  string `json:"encoding,omitempty"`  // one of contactlist.Encodings
	Delimiter string `json:"delimiter,omitempty"` // one of contactlist.Delimiters
	Header    string `json:"-"`                   // the first line, which names the columns
}

// Open says whether the import is still in progress.
func (i *Import) Open() bool { return i.State == ImportStaging || i.State == ImportActivating }

// UndoCounts says how many of the contacts that a file added go when it is taken back, and how many stay.
type UndoCounts struct {
	TakenBack int                  `json:"taken_back"`
	Stayed    int                  `json:"stayed"`
	Reasons   map[contact.Stay]int `json:"reasons"` // of those that stay; reasons of nobody are left out
}

// Count counts n contacts; contact.Goes says that they go.
func (c *UndoCounts) Count(as contact.Stay, n int) {
	if as == contact.Goes {
		c.TakenBack += n
		return
	}
	if c.Reasons == nil {
		c.Reasons = map[contact.Stay]int{}
	}
	c.Stayed += n
	c.Reasons[as] += n
}

// ImportUndo is an import being taken back: its contacts go page by page, in the order of the file.
type ImportUndo struct {
	State UndoState `json:"state"`
	UndoCounts
	CreatedAt  time.Time  `json:"created_at"`
	CreatedBy  engine.Who `json:"created_by"`
	FinishedAt *time.Time `json:"finished_at"`
}

// UndoState of an import that is taken back.
type UndoState string

// Once begun it is carried on until every contact of the file was looked at, after a restart too.
const (
	UndoInProgress UndoState = "in_progress"
	UndoDone       UndoState = "done"
)

// UndoImport takes back the contacts of a file that were never dialled and that nothing else has named.
type UndoImport struct {
	Campaign engine.CampaignID
	Import   engine.ImportID
	Who      engine.Who
	Deadline time.Time
}

// ImportProblem says why an import failed.
type ImportProblem struct {
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

// RejectedRow is a row that did not become a contact.
type RejectedRow struct {
	Line    int    `json:"line"`         // where it begins; the first line of the file is 1
	Number  string `json:"phone_number"` // as in the file, shortened
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Record is the row as in the file; "" if the import is older than that is kept, or if the person was erased.
	Record string `json:"-"`
}

// Reasons of rejected rows in addition to those of package contactlist.
const (
	RejectedDuplicate  = "duplicate"
	RejectedExcluded   = "excluded"
	RejectedSuppressed = "suppressed"
)

// RejectedCap is how many rejected rows of an import are listed; all of them are counted.
const RejectedCap = 100_000

// ImportContacts imports a file of contacts into a draft that never ran or a running campaign.
type ImportContacts struct {
	Campaign engine.CampaignID
	Filename string
	Who      engine.Who
	// Wait delays the answer until the end of the activation; without it the answer comes once the
	// file is staged.
	Wait bool
	// DryRun validates and lists the rows as usual, but adds none.
	DryRun bool
	// Mapping renames columns: the file's name to that of a variable, to
	// contactlist.PhoneColumn, or to "" to leave the column out.
	Mapping map[string]string
	// Country is that of numbers without a country code (ISO 3166), "" for none.
	Country string
	// Encoding and Delimiter are as in contactlist.Format; "" has them found.
	Encoding    string
	Delimiter   string
	Idempotency engine.Idempotency
}

// CancelledImport is the problem of an import that somebody cancelled.
var CancelledImport = ImportProblem{Code: "cancelled", Detail: "The import was cancelled; nothing was added."}

// AttemptsQuery asks for a part of the Attempt Report, sorted by the time of the reservation, then
// by identifier.
type AttemptsQuery struct {
	Campaign engine.CampaignID
	Run      int       // 0 = all runs
	Until    time.Time // attempts reserved later are left out
	// After is the last attempt of the previous part, zero for the first part. If its time is not
	// known, only the identifier is set.
	After struct {
		ReservedAt time.Time
		ID         engine.AttemptID
	}
	Limit int
}

// ReportedAttempt is an attempt with the variables of its contact, without its
// legs.
type ReportedAttempt struct {
	attempt.Attempt
	ContactVariables map[string]string
}
