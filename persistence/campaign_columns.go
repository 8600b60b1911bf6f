package persistence

import (
	"time"

	"dialler/engine"
	"dialler/engine/campaign"

	"dialler/persistence/column"

	"github.com/jackc/pgx/v5"
)

type campaignRow = campaign.Campaign

// campaignColumns is the one mapping of a campaign. The epoch is never written
// with the row: only taking ownership moves it.
var campaignColumns = []column.Of[campaignRow]{
	column.Text("id", func(c *campaignRow) *string { return (*string)(&c.ID) }),
	column.Derived("name", column.TypeText, func(w *column.Array, c *campaignRow) { w.Text(c.Settings.Name) }),
	column.Derived("bot_id", column.TypeText, func(w *column.Array, c *campaignRow) { w.Text(string(c.Settings.Bot)) }),
	column.Object("settings", func(c *campaignRow) *campaign.Settings { return &c.Settings }, column.Always),
	column.Text("state", func(c *campaignRow) *campaign.State { return &c.State }),
	column.Bigint("version", func(c *campaignRow) *int64 { return &c.Version }),
	column.Integer("run", func(c *campaignRow) *int { return &c.Run }),
	column.Boolean("ever_run", func(c *campaignRow) *bool { return &c.EverRun }),
	column.Boolean("prepared", func(c *campaignRow) *bool { return &c.Prepared }),
	column.Immutable(column.Bigint("epoch", func(c *campaignRow) *int64 { return &c.Epoch })),
	column.Bigint("seq", func(c *campaignRow) *int64 { return &c.Seq }),
	column.Text("completion_reason", func(c *campaignRow) *campaign.CompletionReason { return &c.CompletionReason }),
	column.Text("failure_reason", func(c *campaignRow) *string { return &c.FailureReason }),
	column.Immutable(column.Instant("created_at", func(c *campaignRow) *time.Time { return &c.CreatedAt })),
	column.Immutable(column.Object("created_by", func(c *campaignRow) *engine.Who { return &c.CreatedBy }, column.Always)),
	column.Moment("started_at", func(c *campaignRow) **time.Time { return &c.StartedAt }),
	column.Moment("restarted_at", func(c *campaignRow) **time.Time { return &c.RestartedAt }),
	column.Object("restarted_by", func(c *campaignRow) **engine.Who { return &c.RestartedBy }, column.Present),
	column.Object("previous", func(c *campaignRow) **campaign.Previous { return &c.Previous }, column.Present),
	column.Object("external", func(c *campaignRow) **campaign.External { return &c.External }, column.Present),
	column.Moment("completed_at", func(c *campaignRow) **time.Time { return &c.CompletedAt }),
	column.Moment("window_ends_at", func(c *campaignRow) **time.Time { return &c.WindowEndsAt }),
	column.Bigint("dialled", func(c *campaignRow) *time.Duration { return &c.Dialled }),
	column.Moment("running_since", func(c *campaignRow) **time.Time { return &c.RunningSince }),
}

// ErrCampaignNotFound: no campaign has this identifier.
var ErrCampaignNotFound = engine.NotFound("campaign_not_found", "no campaign has this identifier")

var selectCampaign = "SELECT " + column.Names(campaignColumns, "c") + " FROM campaigns c "

func scanCampaign(row pgx.CollectableRow) (c campaign.Campaign, err error) {
	err = row.Scan(column.Targets(campaignColumns, &c, nil)...)
	return c, err
}

var insertCampaign = column.InsertFrom("campaigns", campaignColumns) + " ON CONFLICT DO NOTHING"
