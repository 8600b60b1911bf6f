package table

import (
	"context"
	"time"

	"dialler/engine/journal"

	"github.com/jackc/pgx/v5"
)

// Absent says whether there is no row with this key, and blocks others from creating it, by an
// advisory lock on the key.
func Absent(ctx context.Context, tx pgx.Tx, table, column, key string) (bool, error) {
	if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtext($1), hashtext($2))", table, key); err != nil {
		return false, err
	}
	var there bool
	err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM "+table+" WHERE "+column+" = $1)", key).Scan(&there)
	return !there, err
}

func Verb(noun string, created bool) journal.Type {
	if created {
		return journal.Type(noun + ".created")
	}
	return journal.Type(noun + ".changed")
}

// List turns a nil slice into an empty one: the columns do not allow null.
func List[T any](v []T) []T {
	if v == nil {
		return []T{}
	}
	return v
}

func OrNow(t time.Time) time.Time {
	if t.IsZero() {
		return time.Now()
	}
	return t
}
