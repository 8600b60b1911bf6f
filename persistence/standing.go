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
	"dialler/engine/pacing"
	"dialler/persistence/table"
)

const peoplesCalls = `SELECT pass > 1, reserved_at, invite_at, answered_at, verdict_at, bot_connected_at, served_at,
	ended_at,
		verdict, amd_took, outcome, cause, hung_up_by, sip_code, sip_reason, retry_after,
		(result->>'received_at')::timestamptz,
		coalesce(result->>'disposition', ''), coalesce((result->'callback'->>'requested')::bool, false),
		(result->'callback'->>'at')::timestamptz, coalesce((result->>'do_not_call')::bool, false)
	FROM attempts WHERE campaign_id = $1 AND invite_at <= $2 ORDER BY reserved_at DESC, id DESC LIMIT $3`

// People returns how the people on a campaign's list behaved, as known at the given time: by the
// latest callee.MeasuredMost attempts of any run.
func (s *Store) People(ctx context.Context, id engine.CampaignID, at time.Time) (callee.People, error) {
	rows, _ := s.db.Read.Query(ctx, peoplesCalls, string(id), at, callee.MeasuredMost)
	calls, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (c callee.Call, err error) {
		err = row.Scan(
			&c.Again,
			&c.Reserved,
			&c.Invite,
			&c.Answered,
			&c.Verdict,
			&c.Bot,
			&c.Served,
			&c.Ended,
			&c.VerdictIs,
			&c.Took,
			&c.Outcome,
			&c.Cause,
			&c.HungUpBy,
			&c.Code,
			&c.Reason,
			&c.RetryAfter,
			&c.Result,
			&c.Disposition,
			&c.Callback,
			&c.CallbackAt,
			&c.DoNotCall,
		)
		return c, err
	})
	if err != nil {
		return callee.People{}, s.db.Wrap("attempts not read", err)
	}
	return callee.Measure(calls, at), nil
}

// ahead are the contacts that were not final at $3, by used attempts and due time. A contact that
// changed afterwards is reconstructed from its attempts; one that was not dialled again is taken as
// final, unless it was taken out of the list. Of a contact with several numbers the suppression list
// is taken as it is now.
var ahead = `WITH past AS (
		SELECT contact_id, count(*) FILTER (WHERE consumed AND ended_at <= $3) AS used,
			max(ended_at) FILTER (WHERE ended_at <= $3) AS ended,
			bool_or(served_at <= $3 AND (ended_at IS NULL OR ended_at > $3)) AS talking,
			bool_or(reserved_at <= $3 AND (ended_at IS NULL OR ended_at > $3)) AS dialled,
			bool_or(ended_at IS NULL OR ended_at > $3) AS later
		FROM attempts WHERE campaign_id = $1 AND run = $2 AND contact_id IS NOT NULL GROUP BY contact_id)
	SELECT used, (CASE WHEN due < 600 THEN ceil(due) ELSE ceil(due / 15) * 15 END)::bigint AS due, count(*)
	FROM (SELECT coalesce(p.used, 0) AS used, CASE
			WHEN p.talking THEN NULL
			WHEN p.dialled THEN 0
			WHEN c.due_at IS NOT NULL AND c.attempt_id IS NULL AND NOT coalesce(p.later, false)
				THEN greatest(extract(epoch FROM c.due_at - $3), 0)
			WHEN NOT coalesce(p.later, false) AND (c.updated_at <= $3
				OR c.state NOT IN ('excluded', 'window_closed', 'manually_stopped', 'expired')) THEN NULL
			WHEN p.ended IS NULL THEN 0
			ELSE greatest(extract(epoch FROM p.ended - $3) + $4, 0) END AS due
		FROM contacts c LEFT JOIN past p ON p.contact_id = c.id
		WHERE c.campaign_id = $1 AND c.run = $2 AND c.created_at <= $3
			AND NOT EXISTS (SELECT FROM suppressions s WHERE s.number = c.number AND s.created_at <= $3
				AND c.alternates = '')
			AND (c.alternates = '' OR NOT ` + table.Stops("c") + `)) k
	WHERE due IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2`

// doneSoFar leaves out undecided dials, which are still ahead.
const doneSoFar = `SELECT count(*) FILTER (WHERE ended_at <= $3 OR served_at <= $3),
		count(*) FILTER (WHERE served_at <= $3), count(*) FILTER (WHERE outcome = 'abandoned' AND ended_at <= $3)
	FROM attempts WHERE campaign_id = $1 AND run = $2 AND invite_at <= $3`

// Standing returns how the campaign's run stood at a time. For a time in the past, changes to its
// list that led to no call are not undone.
func (s *Store) Standing(ctx context.Context, c *campaign.Campaign, at time.Time) (campaign.Position, error) {
	x := campaign.Position{At: at, Created: c.CreatedAt}
	if c.StartedAt != nil && !c.StartedAt.After(at) {
		x.Started, x.Begun = *c.StartedAt, c.State != campaign.Draft
	}
	rows, _ := s.db.Read.Query(ctx, ahead, string(c.ID), c.Run, at, c.Settings.RetryDelaySec)
	var a campaign.Ahead
	var due int64
	_, err := pgx.ForEachRow(rows, []any{&a.Used, &due, &a.Count}, func() error {
		a.Due = time.Duration(due) * time.Second
		x.Ahead = append(x.Ahead, a)
		return nil
	})
	if err != nil {
		return x, s.db.Wrap("contacts not counted", err)
	}
	if x.Started.IsZero() {
		return x, nil
	}
	if x.Begun {
		err = s.db.Read.QueryRow(ctx, doneSoFar, string(c.ID), c.Run, at).Scan(&x.Dials, &x.Connected, &x.Abandoned)
		if err != nil {
			return x, s.db.Wrap("attempts not counted", err)
		}
	}
	rows, _ = s.db.Read.Query(ctx, "SELECT max(at), "+countAnswers+answers+" AND a.at <= $3 "+
		"GROUP BY floor(extract(epoch FROM at) / $4), at >= $5 ORDER BY 1", string(c.ID), at.Add(-pacing.ThirtyDays), at,
		campaign.AnswersPiece.Seconds(), x.Started)
	var p campaign.PastAnswers
	_, err = pgx.ForEachRow(rows, []any{&p.At, &p.Live, &p.Abandoned, &p.Machines, &p.CapacityLoss}, func() error {
		x.Answers = append(x.Answers, p)
		return nil
	})
	if err != nil {
		return x, s.db.Wrap("abandons not counted", err)
	}
	var b []byte
	err = s.db.Read.QueryRow(ctx, "SELECT state FROM pacing WHERE campaign_id = $1 AND at <= $2", string(c.ID), at).
		Scan(&b)
	var learnt pacing.State
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return x, nil
	case err == nil && json.Unmarshal(b, &learnt) == nil:
		x.Learnt = &learnt
	}
	return x, s.db.Wrap("pacing not read", err)
}
