package settings

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/persistence/sealed"
	"dialler/persistence/table"
)

// Sealing counts the stored secrets.
type Sealing struct {
	Plain   int // stored in clear
	Old     int // sealed with a key that is no longer the current one
	Current int // sealed with the current key
}

type storedSecret struct{ ID, Stored string }

// CheckSecrets opens every stored secret and counts how they are stored. It returns Unavailable
// "secrets_key_missing" when the key of one is unknown, "secret_damaged" when one has been altered.
func (s *Configuration) CheckSecrets(ctx context.Context) (c Sealing, err error) {
	for _, t := range sealed.Tables {
		rows, _ := s.db.Read.Query(ctx, "SELECT id, "+t.Column+" FROM "+t.Table+" WHERE "+t.Column+" <> ''")
		list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[storedSecret])
		if err != nil {
			return c, s.db.Wrap("secrets not read", err)
		}
		for _, r := range list {
			if _, err := s.db.Config.Secrets.Open(sealed.PlaceOf(t.Table, t.Column, r.ID), r.Stored); err != nil {
				return c, err
			}
			switch {
			case s.db.Config.Secrets.Current(r.Stored):
				c.Current++
			case strings.HasPrefix(r.Stored, sealed.Prefix):
				c.Old++
			default:
				c.Plain++
			}
		}
	}
	return c, nil
}

// SealSecrets seals with the current key every stored secret that is in clear or sealed with an old
// key, in one transaction. It returns how many it rewrote, or Invalid "secrets_key_invalid" without
// a key.
func (s *Configuration) SealSecrets(ctx context.Context) (n int, err error) {
	if s.db.Config.Secrets == nil {
		return 0, engine.Invalid("secrets_key_invalid", "there is no key to seal with; give --secrets-key-file")
	}
	err = s.db.InTx(ctx, "secrets not sealed", func(tx pgx.Tx) error {
		n = 0
		for _, t := range sealed.Tables {
			rows, _ := tx.Query(ctx, "SELECT id, "+t.Column+" FROM "+t.Table+" WHERE "+t.Column+" <> '' "+
				"ORDER BY id FOR UPDATE")
			list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[storedSecret])
			if err != nil {
				return err
			}
			for _, r := range list {
				if s.db.Config.Secrets.Current(r.Stored) {
					continue
				}
				place := sealed.PlaceOf(t.Table, t.Column, r.ID)
				secret, err := s.db.Config.Secrets.Open(place, r.Stored)
				if err != nil {
					return err
				}
				sealed, err := s.db.Config.Secrets.Seal(place, secret)
				if err != nil {
					return err
				}
				if _, err := tx.Exec(ctx, "UPDATE "+t.Table+" SET "+t.Column+" = $2 WHERE id = $1", r.ID,
					sealed); err != nil {
					return err
				}
				n++
			}
		}
		rows := s.db.Written()
		for _, p := range []*table.Part{table.PartBot, table.PartTrunk, table.PartWebhook} {
			if err := rows.Add(ctx, tx, table.Owner{}, p, "true"); err != nil {
				return err
			}
		}
		return s.db.TellWritten(ctx, tx, rows)
	})
	return n, err
}
