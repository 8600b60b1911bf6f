package persistence

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/callee"
	"dialler/engine/campaign"
	"dialler/engine/forecast"
)

const (
	// backTestWithin is how long after its end a run may still be back-tested; backTestAfter is how
	// long its last results have to arrive.
	backTestWithin = 7 * 24 * time.Hour
	backTestAfter  = 10 * time.Second
	// backTestAgain is the time after which another process may take over a claim without a result.
	backTestAgain = time.Hour
	// backTestsKept is how many back-tests are kept for a campaign, the latest ones.
	backTestsKept = 20
	// trustedRuns is the number of back-tests by which a forecast is judged, the latest ones.
	trustedRuns = 20
)

// A run that was stopped by hand has no natural end to forecast.
const claimBackTest = `INSERT INTO back_tests AS b (campaign_id, run, claimed_at)
	SELECT c.id, c.run, $1::timestamptz FROM campaigns c
	WHERE c.state = 'completed' AND c.completion_reason <> 'manually_stopped' AND c.started_at IS NOT NULL
		AND c.completed_at BETWEEN $2 AND $3
		AND NOT EXISTS (SELECT FROM back_tests o WHERE o.campaign_id = c.id AND o.run = c.run
			AND (o.points IS NOT NULL OR o.claimed_at > $4))
	ORDER BY c.completed_at LIMIT 1
	ON CONFLICT (campaign_id, run) DO UPDATE SET claimed_at = excluded.claimed_at
		WHERE b.points IS NULL AND b.claimed_at <= $4
	RETURNING campaign_id`

// ClaimBackTest claims, for one caller only, a campaign whose latest run is over and not yet
// back-tested; ok is false when there is none.
func (s *Store) ClaimBackTest(ctx context.Context, now time.Time) (c campaign.Campaign, ok bool, err error) {
	var id string
	err = s.db.Write.QueryRow(ctx, claimBackTest, now, now.Add(-backTestWithin), now.Add(-backTestAfter),
		now.Add(-backTestAgain)).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return c, false, nil
	}
	if err != nil {
		return c, false, s.db.Wrap("back-test not claimed", err)
	}
	c, err = s.Campaign(ctx, engine.CampaignID(id))
	return c, err == nil, err
}

// BackTestMoments returns when given percentages of a run's dials had been placed, and how the run
// went; few is true when it had too few dials to be forecast.
func (s *Store) BackTestMoments(ctx context.Context, c *campaign.Campaign) (at []time.Time, course forecast.Course,
	few bool, err error) {
	shares := make([]float64, len(forecast.BackTestShares))
	for i, pct := range forecast.BackTestShares {
		shares[i] = float64(pct) / 100
	}
	course.Started, course.Ended = *c.StartedAt, *c.CompletedAt
	err = s.db.Read.QueryRow(ctx, `SELECT count(*), count(served_at), count(*) FILTER (WHERE outcome = 'abandoned'),
			coalesce(percentile_disc($3::float8[]) WITHIN GROUP (ORDER BY invite_at), '{}')
		FROM attempts WHERE campaign_id = $1 AND run = $2 AND invite_at IS NOT NULL`, string(c.ID), c.Run, shares).
		Scan(&course.Dials, &course.Connected, &course.Abandoned, &at)
	return at, course, course.Dials < 2*callee.MeasuredLeast, s.db.Wrap("attempts not counted", err)
}

// KeepBackTest stores the result of a back-test and keeps only the latest of each campaign.
func (s *Store) KeepBackTest(ctx context.Context, id engine.CampaignID, run int,
	points []forecast.BackTestPoint) error {
	if points == nil {
		points = []forecast.BackTestPoint{}
	}
	b, err := json.Marshal(points)
	if err != nil {
		return err
	}
	_, err = s.db.Write.Exec(ctx, `WITH kept AS (UPDATE back_tests SET points = $3 WHERE campaign_id = $1 AND run = $2)
		DELETE FROM back_tests WHERE campaign_id = $1 AND run <= $2 - $4`, string(id), run, b, backTestsKept)
	return s.db.Wrap("back-test not kept", err)
}

// BackTests returns the campaign's back-tests by run, the latest first.
func (s *Store) BackTests(ctx context.Context, id engine.CampaignID) (list []forecast.RunBackTest, err error) {
	rows, _ := s.db.Read.Query(ctx, `SELECT run, points FROM back_tests
		WHERE campaign_id = $1 AND points <> '[]' ORDER BY run DESC`, string(id))
	return s.backTests(rows)
}

// Trusted returns the latest back-tests of all campaigns, by which a forecast is judged.
func (s *Store) Trusted(ctx context.Context) (list []forecast.RunBackTest, err error) {
	rows, _ := s.db.Read.Query(ctx, `SELECT run, points FROM back_tests
		WHERE points <> '[]' ORDER BY claimed_at DESC LIMIT $1`, trustedRuns)
	return s.backTests(rows)
}

func (s *Store) backTests(rows pgx.Rows) (list []forecast.RunBackTest, err error) {
	var run int
	var b []byte
	_, err = pgx.ForEachRow(rows, []any{&run, &b}, func() error {
		t := forecast.RunBackTest{Run: run}
		if err := json.Unmarshal(b, &t.Points); err != nil {
			return err
		}
		list = append(list, t)
		return nil
	})
	return list, s.db.Wrap("back-tests not read", err)
}
