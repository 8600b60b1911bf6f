package settings

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/disposition"
	"dialler/persistence/table"
)

// Numbers lists every outbound number.
func (s *Configuration) Numbers(ctx context.Context) ([]engine.NumberSettings, error) {
	rows, _ := s.db.Read.Query(ctx, "SELECT number, concurrent_cap, hour_cap, day_cap, rest_s, state, answer_floor, "+
		"callback_policy, callback_bot, callback_message FROM numbers ORDER BY number")
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (n engine.NumberSettings, err error) {
		err = row.Scan(&n.Number, &n.ConcurrentCap, &n.HourCap, &n.DayCap, &n.RestSec, &n.State, &n.AnswerFloor,
			&n.CallbackPolicy, &n.CallbackBot, &n.CallbackMessage)
		return n, err
	})
	return list, s.db.Wrap("numbers not read", err)
}

// NumberDials counts, by the minute, the dials since a time from the numbers whose dials are
// capped. A dial that certainly never left does not count.
func (s *Configuration) NumberDials(ctx context.Context, since time.Time) ([]engine.NumberDials, error) {
	rows, _ := s.db.Read.Query(ctx, `SELECT n.number, d.at, d.count FROM numbers n, LATERAL (
			SELECT date_trunc('minute', a.reserved_at) AS at, count(*)::integer AS count FROM attempts a
			WHERE a.from_number = n.number AND a.reserved_at >= $1 AND NOT a.inbound
			AND (a.live OR a.invite_at IS NOT NULL) GROUP BY 1) d
		WHERE n.hour_cap > 0 OR n.day_cap > 0 ORDER BY 1, 2`, since)
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (d engine.NumberDials, err error) {
		err = row.Scan(&d.Number, &d.At, &d.Count)
		return d, err
	})
	return list, s.db.Wrap("dials of numbers not read", err)
}

// NumberEnds returns how the last calls of every number ended, oldest first: at most that many per
// number, and none before the given time. Strikes from before an operator ended the number's
// quarantine are forgiven.
func (s *Configuration) NumberEnds(ctx context.Context, since time.Time, most int) ([]engine.NumberEnd, error) {
	rows, _ := s.db.Read.Query(ctx, `SELECT n.number, e.ended_at, e.answered_at IS NOT NULL, e.outcome, e.sip_code,
		e.ended_at > n.strikes_since
		FROM numbers n CROSS JOIN LATERAL (
			SELECT ended_at, answered_at, outcome, sip_code FROM attempts a
			WHERE a.from_number = n.number AND a.reserved_at >= $1 AND NOT a.inbound AND NOT a.live AND a.invite_at IS NOT NULL
			AND a.ended_at IS NOT NULL
			ORDER BY a.reserved_at DESC LIMIT $2
		) e ORDER BY n.number, e.ended_at`, since, most)
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (e engine.NumberEnd, err error) {
		var outcome engine.Outcome
		var code int
		var counts bool
		err = row.Scan(&e.Number, &e.At, &e.Answered, &outcome, &code, &counts)
		e.Struck = counts && disposition.Struck(outcome, code)
		return e, err
	})
	return list, s.db.Wrap("ended calls of numbers not read", err)
}

// QuarantineNumber takes a number out of use until an operator ends that; a number that is not
// configured is added, without caps.
func (s *Configuration) QuarantineNumber(ctx context.Context, n engine.PhoneNumber) error {
	return s.db.InTx(ctx, "quarantine not stored", func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO numbers (number, concurrent_cap, hour_cap, day_cap, rest_s, state)
			VALUES ($1, 0, 0, 0, 0, 'quarantined')
			ON CONFLICT (number) DO UPDATE SET state = 'quarantined' WHERE numbers.state <> 'retired'`, n.E164())
		if err != nil {
			return err
		}
		rows := s.db.Written()
		if err := rows.Add(ctx, tx, table.Owner{}, table.PartNumber, "t.number = $1", n.E164()); err != nil {
			return err
		}
		return s.db.TellWritten(ctx, tx, rows)
	})
}

// PutNumber creates or replaces an outbound number.
func (s *Configuration) PutNumber(ctx context.Context, n engine.NumberSettings, who engine.Who) (created bool,
	err error) {
	err = s.db.InTx(ctx, "number not stored", func(tx pgx.Tx) error {
		if created, err = table.Absent(ctx, tx, "numbers", "number", n.Number.E164()); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `INSERT INTO numbers (number, concurrent_cap, hour_cap, day_cap, rest_s, state,
			answer_floor, callback_policy, callback_bot, callback_message) VALUES ($1, $2, $3, $4, $5, $6, $7, $9, $10, $11)
			ON CONFLICT (number) DO UPDATE SET concurrent_cap = excluded.concurrent_cap, hour_cap = excluded.hour_cap,
			day_cap = excluded.day_cap, rest_s = excluded.rest_s, state = excluded.state,
				answer_floor = excluded.answer_floor, callback_policy = excluded.callback_policy,
				callback_bot = excluded.callback_bot, callback_message = excluded.callback_message,
			strikes_since = CASE WHEN numbers.state = 'quarantined' AND excluded.state = 'active' THEN $8
				ELSE numbers.strikes_since END`,
			n.Number.E164(), n.ConcurrentCap, n.HourCap, n.DayCap, n.RestSec, n.State, n.AnswerFloor, time.Now(),
			n.CallbackPolicy, n.CallbackBot, n.CallbackMessage)
		if err != nil {
			return err
		}
		return s.db.NoteRow(ctx, tx, table.PartNumber, n.Number.E164(), table.Verb("number", created), n.Number.String(), who)
	})
	return created, err
}
