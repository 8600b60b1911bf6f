package pool

import (
	"context"
	"dialler/engine"
	"dialler/engine/campaign"
	"errors"
	"time"

	"dialler/persistence/failure"

	"github.com/jackc/pgx/v5"
)

// TxTries bounds how often a transaction is tried that the server ended for the
// sake of another one: a deadlock, or a row that changed under it.
const TxTries = 5

// Yielded says that a transaction was ended so; tried anew it may succeed.
func Yielded(err error) bool {
	state, _ := failure.SQLState(err)
	return state == "40001" || state == "40P01"
}

// InTx runs f in a transaction. f may be run again from its beginning.
func (p *Pool) InTx(ctx context.Context, what string, f func(pgx.Tx) error) error {
	return p.InTxOf(ctx, pgx.TxOptions{}, what, f)
}

// InTxOf is inTx with another isolation.
func (p *Pool) InTxOf(ctx context.Context, o pgx.TxOptions, what string, f func(pgx.Tx) error) error {
	err := pgx.BeginTxFunc(ctx, p.Read, o, f)
	for try := 1; Yielded(err) && try < TxTries; try++ {
		err = pgx.BeginTxFunc(ctx, p.Read, o, f)
	}
	var e *engine.Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	return p.Wrap(what, err)
}

// ChangeSchema runs one statement that takes tables' locks, in a transaction of
// its own; 55P03 when it did not get them in time.
func (p *Pool) ChangeSchema(ctx context.Context, sql string) error {
	return pgx.BeginFunc(ctx, p.Read, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SET LOCAL lock_timeout = '"+LockPatience+"'"); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, sql)
		return err
	})
}

// LockPatience is how long a change of the schema waits for its locks: as long
// writers that come after it wait too.
const LockPatience = "1s"

// Sleep waits; false when ctx ended.
func Sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

func Offset(p campaign.Page) int { return max(0, p.Number-1) * p.Size }
