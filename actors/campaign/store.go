package campaign

import (
	"context"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/pacing"
)

// Store is what campaigns need from the database. Calls block and run outside
// Receive; their results come back as messages.
type Store interface {
	// AcquireCampaign takes ownership: it increments the fencing epoch and
	// gives the campaign's row. ErrCampaignNotFound when there is none.
	AcquireCampaign(ctx context.Context, id engine.CampaignID) (campaign.Campaign, error)
	// Counters counts the campaign's tables by the formulas of engine/tally.
	Counters(ctx context.Context, id engine.CampaignID, run int) (campaign.Counters, error)

	// EventAt gives the event at a place of a campaign's sequence.
	EventAt(ctx context.Context, id engine.CampaignID, seq int64) (e journal.Event, ok bool, err error)

	// Outlook counts the contacts of a campaign by whether and why not they are
	// dialled in the run, and what its latest attempts came to.
	Outlook(ctx context.Context, id engine.CampaignID, run int) (campaign.Outlook, error)
	// WaitingNumbers groups the numbers that Outlook calls waiting by their first
	// digits: one of each group, and how many it has.
	WaitingNumbers(ctx context.Context, id engine.CampaignID, run int) ([]campaign.NumberGroup, error)

	// AbandonLedger counts the campaign's live answers (served and abandoned),
	// the abandoned among them, and the machines since a time, in all its runs.
	// AbandonHours gives the same by the hour (pacing.HourOf).
	AbandonLedger(ctx context.Context, id engine.CampaignID, since time.Time) (pacing.Counts, error)
	AbandonHours(ctx context.Context, id engine.CampaignID, since time.Time) (map[int64]pacing.Counts, error)

	// SavePacing keeps what the pacing of a campaign has learnt, and Pacing
	// gives it back.
	SavePacing(ctx context.Context, id engine.CampaignID, epoch int64, state pacing.State, at time.Time) error
	Pacing(ctx context.Context, id engine.CampaignID) (state pacing.State, ok bool, err error)

	// RunOfContacts is the run that the campaign's contacts are in, all of them;
	// 0 when there are none.
	RunOfContacts(ctx context.Context, id engine.CampaignID) (int, error)
	// ResetContacts prepares every contact for a run (with unreached only those
	// that were never connected): 0 attempts, pending and
	// due, the excluded left out. The previous run's states are kept for
	// RestoreContacts, whose run must be the campaign's again. Both write ev, to
	// which they add the moves. RemoveCampaign deletes a campaign that never ran.
	ResetContacts(ctx context.Context, id engine.CampaignID, run int, unreached bool, now time.Time,
		ev journal.Event) error
	RestoreContacts(ctx context.Context, id engine.CampaignID, run int, ev journal.Event) error
	RemoveCampaign(ctx context.Context, id engine.CampaignID, who engine.Who) error

	// AddContacts inserts contacts with ascending positions; duplicates by number
	// and, while exclusions are sticky, excluded contacts are skipped and counted.
	AddContacts(ctx context.Context, add journal.ContactInsert) (campaign.AddReport, error)
	// DueContacts gives up to limit contacts that are due at order.Now, in that
	// order, live attempts excepted. Held numbers are left out; a suppressed one is
	// not: its intent is refused, which makes the contact final.
	DueContacts(ctx context.Context, id engine.CampaignID, run int, order contact.Order, limit int,
		except []engine.ContactID) ([]contact.Contact, error)
	// AbandonedSince says of each number when a call to it was last abandoned, in
	// any campaign, if that is since the given time.
	AbandonedSince(ctx context.Context, numbers []engine.PhoneNumber,
		since time.Time) (map[engine.PhoneNumber]time.Time, error)
	// NextDue is the earliest due time of any waiting contact, nil when no
	// contact waits for a dial. Open counts the contacts that are not final and
	// wait for a dial, for the end of a live attempt, or for a result: exactly up
	// to 10,000, and at least that beyond.
	NextDue(ctx context.Context, id engine.CampaignID, run int) (next *time.Time, open int, err error)
	// Callable says whether a contact of the run waits for a dial that no suppression
	// forbids, or has a call or a result under way.
	Callable(ctx context.Context, id engine.CampaignID, run int) (bool, error)
	// Exhausted says whether a contact of the run failed because it had used up
	// its attempts.
	Exhausted(ctx context.Context, id engine.CampaignID, run int) (bool, error)
	// Suppressed gives those of the numbers that are on the suppression list.
	Suppressed(ctx context.Context, numbers ...engine.PhoneNumber) (map[engine.PhoneNumber]journal.Suppression, error)
	// SuppressedContacts gives, by their identifiers, up to limit contacts behind one
	// that wait for a dial in the run and whose number is on the suppression list: of
	// these numbers, or of all when there are none.
	SuppressedContacts(ctx context.Context, id engine.CampaignID, run int, numbers []engine.PhoneNumber,
		after engine.ContactID, limit int) ([]contact.Contact, error)
	// ContactByNumber and ContactByID: ok is false when there is none.
	ContactByNumber(ctx context.Context, id engine.CampaignID, n engine.PhoneNumber) (
		c contact.Contact, ok bool, err error)
	ContactByID(ctx context.Context, id engine.ContactID) (c contact.Contact, ok bool, err error)
	// ContactsMatching lists contacts whose variables contain all pairs.
	ContactsMatching(ctx context.Context, id engine.CampaignID, match map[string]string) ([]contact.Contact, error)
	// ExcludedContacts lists the contacts with one of the numbers that are
	// excluded.
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
	Trunks(ctx context.Context) ([]engine.TrunkSettings, error)
}

// ImportStore stages files of contacts and makes contacts of them. An import that
// was begun is closed in the end.
type ImportStore interface {
	// BeginImport: Conflict "import_in_progress" while the campaign has another
	// open one; journal.ErrImportRequest when one that did not fail has the same
	// Idempotency.
	BeginImport(ctx context.Context, imp campaign.Import) error
	// StageImport adds rows; total and invalid are the file's figures so far.
	StageImport(ctx context.Context, id engine.ImportID, rows []journal.StagedRow, rejected []campaign.RejectedRow,
		total, invalid int) error
	// ActivateImport inserts the staged rows as contacts and calls gate before
	// it commits. After an error it may be active all the same.
	ActivateImport(ctx context.Context, a journal.Activation,
		gate func(context.Context) (journal.Gate, error)) (journal.Activated, error)
	// CheckImport counts and lists what would become of the staged rows.
	CheckImport(ctx context.Context, c journal.Check) (campaign.Import, error)
	// FailImport leaves an import that is active as it is, and waits for a
	// commit of it that is under way.
	FailImport(ctx context.Context, id engine.ImportID, problem campaign.ImportProblem, at time.Time) error
	CloseImport(ctx context.Context, id engine.ImportID) error
	Import(ctx context.Context, id engine.ImportID) (campaign.Import, error)
	// StagedNumber says whether an open import has a row with the number.
	StagedNumber(ctx context.Context, id engine.ImportID, n engine.PhoneNumber) (bool, error)
}
