package persistence

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/pacing"
)

// answers are a campaign's answered calls since $2, classified for the abandon rate: served,
// abandoned (an abandoned call that still hears the information message counts), or taken for a
// machine. A call that a beep may still revise is none of these yet; at is when its class was
// known. Times that the index does not cover are compared row by row: the ledgers are read once in
// the life of a campaign's actors.
const answers = `FROM (SELECT a.served_at IS NOT NULL AND (a.revisable_until IS NULL
	OR NOT a.live) AS served, x.abandoned, x.abandoned AND x.cause = 'capacity_loss' AS lost,
			NOT x.abandoned AND a.served_at IS NULL AND a.verdict IN ('machine', 'fax', 'sit') AS machine,
			CASE WHEN a.served_at IS NOT NULL THEN coalesce(least(a.revisable_until, a.ended_at), a.served_at)
				WHEN NOT x.abandoned THEN a.verdict_at
				WHEN a.live THEN (a.ending->>'at')::timestamptz ELSE a.ended_at END AS at
		FROM attempts a, LATERAL (SELECT a.served_at IS NULL AND CASE WHEN a.live THEN a.ending->>'outcome'
		ELSE a.outcome END = 'abandoned' AS abandoned,
			CASE WHEN a.live THEN a.ending->>'cause' ELSE a.cause END AS cause) x
		WHERE a.campaign_id = $1 AND a.answered_at IS NOT NULL) a WHERE a.at >= $2`

const countAnswers = `count(*) FILTER (WHERE served OR abandoned), count(*) FILTER (WHERE abandoned),
	count(*) FILTER (WHERE machine), count(*) FILTER (WHERE lost) `

// AbandonLedger counts, since a time and over all runs, the campaign's live answers (served and
// abandoned), the abandoned among them, and the machines.
func (s *Store) AbandonLedger(ctx context.Context, id engine.CampaignID, since time.Time) (c pacing.Counts, err error) {
	err = s.db.Read.QueryRow(ctx, "SELECT "+countAnswers+answers, string(id), since).Scan(&c.Live, &c.Abandoned,
		&c.Machines, &c.CapacityLoss)
	return c, s.db.Wrap("abandons not counted", err)
}

// AbandonHours returns the same counts by the hour in UTC (pacing.HourOf).
func (s *Store) AbandonHours(ctx context.Context, id engine.CampaignID, since time.Time) (map[int64]pacing.Counts,
	error) {
	rows, _ := s.db.Read.Query(ctx, "SELECT floor(extract(epoch FROM at) / 3600)::bigint, "+countAnswers+answers+" "+
		"GROUP BY 1", string(id), since)
	hours := map[int64]pacing.Counts{}
	var hour int64
	var c pacing.Counts
	_, err := pgx.ForEachRow(rows, []any{&hour, &c.Live, &c.Abandoned, &c.Machines, &c.CapacityLoss}, func() error {
		hours[hour] = c
		return nil
	})
	return hours, s.db.Wrap("abandons not counted", err)
}
