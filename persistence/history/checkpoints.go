package history

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/seal"
	"dialler/engine/tally"
)

// A checkpoint holds the results of a run, stored when its calls or events are dropped: from then
// on counters are read from it, and an audit continues from it.

// checkpoint is a row of run_checkpoints.
type checkpoint struct {
	run          int
	counters     campaign.Counters
	attemptsGone bool
	eventsGone   bool
}

// storedCounters is a checkpoint's JSON: the counters, including the fields that their own JSON
// leaves out.
type storedCounters struct {
	Counters  campaign.Counters  `json:"counters"`
	TalkMS    int                `json:"talk_ms"`
	Passes    []storedPass       `json:"passes"`
	Callbacks campaign.Callbacks `json:"callbacks"`
	Calls     int                `json:"callback_calls"`
	DelayMS   int                `json:"callback_delay_ms"`
}

type storedPass struct {
	campaign.Pass
	Consumed int `json:"consumed"`
	Live     int `json:"live"`
	Awaiting int `json:"awaiting"`
	Waiting  int `json:"waiting"`
}

func storeCounters(c campaign.Counters) storedCounters {
	s := storedCounters{Counters: c, TalkMS: c.TalkMS, Callbacks: c.Callbacks, Calls: c.Callbacks.Completed,
		DelayMS: c.Callbacks.DelayMS}
	for _, p := range c.Passes {
		s.Passes = append(s.Passes, storedPass{Pass: p, Consumed: p.Consumed, Live: p.Live, Awaiting: p.Awaiting,
			Waiting: p.Waiting})
	}
	return s
}

func (s *storedCounters) restore() campaign.Counters {
	c := s.Counters
	if c.Decided == 0 {
		c.Decided = c.Attempts // from before this was counted: all of its calls had ended
	}
	c.TalkMS, c.Callbacks = s.TalkMS, s.Callbacks
	c.Callbacks.Completed, c.Callbacks.DelayMS = s.Calls, s.DelayMS
	for _, p := range s.Passes {
		pass := p.Pass
		pass.Consumed, pass.Live, pass.Awaiting, pass.Waiting = p.Consumed, p.Live, p.Awaiting, p.Waiting
		c.Passes = append(c.Passes, pass)
	}
	return c
}

// readCheckpoint returns a run's checkpoint, the zero value when it has none.
func readCheckpoint(ctx context.Context, tx pgx.Tx, id engine.CampaignID, run int) (c checkpoint, err error) {
	rows, _ := tx.Query(ctx, selectCheckpoint+" AND run = $2", string(id), run)
	c, err = pgx.CollectExactlyOneRow(rows, scanCheckpoint)
	if errors.Is(err, pgx.ErrNoRows) {
		return checkpoint{}, nil
	}
	return c, err
}

const selectCheckpoint = "SELECT run, counters, attempts_gone, events_gone FROM run_checkpoints WHERE campaign_id = $1"

func scanCheckpoint(row pgx.CollectableRow) (c checkpoint, err error) {
	var raw []byte
	var s storedCounters
	if err = row.Scan(&c.run, &raw, &c.attemptsGone, &c.eventsGone); err == nil {
		err = json.Unmarshal(raw, &s)
	}
	c.counters = s.restore()
	return c, err
}

// gone says which data a checkpoint replaces, as the name of its column.
type gone string

const (
	attemptsGone gone = "attempts_gone"
	eventsGone   gone = "events_gone"
)

// makeCheckpoint stores the results of a run and signs them. If the run's calls are gone already,
// their figures stay as in the earlier checkpoint.
func (s *Records) makeCheckpoint(ctx context.Context, tx pgx.Tx, id engine.CampaignID, run int, at time.Time,
	what gone, key seal.Signer) error {
	older, err := s.checkpointBefore(ctx, tx, id, run, key)
	if err != nil {
		return err
	}
	c, err := countRun(ctx, tx, id, run)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO run_checkpoints AS k (campaign_id, run, counters, at, seq, batches, hash)
		SELECT $1, $2, $3, $4, coalesce((SELECT max(seq) FROM events WHERE campaign_id = $1
		AND run = $2), 0), coalesce(h.n, 0), h.hash
		FROM (SELECT) one LEFT JOIN event_heads h ON h.campaign_id = $1 AND h.run = $2
		ON CONFLICT (campaign_id, run) DO UPDATE SET counters = excluded.counters, at = CASE
		WHEN k.signature IS NULL THEN k.at ELSE excluded.at END,
			seq = greatest(k.seq, excluded.seq), batches = greatest(k.batches, excluded.batches),
				hash = coalesce(excluded.hash, k.hash)
		WHERE NOT k.events_gone`, string(id), run, storeCounters(c), at)
	if err == nil {
		_, err = tx.Exec(ctx, "UPDATE run_checkpoints SET "+string(what)+" = true WHERE campaign_id = $1 AND run = $2",
			string(id), run)
	}
	if err != nil || older {
		return err
	}
	return s.signCheckpoint(ctx, tx, id, run, key)
}

// fromCheckpoints starts the fold of runs whose events are gone with their checkpoints.
func fromCheckpoints(ctx context.Context, tx pgx.Tx, id engine.CampaignID, fold tally.Runs) error {
	rows, _ := tx.Query(ctx, selectCheckpoint+" AND events_gone", string(id))
	list, err := pgx.CollectRows(rows, scanCheckpoint)
	for i := range list {
		fold[list[i].run] = tally.From(list[i].counters)
	}
	return err
}

// addKept adds a checkpoint's figures of the run's calls; those of its contacts are counted.
func addKept(t *tally.Tally, from *campaign.Counters) {
	c := &t.C
	for i := range from.Passes {
		k := &from.Passes[i]
		p := c.Pass(k.Number)
		p.FirstDialAt, p.LastDialAt = k.FirstDialAt, k.LastDialAt
	}
	for _, f := range tally.OfAttempts() {
		if f.Of != tally.OfPass {
			*f.At(c, 0) = *f.At(from, 0)
			continue
		}
		for i := range from.Passes {
			n := from.Passes[i].Number
			*f.At(c, n) = *f.At(from, n)
		}
	}
}
