// Package table defines the tables: the single mapping of each stored struct, the statements that
// add events to their chains, and the few things that every change shares.
package table

import (
	"context"
	"sync/atomic"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/persistence/column"
	"dialler/persistence/pool"
)

// DB is the database with its tables: their rows as this program and the server know them, and the
// history that every change is recorded in.
type DB struct {
	*pool.Pool
	Shapes atomic.Pointer[Layouts]
	key    []byte // hashes the numbers of erased persons
	Epochs epochs
	Acting atomic.Int32 // this process's node, Nobody without its lease; 0: it runs alone
	// RowKey is the key of the digests of rows; nil until the spine is open.
	RowKey atomic.Pointer[[32]byte]
}

// Nobody is the incarnation of a node that has no lease.
const Nobody engine.Incarnation = -1

type Layouts struct {
	Contacts, Attempts, Legs, Events, Campaigns column.Layout
}

// Open reads the server's description of the tables.
func Open(ctx context.Context, pool *pool.Pool) (*DB, error) {
	d := &DB{Pool: pool}
	if err := d.loadShapes(ctx); err != nil {
		return nil, err
	}
	return d, d.loadKey(ctx)
}

func (d *DB) loadShapes(ctx context.Context) error {
	var l Layouts
	err := d.InTx(ctx, "row types not read", func(tx pgx.Tx) error {
		if err := column.ReadLayout(ctx, tx, &l.Contacts, "contacts", ContactColumns); err != nil {
			return err
		}
		if err := column.ReadLayout(ctx, tx, &l.Attempts, "attempts", AttemptColumns); err != nil {
			return err
		}
		if err := column.ReadLayout(ctx, tx, &l.Legs, "legs", LegColumns); err != nil {
			return err
		}
		if err := column.ReadLayout(ctx, tx, &l.Events, "events", EventColumns); err != nil {
			return err
		}
		return column.ReadLayout(ctx, tx, &l.Campaigns, "campaigns", CampaignColumns)
	})
	if err == nil {
		d.Shapes.Store(&l)
	}
	return err
}

// Reshape rereads the row types and makes every connection prepare its statements again.
func (d *DB) Reshape(ctx context.Context) error {
	d.Write.Reset()
	return d.loadShapes(ctx)
}
