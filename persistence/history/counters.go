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

// The figures are defined in engine/tally's table; here they are counted from the database tables,
// and tests compare the SQL with its formulas and with the fold of events. Each table is read once,
// grouped by the columns that distinguish its rows: a million contacts take a second.

// countContacts groups contacts by their facts (contact.Facts).
var countContacts = `SELECT c.state, c.used, c.max, c.attempt_id IS NOT NULL AS live, c.connected_once, c.has_result,
	c.rang_unanswered, c.callback, ` + table.Superseded("c") + ` AS superseded, c.callbacks_cancelled, c.ends,
		` + table.Awaits("c") + ` AS awaits, count(*)
	FROM `

// sums maps each figure that is counted from attempts to its SQL.
var sums = map[tally.Object]map[string]string{
	tally.OfCounters: {
		"attempts":         "count(*) FILTER (WHERE a.consumed AND NOT a.live)",
		"answered":         "count(a.answered_at)",
		"decided":          "count(*) FILTER (WHERE " + table.Decided("a") + ")",
		"machine_detected": "count(*) FILTER (WHERE a.outcome = 'machine' AND NOT a.live)",
		"conversations":    "count(a.served_at) FILTER (WHERE NOT a.live)",
		"connected_calls":  "count(a.served_at)",
		"result_calls":     "count(*) FILTER (WHERE a.served_at IS NOT NULL AND a.result IS NOT NULL)",
		"live_answers":     "count(a.served_at) + count(*) FILTER (WHERE a.outcome = 'abandoned' AND NOT a.live)",
		"capacity_loss": "count(*) FILTER (WHERE a.outcome = 'abandoned' AND NOT a.live " +
			"AND a.cause = 'capacity_loss')",
		"talk_s": "sum(" + wholeMS("a.bot_connected_at", "a.ended_at") +
			") FILTER (WHERE a.served_at IS NOT NULL AND NOT a.live)",
	},
	tally.OfPass: {
		"connected": "count(a.served_at)",
		"consumed":  "count(*) FILTER (WHERE a.consumed AND NOT a.live)",
		"live":      "count(*) FILTER (WHERE a.live)",
	},
	tally.OfCallbacks: {
		"completed": "count(a.callback_at) FILTER (WHERE a.consumed AND NOT a.live)",
		"mean_delay_s": "sum(" + wholeMS("a.callback_at", "coalesce(a.invite_at, a.reserved_at)") +
			") FILTER (WHERE a.consumed AND NOT a.live)",
	},
}

// wholeMS is the time between two columns in whole milliseconds, never less than 0.
func wholeMS(from, to string) string {
	return "floor(extract(epoch FROM greatest(interval '0', " + to + " - " + from + ")) * 1000)"
}

// countAttempts groups a run's attempts by their pass.
var countAttempts = func() string {
	q := "SELECT a.pass, min(a.reserved_at), max(a.reserved_at)"
	for _, f := range tally.OfAttempts() {
		q += ", coalesce(" + sums[f.Of][f.Name] + ", 0)::bigint"
	}
	return q + " FROM attempts a WHERE a.campaign_id = $1 AND a.run = $2 GROUP BY a.pass"
}()

// Counters counts the campaign's tables by the formulas of engine/tally. For an earlier run it
// counts the contacts that were kept when the next run was prepared.
func (s *Records) Counters(ctx context.Context, id engine.CampaignID, run int) (c campaign.Counters, err error) {
	// One snapshot for both: a call that ends between the queries is in neither or in both.
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
	rows, _ := tx.Query(ctx, countContacts+from+" GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12", string(id), run)
	var f contact.Facts
	var n int
	_, err = pgx.ForEachRow(rows, []any{&f.State, &f.Used, &f.Max, &f.Live, &f.Connected, &f.Result, &f.Unanswered,
		&f.Callback, &f.Superseded, &f.Cancelled, &f.Ends, &f.Awaits, &n}, func() error {
		found = true
		f.Open = (&contact.Contact{State: f.State}).Open()
		t.Contacts(&f, n)
		return nil
	})
	return found, err
}

func addAttemptsOf(ctx context.Context, tx pgx.Tx, t *tally.Tally, id engine.CampaignID, run int) error {
	figures := tally.OfAttempts()
	counts := make([]int, len(figures))
	var pass int
	var first, last *time.Time
	row := []any{&pass, &first, &last}
	for i := range counts {
		row = append(row, &counts[i])
	}
	rows, _ := tx.Query(ctx, countAttempts, string(id), run)
	_, err := pgx.ForEachRow(rows, row, func() error {
		p := t.C.Pass(pass)
		for _, at := range []*time.Time{first, last} {
			if at != nil {
				p.Dialled(*at)
			}
		}
		for i, f := range figures {
			*f.At(&t.C, pass) += counts[i]
		}
		return nil
	})
	return err
}
