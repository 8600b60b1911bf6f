package persistence

import (
	"context"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/journal"
	"dialler/persistence/table"
)

// Events returns a campaign's history in the order of its sequence, after the given position: the
// input of an audit's fold.
func (s *Store) Events(ctx context.Context, id engine.CampaignID, after int64, limit int) ([]journal.Event, error) {
	rows, _ := s.db.Read.Query(ctx, table.SelectEvent+"WHERE e.campaign_id = $1 AND e.seq > greatest($2, 0) "+
		"ORDER BY e.seq LIMIT $3",
		string(id), after, limit)
	events, err := pgx.CollectRows(rows, table.ScanEvent)
	return events, s.db.Wrap("events not read", err)
}

// EventAt returns the event at a position of a campaign's sequence; ok is false when there is none.
func (s *Store) EventAt(ctx context.Context, id engine.CampaignID, seq int64) (e journal.Event, ok bool, err error) {
	list, err := s.Events(ctx, id, seq-1, 1)
	if err != nil || len(list) == 0 || list[0].Seq != seq {
		return e, false, err
	}
	return list[0], true, nil
}

// Counters counts the campaign's tables by the formulas of engine/tally.
func (s *Store) Counters(ctx context.Context, id engine.CampaignID, run int) (campaign.Counters, error) {
	return s.Records.Counters(ctx, id, run)
}
