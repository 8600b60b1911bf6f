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
	return d.TellWritten(ctx, tx, nil, events...)
}

// TellWritten is Tell with the rows that the transaction wrote.
func (d *DB) TellWritten(ctx context.Context, tx pgx.Tx, rows *Rows, events ...journal.Event) error {
	if len(events) == 0 {
		return d.Chain(ctx, tx, nil, rows)
	}
	list := make([]*EventRow, len(events))
	for i := range events {
		row, _, err := NewEventRow(&events[i], nil)
		if err != nil {
			return err
		}
		list[i] = &row
	}
	var b column.Batch[EventRow]
	b.Reset(EventColumns, &d.Shapes.Load().Events)
	for _, r := range list {
		if err := b.Add(r); err != nil {
			return err
		}
	}
	inserted := tx.Conn().PgConn().ExecParams(ctx, InsertEvents, [][]byte{b.Param()}, nil, column.Binary,
		column.Binary).Read()
	if inserted.Err != nil {
		return inserted.Err
	}
	return d.Chain(ctx, tx, inserted.Rows, rows)
}

// Note records a configuration change in the history: who, when, and what, named by its identifier.
func (d *DB) Note(ctx context.Context, tx pgx.Tx, t journal.Type, id string, who engine.Who) error {
	return d.NoteWritten(ctx, tx, nil, t, id, who)
}

// NoteWritten is Note with the rows that were changed.
func (d *DB) NoteWritten(ctx context.Context, tx pgx.Tx, rows *Rows, t journal.Type, id string, who engine.Who) error {
	e := journal.Event{At: time.Now(), Type: t, Version: 1, Data: journal.Data{Who: &who, Reason: id}}
	return d.TellWritten(ctx, tx, rows, e)
}

// NoteRow is Note with the row of a part that was created or changed.
func (d *DB) NoteRow(ctx context.Context, tx pgx.Tx, p *Part, row string, t journal.Type, id string,
	who engine.Who) error {
	rows := d.Written()
	if err := rows.Add(ctx, tx, Owner{}, p, p.Text+" = $1", row); err != nil {
		return err
	}
	return d.NoteWritten(ctx, tx, rows, t, id, who)
}

// Going is Written with the row of a part that is going to be deleted.
func (d *DB) Going(ctx context.Context, tx pgx.Tx, p *Part, row string) (*Rows, error) {
	rows := d.Written()
	return rows, rows.Remove(ctx, tx, Owner{}, p, p.Text+" = $1", row)
}
