package commit

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"dialler/engine"
	"dialler/engine/journal"
	"dialler/persistence/failure"
	"dialler/persistence/pool"
)

// renewals blocks commits on a server that replaces another, or was restarted, until the holds of
// this process's calls are written there: the server may have lost its latest commits. So every
// intent finds the number of a live call held, whichever node writes it, and a restarted process
// finds the call.
type renewals struct {
	held func() []journal.Write // nil: nothing is

	mu   sync.Mutex
	on   pool.Server // the server on which the holds are written
	next pool.Server // written there too, while other nodes may still be writing; since at
	at   time.Time
}

// othersRenew is how long a node waits, on a server with another history, for the other nodes to
// write their holds.
const othersRenew = 5 * time.Second

// renewedPart is how many calls are written per transaction.
const renewedPart = 256

var (
	errMoved       = errors.New("the connection is to a different server than before")
	errOthersRenew = errors.New("other nodes tell the server about their calls")
)

// Renews sets held: the writes that it returns are repeated on each server that replaces another.
func (w *Writer) Renews(held func() []journal.Write) {
	w.renewals.mu.Lock()
	defer w.renewals.mu.Unlock()
	w.renewals.held = held
}

// acquire returns a connection to a server on which the holds are written. renewing names that
// server while they are being written.
func (w *Writer) acquire(ctx context.Context, renewing pool.Server) (*pgxpool.Conn, error) {
	conn, err := w.db.Write.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	s := pool.ServerOf(conn.Conn())
	if renewing == s || renewing == "" && w.stands(s) {
		return conn, nil
	}
	conn.Release()
	if renewing != "" {
		return nil, failure.OfAway(failure.Unreachable, errMoved)
	}
	if err := w.Arrived(ctx, s); err != nil {
		return nil, err
	}
	return w.acquire(ctx, "")
}

func (w *Writer) stands(s pool.Server) bool {
	w.renewals.mu.Lock()
	defer w.renewals.mu.Unlock()
	return w.renewals.on == s
}

// Arrived writes the holds on a server, unless that was done already.
func (w *Writer) Arrived(ctx context.Context, s pool.Server) error {
	r := &w.renewals
	r.mu.Lock()
	defer r.mu.Unlock()
	if s == r.on {
		return nil
	}
	if s != r.next {
		if err := w.renew(ctx, s); err != nil {
			return err
		}
		r.next, r.at = s, time.Now()
	}
	known := r.on == "" || r.on.History() == s.History() || w.db.Acting.Load() == 0
	if !known && time.Since(r.at) < othersRenew {
		return failure.OfAway(failure.Renewing, errOthersRenew)
	}
	r.on, r.next = s, ""
	return nil
}

// renew writes the holds.
func (w *Writer) renew(ctx context.Context, s pool.Server) error {
	w.marks.forget() // which legs are stored there is unknown
	if w.renewals.held == nil {
		return nil
	}
	held, lost := w.renewals.held(), 0
	for part := range slices.Chunk(held, renewedPart) {
		refused, err := w.commitTo(ctx, part, s)
		if err != nil {
			return err
		}
		for i, err := range refused {
			if err == nil {
				continue
			}
			lost++
			e := w.db.Config.Log.Error().Str("code", engine.ErrorCode(err))
			if len(part[i].Attempts) > 0 {
				e = e.Str("attempt_id", string(part[i].Attempts[0].ID))
			}
			e.Msg("the database, restarted or replaced, did not take what a live call holds")
		}
	}
	if len(held) > 0 {
		w.db.Config.Log.Info().Int("writes", len(held)-lost).
			Msg("the database was restarted or replaced; what live calls hold was written again")
	}
	return nil
}
