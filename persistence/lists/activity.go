package lists

import (
	"context"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/journal"
	"dialler/persistence/pool"
	"dialler/persistence/table"
)

// Activity returns one page of the activity log, newest first, and the total: that of one campaign,
// or with campaign "" the changes to the shared configuration. If types are given, it returns only
// those.
func (s *Lists) Activity(ctx context.Context, id engine.CampaignID, types []journal.Type,
	page campaign.Page) (events []journal.Event, total int, err error) {
	const filter = "WHERE e.campaign_id = $1 AND e.activity AND (cardinality($2::text[]) = 0 " +
		"OR e.type = ANY($2::text[])) "
	wanted := table.List(types)
	if err = s.db.Read.QueryRow(ctx, "SELECT count(*) FROM events e "+filter, string(id),
		wanted).Scan(&total); err != nil {
		return nil, 0, s.db.Wrap("activity not counted", err)
	}
	rows, _ := s.db.Read.Query(ctx, table.SelectEvent+filter+"ORDER BY e.at DESC, e.seq DESC LIMIT $3 OFFSET $4",
		string(id), wanted, page.Size, pool.Offset(page))
	events, err = pgx.CollectRows(rows, table.ScanEvent)
	return events, total, s.db.Wrap("activity not read", err)
}

// runEventsCap bounds the history of runs: it suffices for 2500 cancelled restarts, or as many
// runs.
const runEventsCap = 10_000

// RunEvents returns the events from which journal.Runs derives a campaign's runs, in order.
func (s *Lists) RunEvents(ctx context.Context, id engine.CampaignID) ([]journal.Event, error) {
	rows, _ := s.db.Read.Query(ctx, table.SelectEvent+"WHERE e.campaign_id = $1 AND e.activity "+
		"AND e.type = ANY($2::text[]) ORDER BY e.seq LIMIT $3",
		string(id), journal.RunTypes, runEventsCap)
	events, err := pgx.CollectRows(rows, table.ScanEvent)
	return events, s.db.Wrap("runs not read", err)
}
