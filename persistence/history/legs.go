package history

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/cdr"
	"dialler/engine/number"
	"dialler/persistence/column"
)

// Legs of trunks whose INVITEs left, in order. A far leg went to whom its call was transferred: its
// number is in its address, and the time of its answer is the transfer's.
const sentLegs = `SELECT l.attempt_id, l.n, l.trunk, l.kind, l.uri, a.to_number, a.from_number, l.sent_at,
	CASE WHEN l.kind = '' THEN a.answered_at ELSE (a.transfer->>'answered_at')::timestamptz END, l.ended_at,
	l.sip_code BETWEEN 200 AND 299 OR l.dialog IS NOT NULL
	FROM legs l JOIN attempts a ON a.id = l.attempt_id
	WHERE l.trunk <> '' AND l.sent_at >= $1 AND l.sent_at < $2 AND ($3 = '' OR l.trunk = $3)
	AND a.reserved_at < $2 AND a.reserved_at >= $1 - interval '1 day'
	ORDER BY l.sent_at, l.attempt_id, l.n`

// SentLegs passes the legs whose INVITEs left between two times, through one trunk unless it is "",
// in order of time.
func (s *Records) SentLegs(ctx context.Context, from, to time.Time, trunk engine.TrunkID,
	f func(*cdr.Leg) error) error {
	rows, err := s.db.Read.Query(ctx, sentLegs, from, to, string(trunk))
	err = each(rows, err, func(row pgx.CollectableRow) (l cdr.Leg, err error) {
		var id [16]byte
		var n int
		var kind, uri string
		var answer, end *time.Time
		var answered bool
		if err := row.Scan(&id, &n, &l.Trunk, &kind, &uri, &l.To, &l.From, &l.Start, &answer, &end,
			&answered); err != nil {
			return l, err
		}
		l.ID = engine.AttemptID(column.FormatID(id)).Leg(n)
		if kind != "" {
			l.To, _ = number.Parse(strings.TrimPrefix(uri, "tel:")) // not compared when it is none
		}
		if answered && answer != nil {
			if l.Answer = *answer; end != nil {
				l.End = *end
			}
		}
		return l, nil
	}, f)
	return s.db.Wrap("legs not read", err)
}
