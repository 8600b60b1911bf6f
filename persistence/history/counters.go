package history

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/tally"
	"dialler/persistence/table"
)

// The formulas of the counters are those of engine/tally, which folds them
// from events; here they count the tables, and a test holds the one against
// the other. Each table is gone through once, grouped by what tells its rows
// apart, however many there are: a million contacts take a second.

// countContacts groups contacts by their facts (contact.Facts).
var countContacts = `SELECT c.state, c.used, c.max, c.attempt_id IS NOT NULL AS live, c.connected_once, c.has_result,
	c.rang_unanswered, c.callback,
		` + table.Awaits("c") + ` AS awaits, count(*)
	FROM `

const countAttempts = `SELECT a.pass, min(a.reserved_at), max(a.reserved_at),
		count(*) FILTER (WHERE a.live),
		count(*) FILTER (WHERE a.consumed AND NOT a.live),
		count(a.answered_at),
		count(*) FILTER (WHERE a.answered_at IS NOT NULL OR a.consumed AND NOT a.live),
		count(*) FILTER (WHERE a.outcome = 'machine' AND NOT a.live),
		count(a.served_at) FILTER (WHERE NOT a.live),
		count(a.served_at),
		count(*) FILTER (WHERE a.served_at IS NOT NULL AND a.result IS NOT NULL),
		count(*) FILTER (WHERE a.outcome = 'abandoned' AND NOT a.live),
		count(*) FILTER (WHERE a.outcome = 'abandoned' AND NOT a.live AND a.cause = 'capacity_loss'),
		coalesce(sum(floor(extract(epoch FROM greatest(interval '0', a.ended_at - a.bot_connected_at)) * 1000))
			FILTER (WHERE a.served_at IS NOT NULL AND NOT a.live), 0)::bigint,
		count(a.callback_at) FILTER (WHERE a.consumed AND NOT a.live),
		coalesce(sum(floor(extract(epoch FROM greatest(interval '0', coalesce(a.invite_at,
			a.reserved_at) - a.callback_at)) * 1000))
			FILTER (WHERE a.consumed AND NOT a.live), 0)::bigint
	FROM attempts a WHERE a.campaign_id = $1 AND a.run = $2 GROUP BY a.pass`

// Counters counts the campaign's tables by the formulas of engine/tally. The
// contacts of an earlier run are those that were kept when the next one was
// prepared.
func (s *Records) Counters(ctx context.Context, id engine.CampaignID, run int) (c campaign.Counters, err error) {
	// One snapshot for both: a call that ends between them is in neither or in
	// both.
	err = pgx.BeginTxFunc(ctx, s.db.Read, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly},
		func(tx pgx.Tx) error {
			c, err = countRun(ctx, tx, id, run)
			return err
		})
	return c, s.db.Wrap("campaign not counted", err)
}

func countRun(ctx context.Context, tx pgx.Tx, id engine.CampaignID, run int) (campaign.Counters, error) {
	kept, err := readCheckpoint(ctx, tx, id, run)
	if err != nil {
		return campaign.Counters{}, err
	}
	t := tally.New()
	found, err := addContactsOf(ctx, tx, t, "contacts c WHERE c.campaign_id = $1 AND c.run = $2", id, run)
	if err == nil && !found {
		_, err = addContactsOf(ctx, tx, t, "contact_runs c WHERE c.campaign_id = $1 AND c.run = $2", id, run)
	}
	switch {
	case err != nil:
	case kept.attemptsGone:
		addKept(t, &kept.counters)
	default:
		err = addAttemptsOf(ctx, tx, t, id, run)
	}
	if err != nil {
		return campaign.Counters{}, err
	}
	return t.Counters(), nil
}

func addContactsOf(ctx context.Context, tx pgx.Tx, t *tally.Tally, from string, id engine.CampaignID,
	run int) (found bool, err error) {
	rows, _ := tx.Query(ctx, countContacts+from+" GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9", string(id), run)
	var f contact.Facts
	var n int
	_, err = pgx.ForEachRow(rows, []any{&f.State, &f.Used, &f.Max, &f.Live, &f.Connected, &f.Result, &f.Unanswered,
		&f.Callback, &f.Awaits, &n}, func() error {
		found = true
		f.Open = (&contact.Contact{State: f.State}).Open()
		t.Contacts(&f, n)
		return nil
	})
	return found, err
}

func addAttemptsOf(ctx context.Context, tx pgx.Tx, t *tally.Tally, id engine.CampaignID, run int) error {
	c := &t.C
	rows, _ := tx.Query(ctx, countAttempts, string(id), run)
	var pass, live, consumed, answered, decided, machines, conversations, connected, results, abandoned, lost, calls int
	var talk, delay int64
	var first, last *time.Time
	_, err := pgx.ForEachRow(rows, []any{&pass, &first, &last, &live, &consumed, &answered, &decided, &machines,
		&conversations, &connected, &results,
		&abandoned, &lost, &talk, &calls, &delay}, func() error {
		p := c.Pass(pass)
		for _, at := range []*time.Time{first, last} {
			if at != nil {
				p.Dialled(*at)
			}
		}
		p.Live, p.Consumed, p.Connected = live, consumed, connected
		c.Attempts += consumed
		c.Answered += answered
		c.Decided += decided
		c.MachineDetected += machines
		c.Conversations += conversations
		c.ConnectedCalls += connected
		c.ResultCalls += results
		c.LiveAnswers += connected + abandoned
		c.CapacityLoss += lost
		c.TalkMS += talk
		c.Callbacks.Calls += calls
		c.Callbacks.DelayMS += delay
		return nil
	})
	return err
}
