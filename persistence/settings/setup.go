package settings

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// setUpName is the row that says whether the set-up of a new installation is hidden.
const setUpName = "set_up.hidden"

// SetUpNotes says whether calls have been placed, so that the installation needs no set-up, and
// whether it is hidden. A campaign that was started counts, because calls need not be kept.
func (s *Configuration) SetUpNotes(ctx context.Context) (called, hidden bool, err error) {
	err = s.db.Read.QueryRow(ctx, `SELECT EXISTS (SELECT FROM campaigns WHERE state <> 'draft')
			OR EXISTS (SELECT FROM attempts WHERE served_at IS NOT NULL),
		coalesce((SELECT value::bool FROM settings WHERE name = $1), false)`, setUpName).Scan(&called, &hidden)
	return called, hidden, s.db.Wrap("set-up not read", err)
}

// HideSetUp hides the set-up, or shows it again.
func (s *Configuration) HideSetUp(ctx context.Context, hidden bool) error {
	return s.db.InTx(ctx, "set-up not stored", func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "INSERT INTO settings (name, value) VALUES ($1, to_jsonb($2::bool)) ON CONFLICT (name) "+
			"DO UPDATE SET value = excluded.value", setUpName, hidden)
		return err
	})
}
