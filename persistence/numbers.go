package persistence

import (
	"context"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
)

// Numbers lists every outbound number.
func (s *Store) Numbers(ctx context.Context) ([]engine.NumberSettings, error) {
	rows, _ := s.read.Query(ctx, "SELECT number, concurrent_cap, hour_cap, day_cap, rest_s, state FROM numbers ORDER BY number")
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (n engine.NumberSettings, err error) {
		err = row.Scan(&n.Number, &n.ConcurrentCap, &n.HourCap, &n.DayCap, &n.RestSec, &n.State)
		return n, err
	})
	return list, s.wrap("numbers not read", err)
}

// PutNumber creates or replaces an outbound number.
func (s *Store) PutNumber(ctx context.Context, n engine.NumberSettings, who engine.Who) (created bool, err error) {
	err = s.inTx(ctx, "number not stored", func(tx pgx.Tx) error {
		if created, err = absent(ctx, tx, "numbers", "number", n.Number.E164()); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `INSERT INTO numbers (number, concurrent_cap, hour_cap, day_cap, rest_s, state) VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (number) DO UPDATE SET concurrent_cap = excluded.concurrent_cap, hour_cap = excluded.hour_cap,
			day_cap = excluded.day_cap, rest_s = excluded.rest_s, state = excluded.state`,
			n.Number.E164(), n.ConcurrentCap, n.HourCap, n.DayCap, n.RestSec, n.State)
		if err != nil {
			return err
		}
		return s.note(ctx, tx, verb("number", created), n.Number.String(), who)
	})
	return created, err
}
