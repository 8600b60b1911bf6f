package access

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/journal"
	"dialler/persistence/table"
)

const keyColumns = "id, name, hash, masked, active, expires_at, scopes, campaigns, created_at, created_by, " +
	"last_used_at, dialouts_per_day, old_hash, old_until"

func scanKey(row pgx.CollectableRow) (k engine.APIKey, err error) {
	var hash, old []byte
	err = row.Scan(&k.ID, &k.Name, &hash, &k.Masked, &k.Active, &k.ExpiresAt, &k.Scopes, &k.Campaigns, &k.CreatedAt,
		&k.CreatedBy, &k.LastUsedAt, &k.DialoutsPerDay, &old, &k.OldUntil)
	copy(k.Hash[:], hash)
	if old != nil {
		k.OldHash = new([32]byte)
		copy(k.OldHash[:], old)
	}
	return k, err
}

// ErrKeyNotFound: no API key has this identifier.
var ErrKeyNotFound = engine.NotFound("key_not_found", "")

// oldHash is the hash of a key's secret before its rotation as a column.
func oldHash(k *engine.APIKey) []byte {
	if k.OldHash == nil {
		return nil
	}
	return k.OldHash[:]
}

// KeyByHash returns the key with that SHA-256, or with that of its secret before a rotation, which may not be valid any
// more; ok is false when there is none.
func (s *Accounts) KeyByHash(ctx context.Context, hash [32]byte) (key engine.APIKey, ok bool, err error) {
	rows, _ := s.db.Read.Query(ctx, "SELECT "+keyColumns+" FROM api_keys WHERE hash = $1 OR old_hash = $1", hash[:])
	key, err = pgx.CollectExactlyOneRow(rows, scanKey)
	if errors.Is(err, pgx.ErrNoRows) {
		return engine.APIKey{}, false, nil
	}
	return key, err == nil, s.db.Wrap("API key not read", err)
}

// Keys lists every key, newest first.
func (s *Accounts) Keys(ctx context.Context) ([]engine.APIKey, error) {
	rows, _ := s.db.Read.Query(ctx, "SELECT "+keyColumns+" FROM api_keys ORDER BY created_at DESC, id")
	list, err := pgx.CollectRows(rows, scanKey)
	return list, s.db.Wrap("API keys not read", err)
}

// CreateKey stores a new key.
func (s *Accounts) CreateKey(ctx context.Context, k engine.APIKey, who engine.Who) error {
	return s.db.InTx(ctx, "API key not stored", func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "INSERT INTO api_keys ("+keyColumns+") "+
			"VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
			string(k.ID), k.Name, k.Hash[:], k.Masked, k.Active, k.ExpiresAt, table.List(k.Scopes),
			table.List(k.Campaigns), table.OrNow(k.CreatedAt),
			k.CreatedBy, k.LastUsedAt, k.DialoutsPerDay, oldHash(&k), k.OldUntil)
		if err != nil {
			return err
		}
		return s.db.NoteRow(ctx, tx, table.PartKey, string(k.ID), "key.created", string(k.ID), who)
	})
}

// UpdateKey changes a key: change receives the stored key, under a lock, and may set its name, secrets, active, expiry,
// scopes, campaigns and cap; other changes are ignored, and its error undoes all. It returns ErrKeyNotFound when there
// is none.
func (s *Accounts) UpdateKey(ctx context.Context, id engine.KeyID, change func(*engine.APIKey) error,
	who engine.Who) (k engine.APIKey, err error) {
	err = s.db.InTx(ctx, "API key not changed", func(tx pgx.Tx) error {
		rows, _ := tx.Query(ctx, "SELECT "+keyColumns+" FROM api_keys WHERE id = $1 FOR UPDATE", string(id))
		if k, err = pgx.CollectExactlyOneRow(rows, scanKey); err != nil {
			if errors.Is(err, pgx.ErrNoRows) {
				return ErrKeyNotFound
			}
			return err
		}
		hash := k.Hash
		if err := change(&k); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "UPDATE api_keys SET name = $2, active = $3, expires_at = $4, scopes = $5, campaigns "+
			"= $6, dialouts_per_day = $7, hash = $8, masked = $9, old_hash = $10, old_until = $11 WHERE id = $1",
			string(id), k.Name, k.Active, k.ExpiresAt, table.List(k.Scopes), table.List(k.Campaigns), k.DialoutsPerDay,
			k.Hash[:], k.Masked, oldHash(&k), k.OldUntil)
		if err != nil {
			return err
		}
		what := journal.Type("key.changed")
		if k.Hash != hash {
			what = "key.secret_rotated"
		}
		return s.db.NoteRow(ctx, tx, table.PartKey, string(id), what, string(id), who)
	})
	return k, err
}

// DeleteKey removes a key that is inactive; the history keeps who did what with it. It returns
// ErrKeyNotFound when there is none, and Conflict "key_active" for one that may still be used.
func (s *Accounts) DeleteKey(ctx context.Context, id engine.KeyID, who engine.Who) error {
	return s.db.InTx(ctx, "API key not deleted", func(tx pgx.Tx) error {
		var active bool
		err := tx.QueryRow(ctx, "SELECT active FROM api_keys WHERE id = $1 FOR UPDATE", string(id)).Scan(&active)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return ErrKeyNotFound
		case err != nil:
			return err
		case active:
			return engine.Conflict("key_active", "")
		}
		rows, err := s.db.Going(ctx, tx, table.PartKey, string(id))
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "DELETE FROM api_keys WHERE id = $1", string(id)); err != nil {
			return err
		}
		return s.db.NoteWritten(ctx, tx, rows, "key.deleted", string(id), who)
	})
}

// KeysUsed records when keys were last used.
func (s *Accounts) KeysUsed(ctx context.Context, used map[engine.KeyID]time.Time) error {
	ids, times := make([]string, 0, len(used)), make([]time.Time, 0, len(used))
	for id, at := range used {
		ids, times = append(ids, string(id)), append(times, at)
	}
	_, err := s.db.Read.Exec(ctx, `UPDATE api_keys k SET last_used_at = u.at FROM unnest($1::text[], $2::timestamptz[])
		AS u(id, at)
		WHERE k.id = u.id AND (k.last_used_at IS NULL OR k.last_used_at < u.at)`, ids, times)
	return s.db.Wrap("use of API keys not recorded", err)
}
