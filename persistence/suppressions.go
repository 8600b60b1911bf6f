package persistence

import (
	"context"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/journal"
)

// Suppressed gives those of the numbers that are on the suppression list.
func (s *Store) Suppressed(ctx context.Context, numbers ...engine.PhoneNumber) (map[engine.PhoneNumber]journal.Suppression, error) {
	rows, _ := s.read.Query(ctx, "SELECT number, reason, created_at FROM suppressions WHERE number = ANY($1::text[])", numbers)
	out := map[engine.PhoneNumber]journal.Suppression{}
	var x journal.Suppression
	_, err := pgx.ForEachRow(rows, []any{&x.Number, &x.Reason, &x.CreatedAt}, func() error {
		out[x.Number] = x
		return nil
	})
	return out, s.wrap("suppression list not read", err)
}

// Unsuppress takes a number off the list.
func (s *Store) Unsuppress(ctx context.Context, n engine.PhoneNumber, who engine.Who) (found bool, err error) {
	err = s.inTx(ctx, "number not taken off the suppression list", func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, "DELETE FROM suppressions WHERE number = $1", n.E164())
		if found = tag.RowsAffected() > 0; err != nil || !found {
			return err
		}
		return s.note(ctx, tx, "suppression.lifted", n.String(), who)
	})
	return found, err
}
