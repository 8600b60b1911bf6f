package table

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/persistence/column"
)

type CampaignRow = campaign.Campaign

// CampaignColumns is the only mapping of a campaign. The epoch is never written with the row: only
// taking ownership changes it.
var CampaignColumns = []column.Of[CampaignRow]{
	column.Text("id", func(c *CampaignRow) *string { return (*string)(&c.ID) }),
	column.Derived("name", column.TypeText, func(w *column.Array, c *CampaignRow) { w.Text(c.Settings.Name) }),
	column.Derived("bot_id", column.TypeText, func(w *column.Array, c *CampaignRow) { w.Text(string(c.Settings.Bot)) }),
	column.Object("settings", func(c *CampaignRow) *campaign.Settings { return &c.Settings }, column.Always),
	column.Text("state", func(c *CampaignRow) *campaign.State { return &c.State }),
	column.Bigint("version", func(c *CampaignRow) *int64 { return &c.Version }),
	column.Integer("run", func(c *CampaignRow) *int { return &c.Run }),
	column.Boolean("ever_run", func(c *CampaignRow) *bool { return &c.EverRun }),
	column.Boolean("prepared", func(c *CampaignRow) *bool { return &c.Prepared }),
	column.Immutable(column.Bigint("epoch", func(c *CampaignRow) *int64 { return &c.Epoch })),
	column.Bigint("seq", func(c *CampaignRow) *int64 { return &c.Seq }),
	column.Text("completion_reason", func(c *CampaignRow) *campaign.CompletionReason { return &c.CompletionReason }),
	column.Text("failure_reason", func(c *CampaignRow) *string { return &c.FailureReason }),
	column.Immutable(column.Instant("created_at", func(c *CampaignRow) *time.Time { return &c.CreatedAt })),
	column.Immutable(column.Object("created_by", func(c *CampaignRow) *engine.Who { return &c.CreatedBy },
		column.Always)),
	column.Moment("started_at", func(c *CampaignRow) **time.Time { return &c.StartedAt }),
	column.Moment("restarted_at", func(c *CampaignRow) **time.Time { return &c.RestartedAt }),
	column.Object("restarted_by", func(c *CampaignRow) **engine.Who { return &c.RestartedBy }, column.Present),
	column.Object("previous", func(c *CampaignRow) **campaign.Previous { return &c.Previous }, column.Present),
	column.Object("external", func(c *CampaignRow) **campaign.External { return &c.External }, column.Present),
	column.Moment("completed_at", func(c *CampaignRow) **time.Time { return &c.CompletedAt }),
	column.Moment("window_ends_at", func(c *CampaignRow) **time.Time { return &c.WindowEndsAt }),
	column.Bigint("dialled", func(c *CampaignRow) *time.Duration { return &c.Dialled }),
	column.Moment("running_since", func(c *CampaignRow) **time.Time { return &c.RunningSince }),
}

// ErrCampaignNotFound means that no campaign has this identifier.
var ErrCampaignNotFound = engine.NotFound("campaign_not_found", "")

var SelectCampaign = "SELECT " + column.Names(CampaignColumns, "c") + " FROM campaigns c "

func ScanCampaign(row pgx.CollectableRow) (c campaign.Campaign, err error) {
	err = row.Scan(column.Targets(CampaignColumns, &c, nil)...)
	return c, err
}

var InsertCampaign = column.InsertFrom("campaigns", CampaignColumns) + " ON CONFLICT DO NOTHING"

// ErrRunNotFound means that the campaign has no run with this number.
var ErrRunNotFound = engine.NotFound("run_not_found", "")

// Campaign returns a campaign's row without acquiring it.
func (d *DB) Campaign(ctx context.Context, id engine.CampaignID) (campaign.Campaign, error) {
	rows, _ := d.Read.Query(ctx, SelectCampaign+"WHERE c.id = $1", string(id))
	c, err := pgx.CollectExactlyOneRow(rows, ScanCampaign)
	if errors.Is(err, pgx.ErrNoRows) {
		return campaign.Campaign{}, ErrCampaignNotFound
	}
	return c, d.Wrap("campaign not read", err)
}
