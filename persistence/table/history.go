package table

import (
	"context"
	"time"

	"dialler/engine"
	"dialler/engine/journal"

	"dialler/persistence/column"

	"github.com/jackc/pgx/v5"
)

// Tell writes events outside a group commit, in the order of their sequence. It must be the last
// step of a transaction: from here on the head of the chain is locked.
func (d *DB) Tell(ctx context.Context, tx pgx.Tx, events ...journal.Event) error {
	if len(events) == 0 {
		return nil
	}
	rows := make([]*EventRow, len(events))
	for i := range events {
		row, _, err := NewEventRow(&events[i], nil)
		if err != nil {
			return err
		}
		rows[i] = &row
	}
	return column.Exec(ctx, tx, tellApart, EventColumns, &d.Shapes.Load().Events, rows...)
}

// Note records a configuration change in the history: who, when, and what, named by its identifier.
func (d *DB) Note(ctx context.Context, tx pgx.Tx, t journal.Type, id string, who engine.Who) error {
	e := journal.Event{At: time.Now(), Type: t, Version: 1, Data: journal.Data{Who: &who, Reason: id}}
	return d.Tell(ctx, tx, e)
}
