package lists

import (
	"context"

	"dialler/engine"
	"dialler/engine/campaign"
)

const behaviour = `SELECT count(*), count(a.answered_at), count(*) FILTER (WHERE a.answered_at IS NOT NULL
	AND a.verdict IN ('machine', 'fax', 'sit')),
		coalesce(avg(extract(epoch FROM a.answered_at - a.invite_at)), 0)::float8, coalesce(stddev_samp(extract(epoch
			FROM a.answered_at - a.invite_at)), 0)::float8,
		count(a.served_at), count(*) FILTER (WHERE a.ended_at - a.served_at < make_interval(secs => $3)),
		coalesce(avg(extract(epoch FROM a.ended_at - a.served_at)), 0)::float8
	FROM (SELECT answered_at, verdict, invite_at, CASE WHEN verdict IN ('machine', 'fax', 'sit') THEN NULL
	ELSE served_at END AS served_at, ended_at FROM attempts
		WHERE campaign_id = $1 AND NOT live AND consumed AND invite_at IS NOT NULL ORDER BY reserved_at DESC, id DESC
		LIMIT $2) a`

// Behaviour says what the latest attempts of a campaign came to, of any run.
func (s *Lists) Behaviour(ctx context.Context, id engine.CampaignID) (p campaign.Behaviour, err error) {
	err = s.db.Read.QueryRow(ctx, behaviour, string(id), campaign.BehaviourCap, campaign.ShortTalk.Seconds()).
		Scan(&p.Dials, &p.Answered, &p.Machines, &p.Ring, &p.RingSD, &p.Talks, &p.Short, &p.Talk)
	return p, s.db.Wrap("attempts not counted", err)
}
