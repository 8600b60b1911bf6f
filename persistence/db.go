package persistence

import (
	"context"
	"sync/atomic"

	"github.com/jackc/pgx/v5"

	"dialler/persistence/column"
)

// DB is the database with its tables: their rows as this program and the server
// know them, and the history that every change ends with.
type DB struct {
	*Pool
	shapes atomic.Pointer[layouts]
	key    []byte // under which the numbers of erased persons are hashed
	epochs epochs
}

type layouts struct {
	contacts, attempts, legs, events, campaigns column.Layout
}

// OpenDB reads what the server knows of the tables.
func OpenDB(ctx context.Context, pool *Pool) (*DB, error) {
	d := &DB{Pool: pool}
	if err := d.loadShapes(ctx); err != nil {
		return nil, err
	}
	return d, d.loadKey(ctx)
}

func (d *DB) loadShapes(ctx context.Context) error {
	var l layouts
	err := d.inTx(ctx, "row types not read", func(tx pgx.Tx) error {
		if err := column.ReadLayout(ctx, tx, &l.contacts, "contacts", contactColumns); err != nil {
			return err
		}
		if err := column.ReadLayout(ctx, tx, &l.attempts, "attempts", attemptColumns); err != nil {
			return err
		}
		if err := column.ReadLayout(ctx, tx, &l.legs, "legs", legColumns); err != nil {
			return err
		}
		if err := column.ReadLayout(ctx, tx, &l.events, "events", eventColumns); err != nil {
			return err
		}
		return column.ReadLayout(ctx, tx, &l.campaigns, "campaigns", campaignColumns)
	})
	if err == nil {
		d.shapes.Store(&l)
	}
	return err
}

// reshape reads the row types anew and lets every connection prepare anew.
func (d *DB) reshape(ctx context.Context) error {
	d.write.Reset()
	return d.loadShapes(ctx)
}
