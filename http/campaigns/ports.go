package campaigns

import (
	"context"
	"time"

	"dialler/engine"
	"dialler/engine/callee"
	"dialler/engine/campaign"
	"dialler/engine/forecast"
	"dialler/engine/journal"
	"dialler/engine/numberpool"
	"dialler/http/telephony"
)

// Campaigns is campaigns and what is stored of them.
type Campaigns interface {
	// Create makes a draft. The settings have passed Settings.Validate.
	Create(ctx context.Context, cmd campaign.Create) (campaign.Detail, error)
	// Detail: NotFound "campaign_not_found" when there is none.
	Detail(ctx context.Context, id engine.CampaignID) (campaign.Detail, error)
	// List gives one page, newest first, and how many there are. Page.Filter is
	// a campaign state or "".
	List(ctx context.Context, page campaign.Page) ([]campaign.Detail, int, error)
	// Act carries out a lifecycle command and gives the campaign after it; for
	// ActionDelete the detail is not used.
	Act(ctx context.Context, cmd campaign.Act) (campaign.Detail, error)
	// Preflight says whether Start or Resume would be accepted and what is ahead.
	Preflight(ctx context.Context, id engine.CampaignID) (campaign.Readiness, error)
	// Runs gives one page of the campaign's runs, newest first, with their
	// counters as they stand, and how many there are.
	Runs(ctx context.Context, id engine.CampaignID, page campaign.Page) ([]campaign.RunRecord, int, error)
	// Clone copies a campaign in any state into a new draft; with a million
	// contacts it takes a while, which ctx bounds.
	Clone(ctx context.Context, cmd campaign.Clone) (campaign.Detail, error)
}

// Charts count what charts are drawn of.
type Charts interface {
	// Series gives how a run went over a time, Breakdown what its dials came to.
	// NotFound "campaign_not_found", "run_not_found"; Unavailable "chart_too_long"
	// when there is too much to be counted.
	Series(ctx context.Context, q campaign.SeriesQuery) (campaign.Series, error)
	Breakdown(ctx context.Context, id engine.CampaignID, run int) (campaign.Breakdown, error)
}

// Bots are the bots that campaigns name.
type Bots interface {
	Bots(ctx context.Context) ([]engine.Bot, error)
}

// Trunks are the trunks and how they stand.
type Trunks interface {
	Trunks(ctx context.Context) ([]engine.TrunkSettings, error)
	TrunkStatuses(ctx context.Context) (map[engine.TrunkID]telephony.TrunkStatus, error)
}

// Numbers are the outbound numbers and how they stand.
type Numbers interface {
	Numbers(ctx context.Context) ([]engine.NumberSettings, error)
	NumberStatuses(ctx context.Context) (map[engine.PhoneNumber]numberpool.Status, error)
}

// Activity reads the history of what somebody did.
type Activity interface {
	// Activity gives one page, newest first, and how much there is: of one
	// campaign, or with "" of what is configured for all. types filters when
	// given.
	Activity(ctx context.Context, id engine.CampaignID, types []journal.Type, page campaign.Page) ([]journal.Event, int,
		error)
}

// Simulations knows how the people on a campaign's list behaved, and how its run stood.
type Simulations interface {
	// People are measured over the campaign's latest attempts that were placed until a
	// time, at most callee.MeasuredMost of them and of any run.
	People(ctx context.Context, id engine.CampaignID, at time.Time) (callee.People, error)
	Standing(ctx context.Context, c *campaign.Campaign, at time.Time) (campaign.Position, error)
	// BackTests are the campaign's by run, the latest first; Trusted the latest ones of
	// all campaigns, by which a forecast is judged.
	BackTests(ctx context.Context, id engine.CampaignID) ([]forecast.RunBackTest, error)
	Trusted(ctx context.Context) ([]forecast.RunBackTest, error)
}
