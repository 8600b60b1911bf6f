package exclusions

import (
	"context"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/journal"
)

// Campaigns is the exclusions of campaigns.
type Campaigns interface {
	// Detail returns NotFound "campaign_not_found" for an unknown campaign.
	Detail(ctx context.Context, id engine.CampaignID) (campaign.Detail, error)
	// Exclude commits the reply with its effects if the command carries an Idempotency; it returns
	// journal.ErrReplyExists if such a reply is already stored. After its Deadline a command is
	// dropped unexecuted (engine.KindUnavailable).
	Exclude(ctx context.Context, cmd campaign.Exclude) (campaign.ExcludeReply, error)
	// ListExclusions returns one page of a campaign's exclusions, newest first, and the total
	// number: all, or the one of a number.
	ListExclusions(ctx context.Context, id engine.CampaignID, n engine.PhoneNumber,
		page campaign.Page) ([]journal.Exclusion, int, error)
	// ExclusionsAfter returns up to limit exclusions of a campaign after a given one, ordered by
	// number and metadata; the zero value comes before all.
	ExclusionsAfter(ctx context.Context, id engine.CampaignID, after journal.Exclusion, limit int) ([]journal.Exclusion,
		error)
	// ExclusionsImported records in the activity log who excluded a file.
	ExclusionsImported(ctx context.Context, cmd campaign.ExclusionsImported) error
	// Lift lifts an exclusion. NotFound "exclusion_not_found"; Conflict "run_over",
	// "exclusion_in_progress".
	Lift(ctx context.Context, cmd campaign.Lift) (campaign.LiftReply, error)
}

// Suppressions is the list of numbers that the installation never calls.
type Suppressions interface {
	// Suppressions returns one page, newest first, and the total number: all, or the one of a
	// number.
	Suppressions(ctx context.Context, n engine.PhoneNumber, page campaign.Page) ([]journal.Suppression, int, error)
	// Suppress returns how many of the numbers were new to the list. Once it returns, no call to
	// them begins; ringing ones are cancelled. Unavailable "suppression_unconfirmed": they are on
	// the list, but not every node confirmed.
	Suppress(ctx context.Context, numbers []engine.PhoneNumber, reason string, who engine.Who) (added int, err error)
	// Unsuppress returns found false if the number is not on the list.
	Unsuppress(ctx context.Context, n engine.PhoneNumber, who engine.Who) (found bool, err error)
}

// Persons are the people whom the dialler calls.
type Persons interface {
	// ErasePerson erases a person from everything that is stored. suppress says whether the number
	// is kept as a hash so that it is not called again; nil means if it was suppressed or excluded.
	// Conflict "person_in_call", "person_in_import", "recording_in_progress".
	ErasePerson(ctx context.Context, n engine.PhoneNumber, suppress *bool, who engine.Who) (engine.ErasedPerson, error)
}
