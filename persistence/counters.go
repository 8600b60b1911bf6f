package persistence

import (
	"context"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/tally"
)

// The formulas of the counters are those of engine/tally, which folds them
// from events; here they count the tables, and a test holds the one against
// the other. open is contact.Open as SQL.
const openStates = "c.state IN ('pending', 'unanswered', 'connected')"

const countContacts = `SELECT c.state, count(*),
		count(*) FILTER (WHERE c.used = 0 AND ` + openStates + `),
		count(*) FILTER (WHERE c.connected_once),
		count(*) FILTER (WHERE c.has_result),
		count(*) FILTER (WHERE c.rang_unanswered),
		coalesce(sum(greatest(0, c.max - c.used)) FILTER (WHERE ` + openStates + `), 0)
	FROM `

const countAttempts = `SELECT count(*) FILTER (WHERE a.consumed AND NOT a.live),
		count(a.answered_at) FILTER (WHERE NOT a.live),
		count(a.served_at) FILTER (WHERE NOT a.live),
		count(a.served_at),
		count(*) FILTER (WHERE a.served_at IS NOT NULL AND a.result IS NOT NULL),
		count(*) FILTER (WHERE a.outcome = 'abandoned' AND NOT a.live),
		count(*) FILTER (WHERE a.outcome = 'abandoned' AND NOT a.live AND a.cause = 'capacity_loss'),
		coalesce(sum(floor(extract(epoch FROM greatest(interval '0', a.ended_at - a.bot_connected_at)) * 1000))
			FILTER (WHERE a.served_at IS NOT NULL AND NOT a.live), 0)::double precision / 1000
	FROM attempts a WHERE a.campaign_id = $1 AND a.run = $2`

// Counters counts the campaign's tables by the formulas of engine/tally. The
// contacts of an earlier run are those that were kept when the next one was
// prepared.
func (s *Store) Counters(ctx context.Context, id engine.CampaignID, run int) (campaign.Counters, error) {
	c := campaign.Counters{States: map[contact.State]int{}}
	// One snapshot for both: a call that ends between them is in neither or in
	// both.
	err := pgx.BeginTxFunc(ctx, s.read, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		found, err := countRun(ctx, tx, &c, "contacts c WHERE c.campaign_id = $1 AND c.run = $2", id, run)
		if err == nil && !found {
			_, err = countRun(ctx, tx, &c, "contact_runs c WHERE c.campaign_id = $1 AND c.run = $2", id, run)
		}
		if err != nil {
			return err
		}
		abandoned := 0
		err = tx.QueryRow(ctx, countAttempts, string(id), run).Scan(&c.Attempts, &c.Answered, &c.Conversations, &c.ConnectedCalls, &c.ResultCalls,
			&abandoned, &c.CapacityLoss, &c.TalkSeconds)
		c.LiveAnswers = c.ConnectedCalls + abandoned
		return err
	})
	if err != nil {
		return campaign.Counters{}, s.wrap("campaign not counted", err)
	}
	tally.Rates(&c)
	return c, nil
}

func countRun(ctx context.Context, tx pgx.Tx, c *campaign.Counters, from string, id engine.CampaignID, run int) (found bool, err error) {
	rows, _ := tx.Query(ctx, countContacts+from+" GROUP BY c.state", string(id), run)
	var state contact.State
	var n, pending, connected, completed, unanswered, left int
	_, err = pgx.ForEachRow(rows, []any{&state, &n, &pending, &connected, &completed, &unanswered, &left}, func() error {
		found = true
		c.States[state] = n
		c.Total += n
		c.Pending += pending
		c.Connected += connected
		c.Completed += completed
		c.Unanswered += unanswered
		c.RetriesLeft += left
		switch state {
		case contact.Abandoned:
			c.Abandoned = n
		case contact.MachineDetected:
			c.MachineDetected = n
		case contact.WindowClosed:
			c.WindowClosed = n
		case contact.ManuallyStopped:
			c.ManuallyStopped = n
		case contact.Failed:
			c.Failed = n
		case contact.Excluded:
			c.Excluded = n
		case contact.Pending, contact.Unanswered, contact.Connected, contact.Completed:
		}
		return nil
	})
	return found, err
}
