package persistence

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/persistence/column"
)

// OpenAttempts lists every attempt that has not ended, of campaigns and
// dialouts, with its legs.
func (s *Store) OpenAttempts(ctx context.Context) ([]attempt.Attempt, error) {
	return s.db.Attempts(ctx, "WHERE a.live ORDER BY a.id")
}

// Attempt returns an attempt with its legs; ok is false when there is none.
func (s *Store) Attempt(ctx context.Context, id engine.AttemptID) (a attempt.Attempt, ok bool, err error) {
	if !column.IsID(string(id)) {
		return attempt.Attempt{}, false, nil
	}
	list, err := s.db.Attempts(ctx, "WHERE a.id = $1", string(id))
	if err != nil || len(list) == 0 {
		return attempt.Attempt{}, false, err
	}
	return list[0], true, nil
}

// Hold returns the hold on a number, nil when it is free.
func (s *Store) Hold(ctx context.Context, n engine.PhoneNumber) (*attempt.Hold, error) {
	var h attempt.Hold
	err := s.db.Read.QueryRow(ctx, `SELECT replace(attempt_id::text, '-', ''), hold_until FROM number_holds
		WHERE number = $1 AND (hold_until IS NULL OR hold_until > now())`, n.E164()).Scan(&h.Attempt, &h.Until)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, s.db.Wrap("hold not read", err)
	}
	return &h, nil
}

// HoldOpen makes each attempt that has not ended hold its number, as its intent did: a server that
// lost its latest commits may have learned of an attempt from a later write, out of a spool. The
// row is locked, so that an attempt that ends meanwhile gets no hold.
func (s *Store) HoldOpen(ctx context.Context) error {
	_, err := s.db.Read.Exec(ctx, `WITH open AS (
			SELECT to_number, id FROM attempts WHERE live AND to_number <> '' FOR SHARE
		) INSERT INTO number_holds AS h (number, attempt_id)
		SELECT DISTINCT ON (to_number) to_number, id FROM open ORDER BY to_number, id
		ON CONFLICT (number) DO UPDATE SET attempt_id = excluded.attempt_id, hold_until = NULL, bound = NULL
		WHERE h.hold_until <= now()`)
	return s.db.Wrap("numbers of open attempts not held", err)
}

// OpenLegs lists the attempts that ended as lost while one of their legs had no final answer and
// whose number is still held, so that the leg can be watched.
func (s *Store) OpenLegs(ctx context.Context) ([]attempt.Attempt, error) {
	return s.db.Attempts(ctx, `WHERE NOT a.live AND a.id IN (
		SELECT h.attempt_id FROM number_holds h JOIN legs l ON l.attempt_id = h.attempt_id
		WHERE h.hold_until > now() AND l.ended_at IS NULL) ORDER BY a.id`)
}

// longestCall bounds how long an attempt lasts, with a wide margin: the longest call that a
// campaign allows is 4 h.
const longestCall = 7 * 24 * time.Hour

// AbandonedSince returns when each number was last abandoned, in any campaign and run; numbers that
// were not are left out.
func (s *Store) AbandonedSince(ctx context.Context, numbers []engine.PhoneNumber,
	since time.Time) (map[engine.PhoneNumber]time.Time, error) {
	if len(numbers) != 1 {
		return s.abandonedSince(ctx, numbers, since)
	}
	at, ok, err := s.abandoned.Of(ctx, abandonOf{numbers[0], since})
	if !ok {
		return map[engine.PhoneNumber]time.Time{}, err
	}
	return map[engine.PhoneNumber]time.Time{numbers[0]: at}, err
}

// abandonOf asks for the last abandon of a number since a time.
type abandonOf struct {
	number engine.PhoneNumber
	since  time.Time
}

// abandonedOf queries all keys from the earliest of their times: a later abandon is still the last
// one of its number.
func (s *Store) abandonedOf(ctx context.Context, keys []abandonOf) (map[abandonOf]time.Time, error) {
	numbers, since := make([]engine.PhoneNumber, len(keys)), keys[0].since
	for i, k := range keys {
		numbers[i] = k.number
		if k.since.Before(since) {
			since = k.since
		}
	}
	last, err := s.abandonedSince(ctx, numbers, since)
	found := make(map[abandonOf]time.Time, len(last))
	for _, k := range keys {
		if at, ok := last[k.number]; ok && !at.Before(k.since) {
			found[k] = at
		}
	}
	return found, err
}

func (s *Store) abandonedSince(ctx context.Context, numbers []engine.PhoneNumber,
	since time.Time) (map[engine.PhoneNumber]time.Time, error) {
	rows, _ := s.db.Read.Query(ctx, `SELECT a.to_number, max(a.ended_at) FROM attempts a
		WHERE NOT a.live AND NOT a.inbound AND a.outcome = 'abandoned' AND a.to_number = ANY($1::text[]) AND a.ended_at >= $2
		AND a.reserved_at >= $3 GROUP BY 1`,
		numbers, since, since.Add(-longestCall))
	out := map[engine.PhoneNumber]time.Time{}
	var n engine.PhoneNumber
	var at time.Time
	_, err := pgx.ForEachRow(rows, []any{&n, &at}, func() error {
		out[n] = at
		return nil
	})
	return out, s.db.Wrap("abandons not read", err)
}

// Dialouts returns the newest calls outside campaigns.
func (s *Store) Dialouts(ctx context.Context, limit int) ([]attempt.Attempt, error) {
	return s.db.Attempts(ctx, "WHERE a.campaign_id = '' ORDER BY a.id DESC LIMIT $1", limit)
}
