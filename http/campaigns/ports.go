package campaigns

import (
	"context"
	"time"

	"dialler/engine"
	"dialler/engine/besthour"
	"dialler/engine/cadence"
	"dialler/engine/calendar"
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
	// Detail returns NotFound "campaign_not_found" for an unknown campaign.
	Detail(ctx context.Context, id engine.CampaignID) (campaign.Detail, error)
	// List returns one page, newest first, and the total number. Page.Filter is a campaign state or
	// "".
	List(ctx context.Context, page campaign.Page) ([]campaign.Detail, int, error)
	// Act carries out a lifecycle command and gives the campaign after it; for
	// ActionDelete the detail is not used.
	Act(ctx context.Context, cmd campaign.Act) (campaign.Detail, error)
	// Preflight says whether Start or Resume would be accepted and what to expect.
	Preflight(ctx context.Context, id engine.CampaignID) (campaign.Readiness, error)
	// Runs returns one page of the campaign's runs, newest first, with their current counters, and
	// the total number.
	Runs(ctx context.Context, id engine.CampaignID, page campaign.Page) ([]campaign.RunRecord, int, error)
	// Clone copies a campaign in any state into a new draft; a million contacts take a while, which
	// ctx bounds.
	Clone(ctx context.Context, cmd campaign.Clone) (campaign.Detail, error)
}

// Charts provides the data of charts.
type Charts interface {
	// Series returns a run's course over a period, Breakdown the outcomes of its dials. NotFound
	// "campaign_not_found", "run_not_found"; Unavailable "chart_too_long" if there is too much to
	// count.
	Series(ctx context.Context, q campaign.SeriesQuery) (campaign.Series, error)
	Breakdown(ctx context.Context, id engine.CampaignID, run int) (campaign.Breakdown, error)
}

// Bots are the bots that campaigns name.
type Bots interface {
	Bots(ctx context.Context) ([]engine.Bot, error)
}

// Cadences are the cadences that campaigns name.
type Cadences interface {
	// Cadences lists them by name.
	Cadences(ctx context.Context) ([]cadence.Named, error)
	// PutCadence creates one with Version 0, or replaces the one of that version. It returns Conflict
	// "version_conflict" with the stored one, "too_many_cadences", or NotFound "cadence_not_found".
	PutCadence(ctx context.Context, c cadence.Named, at time.Time, who engine.Who) (stored cadence.Named, created bool,
		err error)
	// DeleteCadence returns Conflict "cadence_in_use" while a campaign names it.
	DeleteCadence(ctx context.Context, id engine.CadenceID, who engine.Who) error
}

// Calendars are the calendars that campaigns name.
type Calendars interface {
	// Calendars lists them by name, without the texts of their files.
	Calendars(ctx context.Context) ([]calendar.Named, error)
	// PutCalendar creates one with Version 0, or replaces the one of that version, whose file stays with
	// keepFile. It returns Conflict "version_conflict" with the stored one, "too_many_calendars", or
	// NotFound "calendar_not_found".
	PutCalendar(ctx context.Context, c calendar.Named, keepFile bool, at time.Time,
		who engine.Who) (stored calendar.Named, created bool, err error)
	// DeleteCalendar returns Conflict "calendar_in_use" while a campaign names it.
	DeleteCalendar(ctx context.Context, id engine.CalendarID, who engine.Who) error
	// FetchHolidays fetches a file of holidays; Invalid "holidays_unreachable", in words.
	FetchHolidays(ctx context.Context, address string) (text string, err error)
}

// Hours knows at which hours people answer.
type Hours interface {
	AnswerHours(ctx context.Context) (besthour.Table, error)
	// BestHourDials returns the dials of a campaign with the option Best hour, and those of its control.
	BestHourDials(ctx context.Context, id engine.CampaignID) (with, control besthour.Cell, err error)
}

// Trunks are the trunks and their status.
type Trunks interface {
	Trunks(ctx context.Context) ([]engine.TrunkSettings, error)
	TrunkStatuses(ctx context.Context) (map[engine.TrunkID]telephony.TrunkStatus, error)
}

// Numbers are the outbound numbers and their status.
type Numbers interface {
	Numbers(ctx context.Context) ([]engine.NumberSettings, error)
	NumberStatuses(ctx context.Context) (map[engine.PhoneNumber]numberpool.Status, error)
}

// Activity reads the history of users' actions.
type Activity interface {
	// Activity returns one page, newest first, and the total number: of one campaign, or with "" of
	// the installation-wide configuration. types filters if given.
	Activity(ctx context.Context, id engine.CampaignID, types []journal.Type, page campaign.Page) ([]journal.Event, int,
		error)
}

// Simulations knows how the people on a campaign's list behaved, and the state of its run.
type Simulations interface {
	// People returns behaviour measured over the campaign's latest attempts placed until a given
	// time, at most callee.MeasuredMost of them, in any run.
	People(ctx context.Context, id engine.CampaignID, at time.Time) (callee.People, error)
	Standing(ctx context.Context, c *campaign.Campaign, at time.Time) (campaign.Position, error)
	// BackTests returns the campaign's back-tests by run, latest first; Trusted the latest ones of
	// all campaigns, by which a forecast is judged.
	BackTests(ctx context.Context, id engine.CampaignID) ([]forecast.RunBackTest, error)
	Trusted(ctx context.Context) ([]forecast.RunBackTest, error)
}
