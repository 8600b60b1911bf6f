package persistence

import (
	"context"
	"dialler/engine"
	"dialler/engine/journal"
	"time"

	"dialler/persistence/column"

	"github.com/jackc/pgx/v5"
)

// tell writes events outside a group commit, in the order of their sequence. It
// is the last that a transaction does: the head of the chain is locked from here
// on.
func (d *DB) tell(ctx context.Context, tx pgx.Tx, events ...journal.Event) error {
	if len(events) == 0 {
		return nil
	}
	rows := make([]*eventRow, len(events))
	for i := range events {
		row, _, err := newEventRow(&events[i], nil)
		if err != nil {
			return err
		}
		rows[i] = &row
	}
	return column.Exec(ctx, tx, tellApart, eventColumns, &d.shapes.Load().events, rows...)
}

// note writes a change of something configured into the history: who, when,
// and what, named by its identifier.
func (d *DB) note(ctx context.Context, tx pgx.Tx, t journal.Type, id string, who engine.Who) error {
	e := journal.Event{At: time.Now(), Type: t, Version: 1, Data: journal.Data{Who: &who, Reason: id}}
	return d.tell(ctx, tx, e)
}
