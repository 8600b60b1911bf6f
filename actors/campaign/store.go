package campaign

import (
	"context"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/besthour"
	"dialler/engine/cadence"
	"dialler/engine/calendar"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/pacing"
)

// Store is what campaigns need from the database. Calls block and run outside
// Receive; their results come back as messages.
type Store interface {
	// Campaign returns a campaign as it is stored.
	Campaign(ctx context.Context, id engine.CampaignID) (campaign.Campaign, error)
	// AcquireCampaign takes ownership: it increments the fencing epoch and returns the campaign's
	// row, or ErrCampaignNotFound.
	AcquireCampaign(ctx context.Context, id engine.CampaignID) (campaign.Campaign, error)
	// Counters counts the campaign's tables by the formulas of engine/tally.
	Counters(ctx context.Context, id engine.CampaignID, run int) (campaign.Counters, error)

	// EventAt returns the event with a given sequence number of a campaign.
	EventAt(ctx context.Context, id engine.CampaignID, seq int64) (e journal.Event, ok bool, err error)

	// Outlook counts a campaign's contacts by whether they will be dialled in the run, and if not,
	// why; and the outcomes of its latest attempts.
	Outlook(ctx context.Context, id engine.CampaignID, run int, now time.Time) (campaign.Outlook, error)
	// WaitingNumbers groups the numbers that Outlook calls waiting by their first digits, with one
	// example and a count per group.
	WaitingNumbers(ctx context.Context, id engine.CampaignID, run int, now time.Time) ([]campaign.NumberGroup, error)

	// AbandonLedger counts, over all runs of the campaign since a given time, its live answers
	// (served and abandoned), the abandoned among them, and the machines. AbandonHours returns the
	// same by the hour (pacing.HourOf).
	AbandonLedger(ctx context.Context, id engine.CampaignID, since time.Time) (pacing.Counts, error)
	AbandonHours(ctx context.Context, id engine.CampaignID, since time.Time) (map[int64]pacing.Counts, error)

	// SavePacing stores what a campaign's pacing has learnt; Pacing reads it back.
	SavePacing(ctx context.Context, id engine.CampaignID, epoch int64, state pacing.State, at time.Time) error
	Pacing(ctx context.Context, id engine.CampaignID) (state pacing.State, ok bool, err error)

	// RunOfContacts returns the run that all of the campaign's contacts are in; 0 if it has no
	// contacts.
	RunOfContacts(ctx context.Context, id engine.CampaignID) (int, error)
	// ResetContacts prepares every contact for a run (with unreached, only those never connected):
	// 0 attempts, pending and due; excluded contacts are skipped. The previous run's states are
	// kept for RestoreContacts, for which that run must be the campaign's again. Both write ev and
	// add the moves to it. RemoveCampaign deletes a campaign that never ran.
	ResetContacts(ctx context.Context, id engine.CampaignID, run int, unreached bool, now time.Time,
		ev journal.Event) error
	RestoreContacts(ctx context.Context, id engine.CampaignID, run int, ev journal.Event) error
	RemoveCampaign(ctx context.Context, id engine.CampaignID, who engine.Who) error

	// AddContacts inserts contacts with ascending positions; duplicates by number
	// and, while exclusions are sticky, excluded contacts are skipped and counted.
	AddContacts(ctx context.Context, add journal.ContactInsert) (campaign.AddReport, error)
	// DueContacts returns up to limit contacts that are due at order.Now, in that order, without
	// those in a live attempt. Held numbers are left out. Suppressed ones are not: their intent is
	// refused, which makes the contact final.
	DueContacts(ctx context.Context, id engine.CampaignID, run int, order contact.Order, limit int,
		except []engine.ContactID) ([]contact.Contact, error)
	// AbandonedSince returns, for each number, when a call to it was last abandoned in any
	// campaign, if that was after the given time.
	AbandonedSince(ctx context.Context, numbers []engine.PhoneNumber,
		since time.Time) (map[engine.PhoneNumber]time.Time, error)
	// NextDue returns the earliest due time of any waiting contact; nil means no contact waits for
	// a dial. Open counts the contacts that are not final and wait for a dial, the end of a live
	// attempt, or a result: exactly up to 10,000, a lower bound beyond.
	NextDue(ctx context.Context, id engine.CampaignID, run int) (next *time.Time, open int, err error)
	// Callable says whether a contact of the run waits for a dial that no suppression forbids, or
	// has a call or a result outstanding.
	Callable(ctx context.Context, id engine.CampaignID, run int, now time.Time) (bool, error)
	// Expired returns up to limit contacts that wait for a dial in the run and have expired, and when
	// the next one expires.
	Expired(ctx context.Context, id engine.CampaignID, run int, now time.Time, limit int) ([]contact.Contact, *time.Time,
		error)
	// Exhausted says whether a contact of the run failed because it used up its attempts.
	Exhausted(ctx context.Context, id engine.CampaignID, run int) (bool, error)
	// Suppressed returns those numbers that are on the suppression list.
	Suppressed(ctx context.Context, numbers ...engine.PhoneNumber) (map[engine.PhoneNumber]journal.Suppression, error)
	// SuppressedContacts returns a page of up to limit contacts, ordered by ID, that wait for a
	// dial in the run and whose number is on the suppression list. It considers only the given
	// numbers, or all if none are given.
	SuppressedContacts(ctx context.Context, id engine.CampaignID, run int, numbers []engine.PhoneNumber,
		after engine.ContactID, limit int) ([]contact.Contact, error)
	// ContactByNumber and ContactByID: ok is false when there is none.
	ContactByNumber(ctx context.Context, id engine.CampaignID, n engine.PhoneNumber) (
		c contact.Contact, ok bool, err error)
	ContactByID(ctx context.Context, id engine.ContactID) (c contact.Contact, ok bool, err error)
	// ContactsByNumber lists the contacts that have a number, the one whose first it is before the others.
	ContactsByNumber(ctx context.Context, id engine.CampaignID, n engine.PhoneNumber) ([]contact.Contact, error)
	// ContactsMatching lists contacts whose variables contain all pairs.
	ContactsMatching(ctx context.Context, id engine.CampaignID, match map[string]string) ([]contact.Contact, error)
	// ExcludedContacts lists the excluded contacts with one of the numbers.
	ExcludedContacts(ctx context.Context, id engine.CampaignID, numbers []engine.PhoneNumber) ([]contact.Contact, error)
	Exclusions(ctx context.Context, id engine.CampaignID) ([]journal.Exclusion, error)
	// FindReply gives the stored reply of a request; ok is false when there is none.
	FindReply(ctx context.Context, id engine.Idempotency) (r journal.Reply, ok bool, err error)
	// ResultsOverdue lists contacts whose result time-out has passed.
	ResultsOverdue(ctx context.Context, id engine.CampaignID, now time.Time, limit int) ([]contact.Contact, error)

	// OpenAttempts lists every attempt that has not ended, with its legs.
	OpenAttempts(ctx context.Context) ([]attempt.Attempt, error)
	Attempt(ctx context.Context, id engine.AttemptID) (a attempt.Attempt, ok bool, err error)
	// OpenLegs lists legs without a final answer of attempts that ended
	// (lost), so that they are watched until their hold ends.
	OpenLegs(ctx context.Context) ([]attempt.Attempt, error)

	ImportStore

	Bots(ctx context.Context) ([]engine.Bot, error)
	Cadences(ctx context.Context) ([]cadence.Named, error)
	Calendars(ctx context.Context) ([]calendar.Named, error)
	// AnswerHours returns what was learned of the hours at which people answer.
	AnswerHours(ctx context.Context) (besthour.Table, error)
	Trunks(ctx context.Context) ([]engine.TrunkSettings, error)
}

// ImportStore stages files of contacts and turns them into contacts. Every import that was begun
// must be closed in the end.
type ImportStore interface {
	// BeginImport fails with Conflict "import_in_progress" while the campaign has another open
	// import, and with journal.ErrImportRequest if an import with the same Idempotency exists that
	// did not fail.
	BeginImport(ctx context.Context, imp campaign.Import) error
	// StageImport adds rows; total and invalid are the file's totals so far.
	StageImport(ctx context.Context, id engine.ImportID, rows []journal.StagedRow, rejected []campaign.RejectedRow,
		total, invalid int) error
	// ActivateImport inserts the staged rows as contacts and calls gate before it commits. The
	// import may be active even if it returns an error.
	ActivateImport(ctx context.Context, a journal.Activation,
		gate func(context.Context) (journal.Gate, error)) (journal.Activated, error)
	// CheckImport reports what activation would do with the staged rows: counts and lists.
	CheckImport(ctx context.Context, c journal.Check) (campaign.Import, error)
	// FailImport leaves an active import unchanged, and waits for a commit in progress.
	FailImport(ctx context.Context, id engine.ImportID, problem campaign.ImportProblem, at time.Time) error
	CloseImport(ctx context.Context, id engine.ImportID) error
	Import(ctx context.Context, id engine.ImportID) (campaign.Import, error)
	// TakeBack takes back a page of an active import, in one transaction with its events; a page that is
	// stored already changes nothing. OpenUndo returns the import whose last page is still to come, "" if
	// there is none.
	TakeBack(ctx context.Context, t journal.TakeBack) (journal.TakenBack, error)
	OpenUndo(ctx context.Context, id engine.CampaignID) (engine.ImportID, error)
	// StagedNumber says whether an open import has a row with the number, as the first or beside it.
	StagedNumber(ctx context.Context, id engine.ImportID, n engine.PhoneNumber) (bool, error)
}
