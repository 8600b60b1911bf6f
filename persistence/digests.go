package persistence

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine/chain"
	"dialler/persistence/table"
)

// BeginDigests leaves a digest of every row that there is, once in an installation's life: from then
// on a row without one was not written by the dialler. It takes about 10 µs a row, in the
// background, while the dialler serves. It does nothing, and says so, while a node of a release
// works that leaves no digests.
func (s *Store) BeginDigests(ctx context.Context) (begun bool, err error) {
	if s.db.RowKey.Load() == nil {
		return false, nil
	}
	var older bool
	err = s.db.Read.QueryRow(ctx, `SELECT EXISTS (SELECT FROM event_heads WHERE campaign_id = '' AND run = $1),
		EXISTS (SELECT FROM nodes WHERE left_at IS NULL AND expires_at > clock_timestamp() AND NOT digests)`,
		table.Beginning.Run).Scan(&begun, &older)
	if err != nil || begun || older {
		return begun, s.db.Wrap("digests of rows not read", err)
	}
	err = pgx.BeginTxFunc(ctx, s.db.Read, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly},
		func(tx pgx.Tx) error {
			rows, _ := tx.Query(ctx, "SELECT id FROM campaigns ORDER BY id")
			campaigns, err := pgx.CollectRows(rows, pgx.RowTo[string])
			for _, id := range append(campaigns, "") {
				if err == nil {
					err = s.firstDigests(ctx, tx, id)
				}
			}
			return err
		})
	if err == nil {
		err = s.db.InTx(ctx, "beginning of digests not stored", func(tx pgx.Tx) error {
			written := s.db.Written()
			if err := written.Began(ctx, tx); err != nil {
				return err
			}
			return s.db.TellWritten(ctx, tx, written)
		})
	}
	return err == nil, s.db.Wrap("digests of rows not begun", err)
}

// firstBatch is how many bytes of entries are stored at a time.
const firstBatch = 1 << 20

// skew is how far a row that has no order of its own is put back: a change of it that this snapshot
// does not have may have begun before.
const skew = time.Minute

// firstDigests is for the rows of one campaign, or of none.
func (s *Store) firstDigests(ctx context.Context, tx pgx.Tx, id string) error {
	of := table.Owner{Campaign: id}
	written, dig := s.db.Written(), s.db.Digester()
	flush := func() error {
		return s.db.InTx(ctx, "digests of rows not stored", func(tx pgx.Tx) error {
			return s.db.TellWritten(ctx, tx, written)
		})
	}
	var now time.Time
	if err := tx.QueryRow(ctx, "SELECT now()").Scan(&now); err != nil {
		return err
	}
	for _, p := range table.Parts {
		err := s.db.RowsOf(ctx, tx, p, dig, id, nil, false, func(e *chain.Entry, _ string, _ table.Standing) error {
			switch p {
			case table.PartAttempt, table.PartResult, table.PartQuality, table.PartLeg:
				e.Order = 0
			default:
				if p.Order == "" {
					e.Order = table.OrderAt(now.Add(-skew))
				}
			}
			written.First(of, e)
			if written.Len(of) < firstBatch {
				return nil
			}
			err := flush()
			written = s.db.Written()
			return err
		})
		if err != nil {
			return err
		}
	}
	return flush()
}
