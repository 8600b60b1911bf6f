package table

import (
	"context"

	"dialler/engine"
	"dialler/engine/attempt"

	"dialler/persistence/column"

	"github.com/jackc/pgx/v5"
)

var (
	// AttemptNames are the columns of an attempt a in the order of ScanAttempt.
	AttemptNames  = column.Names(AttemptColumns, "a") + ", " + AwaitsResult + " AS awaits_result"
	SelectAttempt = "SELECT " + AttemptNames + " FROM attempts a "
	selectLeg     = "SELECT " + column.Names(LegColumns, "l") + " FROM legs l "
)

// AwaitsResult is contact.AwaitsResult for an attempt a. The attempt's own columns come first, so
// that the contact is looked up only rarely.
const AwaitsResult = `(a.outcome = 'connected_no_result' AND a.result IS NULL AND EXISTS (SELECT FROM contacts w
	WHERE w.id = a.contact_id AND w.last_conversation = a.id AND w.last_outcome = 'connected_no_result'
	AND w.result_due_at IS NOT NULL))`

// AttemptTargets are the scan targets for the columns of AttemptNames.
func AttemptTargets(a *attempt.Attempt) []any {
	return append(column.Targets(AttemptColumns, a, make([]any, 0, len(AttemptColumns)+2)), &a.AwaitsResult)
}

func ScanAttempt(row pgx.CollectableRow) (a attempt.Attempt, err error) {
	err = row.Scan(AttemptTargets(&a)...)
	return a, err
}

// Attempts reads attempts and their legs.
func (d *DB) Attempts(ctx context.Context, where string, args ...any) ([]attempt.Attempt, error) {
	rows, _ := d.Read.Query(ctx, SelectAttempt+where, args...)
	list, err := pgx.CollectRows(rows, ScanAttempt)
	if err != nil || len(list) == 0 {
		return nil, d.Wrap("attempts not read", err)
	}
	ids := make([]string, len(list))
	at := make(map[string]int, len(list))
	for i := range list {
		ids[i], at[string(list[i].ID)] = string(list[i].ID), i
	}
	legs, _ := d.Read.Query(ctx, selectLeg+"WHERE l.attempt_id = ANY($1::uuid[]) ORDER BY l.attempt_id, l.n", ids)
	defer legs.Close()
	for legs.Next() {
		row := LegRow{Leg: &attempt.Leg{}}
		if err := legs.Scan(column.Targets(LegColumns, &row, make([]any, 0, len(LegColumns)))...); err != nil {
			return nil, d.Wrap("legs not read", err)
		}
		row.Leg.ID = engine.AttemptID(row.Attempt).Leg(row.N)
		a := &list[at[row.Attempt]]
		if row.Far.Kind != "" {
			a.Peers = append(a.Peers, attempt.Peer{Leg: *row.Leg, Kind: row.Far.Kind, State: row.Far.State,
				URI: row.Far.URI})
			continue
		}
		a.Legs = append(a.Legs, *row.Leg)
	}
	return list, d.Wrap("legs not read", legs.Err())
}
