package persistence

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/persistence/column"
	"dialler/persistence/table"
)

// dueDialouts takes the scheduled dialouts whose turn it is: for each precedence a range of the index, those
// first that wait longest for their turn, so that those that were put off do not keep others from it.
// $1 is now, $2 until when nobody else gets them, $3 how many, $4 of which bots not. One that has an attempt
// was dialled through another server, and waits again on this one, which had not heard of it.
const dueDialouts = `WITH due AS (
		SELECT d.id FROM generate_series(-4, 5) p CROSS JOIN LATERAL (
			SELECT s.id, s.precedence, s.not_before, s.next_at FROM scheduled_dialouts s
			WHERE s.precedence = p AND s.not_before <= $1 AND s.next_at <= $1
				AND (s.bot_id <> ALL($4::text[]) OR s.expires_at <= $1)
			ORDER BY s.next_at, s.not_before LIMIT $3 FOR UPDATE SKIP LOCKED) d
		ORDER BY d.precedence, d.next_at, d.not_before, d.id LIMIT $3
	), gone AS (
		DELETE FROM scheduled_dialouts s USING due, attempts a WHERE s.id = due.id AND a.id = due.id
	), claimed AS (
		UPDATE scheduled_dialouts s SET next_at = $2 FROM due WHERE s.id = due.id
			AND NOT EXISTS (SELECT FROM attempts a WHERE a.id = due.id) RETURNING s.*
	) SELECT ` + table.ScheduledNames + ` FROM claimed s ORDER BY s.precedence, s.not_before, s.id`

// nextDialout is when the next one comes to its time, or one that was put off is to be looked at again.
const nextDialout = `SELECT min(n.at) FROM generate_series(-4, 5) p CROSS JOIN LATERAL (
		(SELECT s.not_before AS at FROM scheduled_dialouts s WHERE s.precedence = p AND s.not_before > $1
			ORDER BY s.not_before LIMIT 1)
		UNION ALL
		SELECT min(s.next_at) FROM scheduled_dialouts s
			WHERE s.precedence = p AND s.not_before <= $1 AND s.next_at > $1) n`

// DueDialouts returns up to limit scheduled dialouts that are to be looked at now, by priority and time;
// nobody else gets them before claim has passed. Those of the bots in except are left out unless they have
// expired. next is when the next one is to be looked at, nil when none is.
func (s *Store) DueDialouts(ctx context.Context, now time.Time, claim time.Duration, limit int,
	except []engine.BotID) (due []campaign.ScheduledDialout, next *time.Time, err error) {
	if except == nil {
		except = []engine.BotID{} // null would be equal to no bot, and different from none
	}
	rows, _ := s.db.Read.Query(ctx, dueDialouts, now, now.Add(claim), limit, except)
	if due, err = pgx.CollectRows(rows, table.ScanScheduled); err == nil {
		err = s.db.Read.QueryRow(ctx, nextDialout, now).Scan(&next)
	}
	return due, next, s.db.Wrap("scheduled dialouts not read", err)
}

// PutOffDialout notes why a scheduled dialout could not be dialled, and when it is looked at again.
func (s *Store) PutOffDialout(ctx context.Context, id engine.AttemptID, until time.Time, reason string) error {
	_, err := s.db.Read.Exec(ctx, "UPDATE scheduled_dialouts SET next_at = $2, reason = $3 WHERE id = $1", string(id),
		until, reason)
	return s.db.Wrap("scheduled dialout not put off", err)
}

// ScheduledDialout returns a dialout that waits for its time; ok is false when there is none.
func (s *Store) ScheduledDialout(ctx context.Context, id engine.AttemptID) (d campaign.ScheduledDialout, ok bool,
	err error) {
	if !column.IsID(string(id)) {
		return d, false, nil
	}
	rows, _ := s.db.Read.Query(ctx, "SELECT "+table.ScheduledNames+" FROM scheduled_dialouts s WHERE s.id = $1",
		string(id))
	d, err = pgx.CollectExactlyOneRow(rows, table.ScanScheduled)
	if errors.Is(err, pgx.ErrNoRows) {
		return d, false, nil
	}
	return d, err == nil, s.db.Wrap("scheduled dialout not read", err)
}

// DialoutsTo lists the dialouts to a number that wait for their time.
func (s *Store) DialoutsTo(ctx context.Context, n engine.PhoneNumber) ([]engine.AttemptID, error) {
	rows, _ := s.db.Read.Query(ctx, "SELECT replace(id::text, '-', '') FROM scheduled_dialouts WHERE to_number = $1 "+
		"ORDER BY id", n.E164())
	ids, err := pgx.CollectRows(rows, pgx.RowTo[engine.AttemptID])
	return ids, s.db.Wrap("scheduled dialouts not read", err)
}
