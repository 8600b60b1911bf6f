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

// Activity gives one page of what somebody did, newest first, and how much
// there is: of one campaign, or with campaign "" the changes of what is
// configured for all. types filters when given.
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

// runEventsCap bounds the history of runs: 2500 restarts that were cancelled, or
// as many runs.
const runEventsCap = 10_000

// RunEvents gives the events of which journal.Runs makes a campaign's runs, in
// their order.
func (s *Lists) RunEvents(ctx context.Context, id engine.CampaignID) ([]journal.Event, error) {
	rows, _ := s.db.Read.Query(ctx, table.SelectEvent+"WHERE e.campaign_id = $1 AND e.activity "+
		"AND e.type = ANY($2::text[]) ORDER BY e.seq LIMIT $3",
		string(id), journal.RunTypes, runEventsCap)
	events, err := pgx.CollectRows(rows, table.ScanEvent)
	return events, s.db.Wrap("runs not read", err)
}
