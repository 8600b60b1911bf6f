package contacts

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/persistence/table"
)

// countAhead reads the contacts once. Suppression is looked up only for those that wait for a dial.
var countAhead = `SELECT c.reason, count(*), coalesce(sum(c.attempts), 0)::bigint, count(*) FILTER (WHERE c.later)
	FROM (
		SELECT CASE
			WHEN k.state = 'excluded' THEN 'excluded'
			WHEN k.state NOT IN ('pending', 'unanswered', 'connected') THEN 'processed'
			WHEN k.attempt_id IS NOT NULL OR k.due_at IS NULL THEN 'in_progress'
			WHEN k.choice & ` + stopped + ` <> 0 THEN 'excluded'
			WHEN CASE WHEN k.alternates = '' THEN s.number IS NOT NULL ELSE ` + table.Stops("k") + ` END THEN 'suppressed'
			WHEN k.expires_at <= $3 THEN 'expired'
			ELSE '' END AS reason, k.not_before > $3 AS later,
			greatest(k.max - k.used, 1) AS attempts
		FROM contacts k LEFT JOIN suppressions s ON s.number = k.number
		WHERE k.campaign_id = $1 AND k.run = $2) c
	GROUP BY 1 ORDER BY 1`

// countTooLong counts the waiting contacts that have a variable of more than $3 bytes.
var countTooLong = `SELECT count(*) FROM contacts k JOIN contact_variables v ON v.contact_id = k.id
	WHERE k.campaign_id = $1 AND k.run = $2 AND k.state IN ('pending', 'unanswered', 'connected')
	AND k.attempt_id IS NULL AND k.due_at IS NOT NULL AND (k.expires_at <= $4) IS NOT TRUE
	AND octet_length(v.variables::text) > $3
	AND EXISTS (SELECT FROM jsonb_each_text(v.variables) x WHERE octet_length(x.value) > $3)
	AND ` + table.Goes("k")

const latestAttempts = `SELECT count(*), count(a.answered_at), count(a.served_at),
		count(*) FILTER (WHERE a.outcome = 'abandoned'),
		coalesce(sum(extract(epoch FROM a.ended_at - a.bot_connected_at)) FILTER (WHERE a.served_at IS NOT NULL),
			0)::float8,
		coalesce(sum(extract(epoch FROM coalesce(a.answered_at, a.ended_at) - a.invite_at)), 0)::float8
	FROM (SELECT answered_at, served_at, outcome, ended_at, bot_connected_at, invite_at FROM attempts
		WHERE campaign_id = $1 AND NOT live AND consumed AND invite_at IS NOT NULL ORDER BY reserved_at DESC, id DESC
		LIMIT $2) a`

var waitingNumbers = `SELECT min(k.next), count(*) FROM (
		SELECT k.*, ` + table.NextNumber("k") + ` AS next FROM contacts k) k
	WHERE k.campaign_id = $1 AND k.run = $2 AND k.state IN ('pending', 'unanswered', 'connected')
	AND k.attempt_id IS NULL AND k.due_at IS NOT NULL AND (k.expires_at <= $5) IS NOT TRUE
		AND ` + table.Goes("k") + `
	GROUP BY left(k.next, $3) ORDER BY 2 DESC LIMIT $4`

// WaitingNumbers groups the numbers that Outlook calls waiting by their first digits, the largest
// groups first: one number of each group, and the group's size.
func (s *Roster) WaitingNumbers(ctx context.Context, id engine.CampaignID, run int,
	now time.Time) ([]campaign.NumberGroup, error) {
	rows, _ := s.db.Read.Query(ctx, waitingNumbers, string(id), run, campaign.GroupDigits, campaign.GroupCap, now)
	groups, err := pgx.CollectRows(rows, pgx.RowToStructByPos[campaign.NumberGroup])
	return groups, s.db.Wrap("numbers not counted", err)
}

// Outlook counts the contacts of a campaign by whether they are dialled in the run, and if not,
// why, and by what their latest attempts came to.
func (s *Roster) Outlook(ctx context.Context, id engine.CampaignID, run int, now time.Time) (o campaign.Outlook,
	err error) {
	rows, _ := s.db.Read.Query(ctx, countAhead, string(id), run, now)
	var reason string
	var n, attempts, later int
	_, err = pgx.ForEachRow(rows, []any{&reason, &n, &attempts, &later}, func() error {
		o.Total += n
		if reason == "" {
			o.Waiting, o.Attempts, o.Later = n, attempts, later
			return nil
		}
		o.Skipped = append(o.Skipped, campaign.SkipReason{Reason: reason, Count: n})
		return nil
	})
	if err != nil {
		return campaign.Outlook{}, s.db.Wrap("contacts not counted", err)
	}
	err = s.db.Read.QueryRow(ctx, countTooLong, string(id), run, engine.VariableHeaderCap, now).Scan(&o.TooLong)
	if err != nil {
		return campaign.Outlook{}, s.db.Wrap("variables not measured", err)
	}
	p := &o.Past
	err = s.db.Read.QueryRow(ctx, latestAttempts, string(id), campaign.PastCap).
		Scan(&p.Dials, &p.Answered, &p.Connected, &p.Abandoned, &p.TalkSeconds, &p.RingSeconds)
	return o, s.db.Wrap("attempts not counted", err)
}
