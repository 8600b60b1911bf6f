package persistence

import (
	"context"
	"dialler/engine"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Sealing counts the stored secrets.
type Sealing struct {
	Plain   int // stored as they are
	Old     int // sealed with a key that does not seal any more
	Current int // sealed with the key that seals
}

type storedSecret struct{ ID, Stored string }

// CheckSecrets opens every stored secret and counts how they are stored.
// Unavailable "secrets_key_missing" when the key of one is not known,
// "secret_damaged" when one is not what was stored.
func (s *Store) CheckSecrets(ctx context.Context) (c Sealing, err error) {
	for _, t := range sealedTables {
		rows, _ := s.db.read.Query(ctx, "SELECT id, "+t.column+" FROM "+t.table+" WHERE "+t.column+" <> ''")
		list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[storedSecret])
		if err != nil {
			return c, s.db.wrap("secrets not read", err)
		}
		for _, r := range list {
			if _, err := s.db.cfg.Secrets.open(placeOf(t.table, t.column, r.ID), r.Stored); err != nil {
				return c, err
			}
			switch {
			case s.db.cfg.Secrets.current(r.Stored):
				c.Current++
			case strings.HasPrefix(r.Stored, sealedPrefix):
				c.Old++
			default:
				c.Plain++
			}
		}
	}
	return c, nil
}

// SealSecrets seals every stored secret with the key that seals, those that are
// stored as they are and those of old keys, in one transaction. It gives how many
// it rewrote. Invalid "secrets_key_invalid" without a key.
func (s *Store) SealSecrets(ctx context.Context) (n int, err error) {
	if s.db.cfg.Secrets == nil {
		return 0, engine.Invalid("secrets_key_invalid", "there is no key to seal with; give --secrets-key-file")
	}
	err = s.db.inTx(ctx, "secrets not sealed", func(tx pgx.Tx) error {
		n = 0
		for _, t := range sealedTables {
			rows, _ := tx.Query(ctx, "SELECT id, "+t.column+" FROM "+t.table+" WHERE "+t.column+" <> '' ORDER BY id FOR UPDATE")
			list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[storedSecret])
			if err != nil {
				return err
			}
			for _, r := range list {
				if s.db.cfg.Secrets.current(r.Stored) {
					continue
				}
				place := placeOf(t.table, t.column, r.ID)
				secret, err := s.db.cfg.Secrets.open(place, r.Stored)
				if err != nil {
					return err
				}
				sealed, err := s.db.cfg.Secrets.seal(place, secret)
				if err != nil {
					return err
				}
				if _, err := tx.Exec(ctx, "UPDATE "+t.table+" SET "+t.column+" = $2 WHERE id = $1", r.ID, sealed); err != nil {
					return err
				}
				n++
			}
		}
		return nil
	})
	return n, err
}
