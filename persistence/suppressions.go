package persistence

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/journal"
	"dialler/persistence/pool"
	"dialler/persistence/table"
)

// Suppressed returns those of the numbers that are suppressed, by themselves or as an erased
// person's.
func (s *Store) Suppressed(ctx context.Context,
	numbers ...engine.PhoneNumber) (map[engine.PhoneNumber]journal.Suppression, error) {
	if len(numbers) != 1 {
		return s.suppressedOf(ctx, numbers)
	}
	x, ok, err := s.suppressed.Of(ctx, numbers[0])
	if !ok {
		return map[engine.PhoneNumber]journal.Suppression{}, err
	}
	return map[engine.PhoneNumber]journal.Suppression{numbers[0]: x}, err
}

func (s *Store) suppressedOf(ctx context.Context,
	numbers []engine.PhoneNumber) (map[engine.PhoneNumber]journal.Suppression, error) {
	known := make(map[engine.PhoneNumber]engine.PhoneNumber, len(numbers))
	asked := make([]string, 0, 2*len(numbers))
	for _, n := range numbers {
		h := s.db.Hashed(n)
		known[engine.PhoneNumber(h)] = n
		asked = append(asked, string(n), h)
	}
	rows, _ := s.db.Read.Query(ctx, "SELECT number, reason, created_at FROM suppressions "+
		"WHERE number = ANY($1::text[]) AND until IS NULL", asked)
	found, err := pgx.CollectRows(rows, table.ScanSuppression)
	out := make(map[engine.PhoneNumber]journal.Suppression, len(found))
	for _, x := range found {
		if n, hashed := known[x.Number]; hashed {
			x.Number = n
		}
		out[x.Number] = x
	}
	return out, s.db.Wrap("suppression list not read", err)
}

// Suppressions returns one page of the list, newest first, and the total: all of them, or those of
// one number.
func (s *Store) Suppressions(ctx context.Context, n engine.PhoneNumber,
	page campaign.Page) (list []journal.Suppression, total int, err error) {
	const filter = " FROM suppressions WHERE ($1 = '' OR number IN ($1, $2))"
	hash := s.db.Hashed(n)
	if err = s.db.Read.QueryRow(ctx, "SELECT count(*)"+filter, n.E164(), hash).Scan(&total); err != nil {
		return nil, 0, s.db.Wrap("suppression list not counted", err)
	}
	rows, _ := s.db.Read.Query(ctx, "SELECT number, reason, created_at"+filter+" ORDER BY created_at DESC, number "+
		"LIMIT $3 OFFSET $4", n.E164(), hash, page.Size, pool.Offset(page))
	list, err = pgx.CollectRows(rows, table.ScanSuppression)
	return list, total, s.db.Wrap("suppression list not read", err)
}

// Suppress adds numbers to the list and returns how many were new; one that was on it keeps its
// reason. The history gets one entry for all of them.
func (s *Store) Suppress(ctx context.Context, numbers []engine.PhoneNumber, reason string, who engine.Who) (added int,
	err error) {
	now := time.Now()
	err = s.db.InTx(ctx, "numbers not suppressed", func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `INSERT INTO suppressions (number, reason, created_at)
			SELECT DISTINCT n, $2, $3::timestamptz FROM unnest($1::text[]) n ON CONFLICT (number) DO NOTHING`, numbers,
			reason, now)
		if added = int(tag.RowsAffected()); err != nil || added == 0 {
			return err
		}
		what := ""
		if len(numbers) == 1 {
			what = numbers[0].String() // masked
		}
		e := journal.Event{At: now, Type: journal.SuppressionAdded, Version: 1, Data: journal.Data{Who: &who,
			Reason: what, Count: added}}
		rows := s.db.Written()
		if err := rows.Add(ctx, tx, table.Owner{}, table.PartSuppression, "t.number = ANY($1::text[])",
			numbers); err != nil {
			return err
		}
		return s.db.TellWritten(ctx, tx, rows, e)
	})
	return added, err
}

// Unsuppress removes a number from the list.
func (s *Store) Unsuppress(ctx context.Context, n engine.PhoneNumber, who engine.Who) (found bool, err error) {
	err = s.db.InTx(ctx, "number not taken off the suppression list", func(tx pgx.Tx) error {
		// What is deleted is told, and not what was there before: it may be added meanwhile.
		gone, _ := tx.Query(ctx, "DELETE FROM suppressions WHERE number IN ($1, $2) RETURNING number, clock_timestamp()",
			n.E164(), s.db.Hashed(n))
		rows, number, at := s.db.Written(), "", time.Time{}
		tag, err := pgx.ForEachRow(gone, []any{&number, &at}, func() error {
			rows.RemoveNamed(table.Owner{}, table.PartSuppression, number, at)
			return nil
		})
		if found = tag.RowsAffected() > 0; err != nil || !found {
			return err
		}
		return s.db.NoteWritten(ctx, tx, rows, journal.SuppressionLifted, n.String(), who)
	})
	return found, err
}
