package persistence

import (
	"time"

	"dialler/engine"
	"dialler/engine/campaign"

	"github.com/jackc/pgx/v5"
)

type campaignRow = campaign.Campaign

// campaignColumns is the one mapping of a campaign. The epoch is never written
// with the row: only taking ownership moves it.
var campaignColumns = []column[campaignRow]{
	text("id", func(c *campaignRow) *string { return (*string)(&c.ID) }),
	derived("name", typeText, func(w *array, c *campaignRow) { w.text(c.Settings.Name) }),
	derived("bot_id", typeText, func(w *array, c *campaignRow) { w.text(string(c.Settings.Bot)) }),
	object("settings", func(c *campaignRow) *campaign.Settings { return &c.Settings }, always),
	text("state", func(c *campaignRow) *campaign.State { return &c.State }),
	bigint("version", func(c *campaignRow) *int64 { return &c.Version }),
	integer("run", func(c *campaignRow) *int { return &c.Run }),
	boolean("ever_run", func(c *campaignRow) *bool { return &c.EverRun }),
	boolean("prepared", func(c *campaignRow) *bool { return &c.Prepared }),
	immutable(bigint("epoch", func(c *campaignRow) *int64 { return &c.Epoch })),
	bigint("seq", func(c *campaignRow) *int64 { return &c.Seq }),
	text("completion_reason", func(c *campaignRow) *campaign.CompletionReason { return &c.CompletionReason }),
	text("failure_reason", func(c *campaignRow) *string { return &c.FailureReason }),
	immutable(instant("created_at", func(c *campaignRow) *time.Time { return &c.CreatedAt })),
	immutable(object("created_by", func(c *campaignRow) *engine.Who { return &c.CreatedBy }, always)),
	moment("started_at", func(c *campaignRow) **time.Time { return &c.StartedAt }),
	moment("restarted_at", func(c *campaignRow) **time.Time { return &c.RestartedAt }),
	object("restarted_by", func(c *campaignRow) **engine.Who { return &c.RestartedBy }, present),
	object("previous", func(c *campaignRow) **campaign.Previous { return &c.Previous }, present),
	object("external", func(c *campaignRow) **campaign.External { return &c.External }, present),
	moment("completed_at", func(c *campaignRow) **time.Time { return &c.CompletedAt }),
	moment("window_ends_at", func(c *campaignRow) **time.Time { return &c.WindowEndsAt }),
	bigint("dialled", func(c *campaignRow) *time.Duration { return &c.Dialled }),
	moment("running_since", func(c *campaignRow) **time.Time { return &c.RunningSince }),
}

// ErrCampaignNotFound: no campaign has this identifier.
var ErrCampaignNotFound = engine.NotFound("campaign_not_found", "no campaign has this identifier")

var selectCampaign = "SELECT " + names(campaignColumns, "c") + " FROM campaigns c "

func scanCampaign(row pgx.CollectableRow) (c campaign.Campaign, err error) {
	err = row.Scan(targets(campaignColumns, &c, nil)...)
	return c, err
}

var insertCampaign = insertFrom("campaigns", campaignColumns) + " ON CONFLICT DO NOTHING"
