package persistence

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/besthour"
	"dialler/engine/number"
	"dialler/persistence/table"
)

const (
	// learnStep is how much time's dials are read at once; learnAfter is when: by then nearly all of
	// them have been answered or have ended. What is stored later still, after an outage, is not
	// learned from.
	learnStep  = 10 * time.Minute
	learnAfter = 5 * time.Minute
)

// dialledHours reads the dials of a piece of time, in the order of their identifiers. A callback is
// made when its person asked for it, which tells nothing about others. A conversation in progress is
// an answer, whatever becomes of it. With the option counts who was reserved since it was switched on;
// one edit in this piece of time or later is all that there is to look for.
const dialledHours = `SELECT a.to_number, a.invite_at, CASE WHEN a.live THEN '' ELSE a.outcome END,
		a.served_at IS NOT NULL, coalesce(c.id, ''), coalesce(replace(a.contact_id::text, '-', ''), '')
	FROM attempts a LEFT JOIN (
		SELECT c.id, (SELECT max(e.at) FROM events e WHERE e.campaign_id = c.id AND e.activity AND e.at >= $1
			AND e.type = 'campaign.edited' AND e.data->'changes' @> '[{"field": "best_hour"}]') AS since
		FROM campaigns c WHERE (c.settings->>'best_hour')::boolean
	) c ON c.id = a.campaign_id AND a.reserved_at >= coalesce(c.since, '-infinity')
	WHERE a.id >= $3::uuid AND a.id < $4::uuid AND a.reserved_at >= $1 AND a.reserved_at < $2
		AND a.invite_at IS NOT NULL AND NOT a.callback AND NOT a.inbound AND a.to_number <> ''`

// hourOf and armOf are the keys of what is counted.
type (
	hourOf struct {
		region string
		slot   int
	}
	armOf struct {
		campaign engine.CampaignID
		control  bool
	}
)

// LearnHours learns from the dials of the next piece of time at which hours people answer; more says
// that another piece may follow at once. It may run on several nodes: each piece is learned from once.
func (s *Store) LearnHours(ctx context.Context, now time.Time) (more bool, err error) {
	now = now.UTC()
	err = s.db.InTx(ctx, "hours not learned", func(tx pgx.Tx) error {
		from, busy, err := learnedThrough(ctx, tx, now)
		if err != nil || busy {
			return err
		}
		if from, err = nextDialled(ctx, tx, from, now.Add(-learnAfter)); err != nil {
			return err
		}
		until := from.Add(learnStep)
		if until.After(now.Add(-learnAfter)) {
			return nil
		}
		hours, arms, err := readDialled(ctx, tx, from, until)
		if err != nil {
			return err
		}
		if err := addDialled(ctx, tx, from, hours, arms); err != nil {
			return err
		}
		more = !until.Add(learnStep).After(now.Add(-learnAfter))
		var cells []byte
		if !more { // the sums are of use once everything is in them
			if cells, err = sumHours(ctx, tx, until); err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, "UPDATE answer_hours_learned SET through = $1, cells = coalesce($2, cells)", until, cells)
		return err
	})
	return more && err == nil, err
}

// learnedThrough is until when dials were learned from: at first none. It locks that time; busy says
// that another node has it.
func learnedThrough(ctx context.Context, tx pgx.Tx, now time.Time) (at time.Time, busy bool, err error) {
	_, err = tx.Exec(ctx, "INSERT INTO answer_hours_learned (through) VALUES ($1) ON CONFLICT DO NOTHING",
		now.Add(-besthour.Kept).Truncate(learnStep))
	if err != nil {
		return at, false, err
	}
	err = tx.QueryRow(ctx, "SELECT through FROM answer_hours_learned FOR UPDATE SKIP LOCKED").Scan(&at)
	if errors.Is(err, pgx.ErrNoRows) {
		return at, true, nil
	}
	if oldest := now.Add(-besthour.Kept).Truncate(learnStep); at.Before(oldest) {
		at = oldest
	}
	return at.UTC(), false, err
}

// nextDialled is the piece of time of the next dial from a time on, but not after latest: pieces
// without a dial are passed over.
func nextDialled(ctx context.Context, tx pgx.Tx, from, latest time.Time) (time.Time, error) {
	next := latest.Add(-learnStep)
	err := tx.QueryRow(ctx, "SELECT reserved_at FROM attempts WHERE id >= $1::uuid ORDER BY id LIMIT 1",
		table.IDAt(from.Add(-table.IDSlack))).Scan(&next)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return from, err
	}
	// One with a later identifier may have been reserved before it.
	if next = next.UTC().Add(-2 * table.IDSlack).Truncate(learnStep); next.After(from) {
		return next, nil
	}
	return from, nil
}

func readDialled(ctx context.Context, tx pgx.Tx, from, until time.Time) (map[hourOf]besthour.Cell,
	map[armOf]besthour.Cell, error) {
	hours, arms := map[hourOf]besthour.Cell{}, map[armOf]besthour.Cell{}
	rows, _ := tx.Query(ctx, dialledHours, from, until, table.IDAt(from.Add(-table.IDSlack)),
		table.IDAt(until.Add(table.IDSlack)))
	var to, outcome, campaignID, contactID string
	var dialled time.Time
	var served bool
	_, err := pgx.ForEachRow(rows, []any{&to, &dialled, &outcome, &served, &campaignID, &contactID}, func() error {
		told, answered := besthour.Told(engine.Outcome(outcome))
		if !told && !served {
			return nil
		}
		c := besthour.Cell{Dials: 1}
		if answered || served {
			c.Answers = 1
		}
		home := number.HomeOf(engine.PhoneNumber(to))
		hour := hourOf{home.Country, besthour.SlotAt(home, dialled, "UTC")}
		hours[hour] = hours[hour].And(c)
		if campaignID != "" && contactID != "" {
			id := engine.CampaignID(campaignID)
			arm := armOf{id, besthour.Control(id, engine.ContactID(contactID))}
			arms[arm] = arms[arm].And(c)
		}
		return nil
	})
	return hours, arms, err
}

func addDialled(ctx context.Context, tx pgx.Tx, day time.Time, hours map[hourOf]besthour.Cell,
	arms map[armOf]besthour.Cell) error {
	var batch pgx.Batch
	for _, k := range slices.SortedFunc(maps.Keys(hours), func(a, b hourOf) int {
		return cmp.Or(cmp.Compare(a.region, b.region), a.slot-b.slot)
	}) {
		batch.Queue(`INSERT INTO answer_hours AS h (day, region, slot, dials, answers) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (day, region, slot) DO UPDATE SET dials = h.dials + excluded.dials,
				answers = h.answers + excluded.answers`, day, k.region, k.slot, int64(hours[k].Dials), int64(hours[k].Answers))
	}
	for k, c := range arms {
		// The campaign may have been deleted meanwhile.
		batch.Queue(`INSERT INTO best_hour_dials AS d (campaign_id, control, dials, answers)
			SELECT id, $2, $3, $4 FROM campaigns WHERE id = $1 FOR KEY SHARE
			ON CONFLICT (campaign_id, control) DO UPDATE SET dials = d.dials + excluded.dials,
				answers = d.answers + excluded.answers`, string(k.campaign), k.control, int64(c.Dials), int64(c.Answers))
	}
	batch.Queue("DELETE FROM answer_hours WHERE day < $1", day.Add(-besthour.Kept))
	return tx.SendBatch(ctx, &batch).Close()
}

// sumHours is what was learned, as runs take it.
func sumHours(ctx context.Context, tx pgx.Tx, until time.Time) ([]byte, error) {
	var t besthour.Table
	rows, _ := tx.Query(ctx, `SELECT region, slot, least(sum(dials), $2)::bigint, least(sum(answers), $2)::bigint
		FROM answer_hours WHERE day >= $1 GROUP BY region, slot`, until.Add(-besthour.Kept), int64(math.MaxUint32))
	var k hourOf
	var dials, answers uint32
	_, err := pgx.ForEachRow(rows, []any{&k.region, &k.slot, &dials, &answers}, func() error {
		t.Add(k.region, k.slot, besthour.Cell{Dials: dials, Answers: answers})
		return nil
	})
	return t.Encode(), err
}

// AnswerHours returns what was learned of the hours at which people answer.
func (s *Store) AnswerHours(ctx context.Context) (t besthour.Table, err error) {
	var cells []byte
	var through time.Time
	err = s.db.Read.QueryRow(ctx, "SELECT through, cells FROM answer_hours_learned WHERE cells IS NOT NULL").
		Scan(&through, &cells)
	if errors.Is(err, pgx.ErrNoRows) {
		return t, nil
	}
	if err == nil {
		t, err = besthour.Decode(cells)
	}
	t.Through = through.UTC()
	return t, s.db.Wrap("hours of answers not read", err)
}

// BestHourDials returns the dials of a campaign with the option Best hour, and those of its control.
func (s *Store) BestHourDials(ctx context.Context, id engine.CampaignID) (with, control besthour.Cell, err error) {
	rows, _ := s.db.Read.Query(ctx, `SELECT control, least(dials, $2), least(answers, $2) FROM best_hour_dials
		WHERE campaign_id = $1`, string(id), int64(math.MaxUint32))
	var isControl bool
	var c besthour.Cell
	_, err = pgx.ForEachRow(rows, []any{&isControl, &c.Dials, &c.Answers}, func() error {
		if isControl {
			control = c
		} else {
			with = c
		}
		return nil
	})
	return with, control, s.db.Wrap("dials of the best hour not read", err)
}
