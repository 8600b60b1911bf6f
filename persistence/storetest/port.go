package storetest

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

// Port is the store as the tree knows it (actors.Store without configuration), plus what a test
// needs to set the scene. Any replacement for PostgreSQL must satisfy RunPort; otherwise tests of
// the tree prove nothing.
type Port interface {
	Commit(ctx context.Context, group []journal.Write) (refused []error, err error)
	AcquireCampaign(ctx context.Context, id engine.CampaignID) (campaign.Campaign, error)
	ActiveCampaigns(ctx context.Context) ([]engine.CampaignID, error)
	Counters(ctx context.Context, id engine.CampaignID, run int) (campaign.Counters, error)
	EventAt(ctx context.Context, id engine.CampaignID, seq int64) (e journal.Event, ok bool, err error)
	Outlook(ctx context.Context, id engine.CampaignID, run int, now time.Time) (campaign.Outlook, error)
	WaitingNumbers(ctx context.Context, id engine.CampaignID, run int, now time.Time) ([]campaign.NumberGroup, error)
	AbandonLedger(ctx context.Context, id engine.CampaignID, since time.Time) (pacing.Counts, error)
	AbandonHours(ctx context.Context, id engine.CampaignID, since time.Time) (map[int64]pacing.Counts, error)
	SavePacing(ctx context.Context, id engine.CampaignID, epoch int64, state pacing.State, at time.Time) error
	Pacing(ctx context.Context, id engine.CampaignID) (state pacing.State, ok bool, err error)
	RunOfContacts(ctx context.Context, id engine.CampaignID) (int, error)
	ResetContacts(ctx context.Context, id engine.CampaignID, run int, unreached bool, now time.Time,
		ev journal.Event) error
	RestoreContacts(ctx context.Context, id engine.CampaignID, run int, ev journal.Event) error
	RemoveCampaign(ctx context.Context, id engine.CampaignID, who engine.Who) error
	AddContacts(ctx context.Context, add journal.ContactInsert) (campaign.AddReport, error)
	DueContacts(ctx context.Context, id engine.CampaignID, run int, order contact.Order, limit int,
		except []engine.ContactID) ([]contact.Contact, error)
	AbandonedSince(ctx context.Context, numbers []engine.PhoneNumber, since time.Time) (map[engine.PhoneNumber]time.Time,
		error)
	NextDue(ctx context.Context, id engine.CampaignID, run int) (next *time.Time, open int, err error)
	Expired(ctx context.Context, id engine.CampaignID, run int, now time.Time, limit int) ([]contact.Contact, *time.Time,
		error)
	Callable(ctx context.Context, id engine.CampaignID, run int, now time.Time) (bool, error)
	Exhausted(ctx context.Context, id engine.CampaignID, run int) (bool, error)
	Suppressed(ctx context.Context, numbers ...engine.PhoneNumber) (map[engine.PhoneNumber]journal.Suppression, error)
	SuppressedContacts(ctx context.Context, id engine.CampaignID, run int, numbers []engine.PhoneNumber,
		after engine.ContactID, limit int) ([]contact.Contact, error)
	ContactByNumber(ctx context.Context, id engine.CampaignID, n engine.PhoneNumber) (c contact.Contact, ok bool,
		err error)
	ContactByID(ctx context.Context, id engine.ContactID) (c contact.Contact, ok bool, err error)
	KeptContact(ctx context.Context, id engine.ContactID, run int) (c contact.Contact, ok bool, err error)
	ContactsByNumber(ctx context.Context, id engine.CampaignID, n engine.PhoneNumber) ([]contact.Contact, error)
	ContactsMatching(ctx context.Context, id engine.CampaignID, match map[string]string) ([]contact.Contact, error)
	ExcludedContacts(ctx context.Context, id engine.CampaignID, numbers []engine.PhoneNumber) ([]contact.Contact, error)
	Exclusions(ctx context.Context, id engine.CampaignID) ([]journal.Exclusion, error)
	FindReply(ctx context.Context, id engine.Idempotency) (r journal.Reply, ok bool, err error)
	ResultsOverdue(ctx context.Context, id engine.CampaignID, now time.Time, limit int) ([]contact.Contact, error)
	OpenAttempts(ctx context.Context) ([]attempt.Attempt, error)
	OpenLegs(ctx context.Context) ([]attempt.Attempt, error)
	Maintain(ctx context.Context, now time.Time) error
	Attempt(ctx context.Context, id engine.AttemptID) (a attempt.Attempt, ok bool, err error)

	DueDialouts(ctx context.Context, now time.Time, claim time.Duration, limit int,
		except []engine.BotID) ([]campaign.ScheduledDialout, *time.Time, error)
	PutOffDialout(ctx context.Context, id engine.AttemptID, until time.Time, reason string) error
	ScheduledDialout(ctx context.Context, id engine.AttemptID) (d campaign.ScheduledDialout, ok bool, err error)
	DialoutsTo(ctx context.Context, n engine.PhoneNumber) ([]engine.AttemptID, error)

	BeginImport(ctx context.Context, imp campaign.Import) error
	StageImport(ctx context.Context, id engine.ImportID, rows []journal.StagedRow, rejected []campaign.RejectedRow, total,
		invalid int) error
	ActivateImport(ctx context.Context, a journal.Activation,
		gate func(context.Context) (journal.Gate, error)) (journal.Activated, error)
	CheckImport(ctx context.Context, c journal.Check) (campaign.Import, error)
	FailImport(ctx context.Context, id engine.ImportID, problem campaign.ImportProblem, at time.Time) error
	CloseImport(ctx context.Context, id engine.ImportID) error
	Import(ctx context.Context, id engine.ImportID) (campaign.Import, error)
	TakeBack(ctx context.Context, t journal.TakeBack) (journal.TakenBack, error)
	OpenUndo(ctx context.Context, id engine.CampaignID) (engine.ImportID, error)
	UndoPreview(ctx context.Context, id engine.CampaignID, of engine.ImportID) (campaign.UndoCounts, error)
	StagedNumber(ctx context.Context, id engine.ImportID, n engine.PhoneNumber) (bool, error)

	InsertCampaign(ctx context.Context, c campaign.Campaign, events ...journal.Event) error
	Campaign(ctx context.Context, id engine.CampaignID) (campaign.Campaign, error)
	Contacts(ctx context.Context, id engine.CampaignID, page campaign.Page) (campaign.ContactList, error)
	// Events returns the campaign's events after a position in its sequence.
	Events(ctx context.Context, id engine.CampaignID, after int64, limit int) ([]journal.Event, error)
}
