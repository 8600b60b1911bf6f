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

// TxTries bounds how often a transaction is retried that the server aborted in favour of another:
// after a deadlock, or a row that changed under it.
const TxTries = 5

// Yielded says that a transaction was aborted in favour of another; it may succeed when retried.
func Yielded(err error) bool {
	state, _ := failure.SQLState(err)
	return state == "40001" || state == "40P01"
}

// InTx runs f in a transaction. f may be run again from its beginning.
func (p *Pool) InTx(ctx context.Context, what string, f func(pgx.Tx) error) error {
	return p.InTxOf(ctx, pgx.TxOptions{}, what, f)
}

// InTxOf is InTx with the given options, such as another isolation level.
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

// Beside begins a read-only transaction that sees what another one sees, on a connection of its own, outside
// the pools: whoever holds one of a pool's connections must not wait for a second. done ends it.
func (p *Pool) Beside(ctx context.Context, tx pgx.Tx) (_ pgx.Tx, done func(), err error) {
	var snapshot string
	if err := tx.QueryRow(ctx, "SELECT pg_export_snapshot()").Scan(&snapshot); err != nil {
		return nil, nil, err
	}
	conn, err := pgx.ConnectConfig(ctx, p.Single.Copy())
	if err != nil {
		return nil, nil, err
	}
	done = func() { _ = conn.Close(context.WithoutCancel(ctx)) }
	ScanUTC(conn)
	other, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err == nil {
		// Hex digits and dashes. One part may wait for the other for minutes.
		_, err = other.Exec(ctx, "SET TRANSACTION SNAPSHOT '"+snapshot+"'; "+
			"SET LOCAL idle_in_transaction_session_timeout = 0")
	}
	if err != nil {
		done()
		return nil, nil, err
	}
	return other, done, nil
}

// ChangeSchema runs one statement that takes table locks, in a transaction of its own; it fails
// with 55P03 when it did not get them in time.
func (p *Pool) ChangeSchema(ctx context.Context, sql string) error {
	return pgx.BeginFunc(ctx, p.Read, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SET LOCAL lock_timeout = '"+LockPatience+"'"); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, sql)
		return err
	})
}

// LockPatience is how long a migration waits for its locks: later writers wait for as long.
const LockPatience = "1s"

// Sleep waits; it returns false when ctx ended.
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
