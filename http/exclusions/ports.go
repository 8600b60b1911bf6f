package exclusions

import (
	"context"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/journal"
)

// Campaigns is the exclusions of campaigns.
type Campaigns interface {
	// Detail: NotFound "campaign_not_found" when there is none.
	Detail(ctx context.Context, id engine.CampaignID) (campaign.Detail, error)
	// Exclude commits the reply with what it did when the command
	// carries an Idempotency; journal.ErrReplyExists when such a reply is
	// already stored. Past its Deadline a command is dropped unexecuted
	// (engine.KindUnavailable).
	Exclude(ctx context.Context, cmd campaign.Exclude) (campaign.ExcludeReply, error)
	// ListExclusions gives one page of a campaign's exclusions, newest first, and
	// how many there are: all, or the one of a number.
	ListExclusions(ctx context.Context, id engine.CampaignID, n engine.PhoneNumber,
		page campaign.Page) ([]journal.Exclusion, int, error)
	// ExclusionsAfter gives up to limit exclusions of a campaign behind one, ordered
	// by number and metadata; the zero value comes before all.
	ExclusionsAfter(ctx context.Context, id engine.CampaignID, after journal.Exclusion, limit int) ([]journal.Exclusion,
		error)
	// ExclusionsImported tells the activity log who had a file excluded.
	ExclusionsImported(ctx context.Context, cmd campaign.ExclusionsImported) error
	// Lift takes an exclusion back. NotFound "exclusion_not_found"; Conflict
	// "run_over", "exclusion_in_progress".
	Lift(ctx context.Context, cmd campaign.Lift) (campaign.LiftReply, error)
}

// Suppressions is the list of numbers that the installation leaves alone.
type Suppressions interface {
	// Suppressions gives one page, newest first, and how many there are: all, or
	// the one of a number.
	Suppressions(ctx context.Context, n engine.PhoneNumber, page campaign.Page) ([]journal.Suppression, int, error)
	// Suppress says how many of the numbers were not on the list. From its return
	// on no call to them is begun; ringing ones are cancelled. Unavailable
	// "suppression_unconfirmed": they are on the list, but not everybody confirmed.
	Suppress(ctx context.Context, numbers []engine.PhoneNumber, reason string, who engine.Who) (added int, err error)
	// Unsuppress: found is false when the number is not on the list.
	Unsuppress(ctx context.Context, n engine.PhoneNumber, who engine.Who) (found bool, err error)
}

// Persons are those whom the dialler calls.
type Persons interface {
	// ErasePerson takes a person out of everything that is stored. suppress says
	// whether the number is kept as a hash so that it is not called again; nil: if
	// it was suppressed or excluded. Conflict "person_in_call",
	// "person_in_import", "recording_in_progress".
	ErasePerson(ctx context.Context, n engine.PhoneNumber, suppress *bool, who engine.Who) (engine.ErasedPerson, error)
}
