package persistence

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/tally"
)

// Audit is what the history of a campaign says beside its tables.
type Audit struct {
	Campaign engine.CampaignID
	Events   int
	Runs     []RunAudit // in ascending order; runs that were prepared and discarded are left out
}

// RunAudit are the figures of one run in which the fold of the events (A) and
// the tables (B) differ.
type RunAudit struct {
	Run         int
	Differences []tally.Difference
}

// auditPage is how many events are read at a time: what an audit holds of a
// campaign is that and its counters, however long its history.
const auditPage = 5000

// Audit folds the events of a campaign in their order and compares what comes
// of it with the tables, in one snapshot of the database: the campaign may run
// meanwhile. ErrCampaignNotFound when there is none.
func (s *Store) Audit(ctx context.Context, id engine.CampaignID) (a Audit, err error) {
	a.Campaign = id
	err = pgx.BeginTxFunc(ctx, s.read, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		var present int
		err := tx.QueryRow(ctx, "SELECT run FROM campaigns WHERE id = $1", string(id)).Scan(&present)
		if errors.Is(err, pgx.ErrNoRows) {
			return ErrCampaignNotFound
		}
		if err != nil {
			return err
		}
		fold := tally.Runs{}
		if a.Events, err = foldEvents(ctx, tx, id, fold); err != nil {
			return err
		}
		for run := range fold {
			if run > present {
				continue
			}
			tables, err := countRun(ctx, tx, id, run)
			if err != nil {
				return err
			}
			a.Runs = append(a.Runs, RunAudit{run, tally.Compare(fold.Counters(run), tables)})
		}
		return nil
	})
	slices.SortFunc(a.Runs, func(x, y RunAudit) int { return x.Run - y.Run })
	var e *engine.Error
	if err == nil || errors.As(err, &e) {
		return a, err
	}
	return a, s.wrap("campaign not audited", err)
}

func foldEvents(ctx context.Context, tx pgx.Tx, id engine.CampaignID, fold tally.Runs) (n int, err error) {
	last := int64(0)
	for {
		rows, _ := tx.Query(ctx, selectEvent+"WHERE e.campaign_id = $1 AND e.seq > $2 ORDER BY e.seq LIMIT $3", string(id), last, auditPage)
		list, err := pgx.CollectRows(rows, scanEvent)
		if err != nil {
			return n, err
		}
		for i := range list {
			fold.Apply(&list[i])
		}
		n += len(list)
		if len(list) < auditPage {
			return n, nil
		}
		last = list[len(list)-1].Seq
	}
}
