package persistence

import (
	"context"
	"dialler/engine"
	"dialler/engine/attempt"

	"dialler/persistence/column"

	"github.com/jackc/pgx/v5"
)

var (
	selectAttempt = "SELECT " + column.Names(attemptColumns, "a") + " FROM attempts a "
	selectLeg     = "SELECT " + column.Names(legColumns, "l") + " FROM legs l "
)

func scanAttempt(row pgx.CollectableRow) (a attempt.Attempt, err error) {
	err = row.Scan(column.Targets(attemptColumns, &a, make([]any, 0, len(attemptColumns)))...)
	return a, err
}

// attempts reads attempts and their legs.
func (d *DB) attempts(ctx context.Context, where string, args ...any) ([]attempt.Attempt, error) {
	rows, _ := d.read.Query(ctx, selectAttempt+where, args...)
	list, err := pgx.CollectRows(rows, scanAttempt)
	if err != nil || len(list) == 0 {
		return nil, d.wrap("attempts not read", err)
	}
	ids := make([]string, len(list))
	at := make(map[string]int, len(list))
	for i := range list {
		ids[i], at[string(list[i].ID)] = string(list[i].ID), i
	}
	legs, _ := d.read.Query(ctx, selectLeg+"WHERE l.attempt_id = ANY($1::uuid[]) ORDER BY l.attempt_id, l.n", ids)
	defer legs.Close()
	for legs.Next() {
		row := legRow{leg: &attempt.Leg{}}
		if err := legs.Scan(column.Targets(legColumns, &row, make([]any, 0, len(legColumns)))...); err != nil {
			return nil, d.wrap("legs not read", err)
		}
		row.leg.ID = engine.AttemptID(row.attempt).Leg(row.n)
		a := &list[at[row.attempt]]
		if row.far.kind != "" {
			a.Peers = append(a.Peers, attempt.Peer{Leg: *row.leg, Kind: row.far.kind, State: row.far.state, URI: row.far.uri})
			continue
		}
		a.Legs = append(a.Legs, *row.leg)
	}
	return list, d.wrap("legs not read", legs.Err())
}
