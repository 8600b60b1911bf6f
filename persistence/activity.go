package persistence

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/journal"
)

var selectEvent = "SELECT " + names(eventColumns, "e") + " FROM events e "

func scanEvent(row pgx.CollectableRow) (e journal.Event, err error) {
	err = row.Scan(targets(eventColumns, &e, nil)...)
	return e, err
}

// Activity lists what somebody did, newest first: of one campaign, or with
// campaign "" the changes of what is configured for all. types filters when
// given; before, when not zero, pages back in time.
func (s *Store) Activity(ctx context.Context, id engine.CampaignID, types []journal.Type, before time.Time, limit int) ([]journal.Event, error) {
	if before.IsZero() {
		before = time.Now().AddDate(1, 0, 0)
	}
	rows, _ := s.read.Query(ctx, selectEvent+`WHERE e.campaign_id = $1 AND e.activity AND e.at < $2
		AND (cardinality($3::text[]) = 0 OR e.type = ANY($3::text[])) ORDER BY e.at DESC, e.seq DESC LIMIT $4`,
		string(id), before, list(types), limit)
	events, err := pgx.CollectRows(rows, scanEvent)
	return events, s.wrap("activity not read", err)
}

// Events gives a campaign's history in the order of its sequence, from after
// the given place on: what an audit folds.
func (s *Store) Events(ctx context.Context, id engine.CampaignID, after int64, limit int) ([]journal.Event, error) {
	rows, _ := s.read.Query(ctx, selectEvent+"WHERE e.campaign_id = $1 AND e.seq > greatest($2, 0) ORDER BY e.seq LIMIT $3",
		string(id), after, limit)
	events, err := pgx.CollectRows(rows, scanEvent)
	return events, s.wrap("events not read", err)
}
