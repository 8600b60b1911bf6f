package persistence

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
func (s *Store) Activity(ctx context.Context, id engine.CampaignID, types []journal.Type, page campaign.Page) (events []journal.Event, total int, err error) {
	const filter = "WHERE e.campaign_id = $1 AND e.activity AND (cardinality($2::text[]) = 0 OR e.type = ANY($2::text[])) "
	wanted := table.List(types)
	if err = s.db.Read.QueryRow(ctx, "SELECT count(*) FROM events e "+filter, string(id), wanted).Scan(&total); err != nil {
		return nil, 0, s.db.Wrap("activity not counted", err)
	}
	rows, _ := s.db.Read.Query(ctx, table.SelectEvent+filter+"ORDER BY e.at DESC, e.seq DESC LIMIT $3 OFFSET $4", string(id), wanted, page.Size, pool.Offset(page))
	events, err = pgx.CollectRows(rows, table.ScanEvent)
	return events, total, s.db.Wrap("activity not read", err)
}

// runEventsCap bounds the history of runs: 2500 restarts that were cancelled, or
// as many runs.
const runEventsCap = 10_000

// RunEvents gives the events of which journal.Runs makes a campaign's runs, in
// their order.
func (s *Store) RunEvents(ctx context.Context, id engine.CampaignID) ([]journal.Event, error) {
	rows, _ := s.db.Read.Query(ctx, table.SelectEvent+"WHERE e.campaign_id = $1 AND e.activity AND e.type = ANY($2::text[]) ORDER BY e.seq LIMIT $3",
		string(id), journal.RunTypes, runEventsCap)
	events, err := pgx.CollectRows(rows, table.ScanEvent)
	return events, s.db.Wrap("runs not read", err)
}

// Events gives a campaign's history in the order of its sequence, from after
// the given place on: what an audit folds.
func (s *Store) Events(ctx context.Context, id engine.CampaignID, after int64, limit int) ([]journal.Event, error) {
	rows, _ := s.db.Read.Query(ctx, table.SelectEvent+"WHERE e.campaign_id = $1 AND e.seq > greatest($2, 0) ORDER BY e.seq LIMIT $3",
		string(id), after, limit)
	events, err := pgx.CollectRows(rows, table.ScanEvent)
	return events, s.db.Wrap("events not read", err)
}

// EventAt gives the event at a place of a campaign's sequence; ok is false when
// there is none.
func (s *Store) EventAt(ctx context.Context, id engine.CampaignID, seq int64) (e journal.Event, ok bool, err error) {
	list, err := s.Events(ctx, id, seq-1, 1)
	if err != nil || len(list) == 0 || list[0].Seq != seq {
		return e, false, err
	}
	return list[0], true, nil
}
