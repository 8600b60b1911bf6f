package table

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"

	"github.com/jackc/pgx/v5"
)

// Secret returns the installation's secret of that name: 32 random bytes, created on first use.
// Every process of an installation gets the same.
func (d *DB) Secret(ctx context.Context, name string) ([]byte, error) {
	fresh := make([]byte, 32)
	_, _ = rand.Read(fresh) // crypto/rand.Read never fails
	var secret string
	err := d.InTx(ctx, "secret not read", func(tx pgx.Tx) error {
		const known = "SELECT value #>> '{}' FROM settings WHERE name = $1"
		// A read-only database returns what it has.
		if err := tx.QueryRow(ctx, known, "secret."+name).Scan(&secret); !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		if _, err := tx.Exec(ctx, "INSERT INTO settings (name, value) VALUES ($1, to_jsonb($2::text)) ON CONFLICT "+
			"DO NOTHING",
			"secret."+name, base64.StdEncoding.EncodeToString(fresh)); err != nil {
			return err
		}
		return tx.QueryRow(ctx, known, "secret."+name).Scan(&secret)
	})
	if err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(secret)
}
