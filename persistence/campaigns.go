package persistence

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/journal"
	"dialler/engine/ownership"
)

// ErrCampaignNotFound: no campaign has this identifier.
var ErrCampaignNotFound = engine.NotFound("campaign_not_found", "no campaign has this identifier")

var selectCampaign = "SELECT " + names(campaignColumns, "c") + " FROM campaigns c "

func scanCampaign(row pgx.CollectableRow) (c campaign.Campaign, err error) {
	err = row.Scan(targets(campaignColumns, &c, nil)...)
	return c, err
}

// InsertCampaign stores a new draft with its first event. The same campaign
// given again is harmless.
func (s *Store) InsertCampaign(ctx context.Context, c campaign.Campaign, events ...journal.Event) error {
	return s.inTx(ctx, "campaign not stored", func(tx pgx.Tx) error {
		if err := execRows(ctx, tx, insertCampaign, campaignColumns, &s.shapes.Load().campaigns, &c); err != nil {
			return err
		}
		return s.tell(ctx, tx, events...)
	})
}

var insertCampaign = insertFrom("campaigns", campaignColumns) + " ON CONFLICT DO NOTHING"

// Campaign gives a campaign's row without taking it over.
func (s *Store) Campaign(ctx context.Context, id engine.CampaignID) (campaign.Campaign, error) {
	rows, _ := s.read.Query(ctx, selectCampaign+"WHERE c.id = $1", string(id))
	c, err := pgx.CollectExactlyOneRow(rows, scanCampaign)
	if errors.Is(err, pgx.ErrNoRows) {
		return campaign.Campaign{}, ErrCampaignNotFound
	}
	return c, s.wrap("campaign not read", err)
}

// Campaigns gives one page, newest first, and how many there are. The filter
// is a campaign state or "".
func (s *Store) Campaigns(ctx context.Context, page campaign.Page) (list []campaign.Campaign, total int, err error) {
	const filter = "WHERE ($1 = '' OR c.state = $1)"
	err = s.read.QueryRow(ctx, "SELECT count(*) FROM campaigns c "+filter, page.Filter).Scan(&total)
	if err != nil {
		return nil, 0, s.wrap("campaigns not counted", err)
	}
	rows, _ := s.read.Query(ctx, selectCampaign+filter+" ORDER BY c.created_at DESC, c.id LIMIT $2 OFFSET $3",
		page.Filter, page.Size, offset(page))
	list, err = pgx.CollectRows(rows, scanCampaign)
	return list, total, s.wrap("campaigns not read", err)
}

func offset(p campaign.Page) int { return max(0, p.Number-1) * p.Size }

// AcquireCampaign takes ownership: it waits for the commits under way of the
// owner before, increments the fencing epoch, and gives the campaign's row,
// its Seq behind every event that is stored. ErrCampaignNotFound when there is
// none; in a cluster (ActAs) ownership.ErrNotOwner or ErrFenced when this node
// does not own the campaign.
func (s *Store) AcquireCampaign(ctx context.Context, id engine.CampaignID) (c campaign.Campaign, err error) {
	s.epochs.asks(id)
	defer func() { s.epochs.answered(id, c.Epoch, err) }()
	err = s.inTx(ctx, "campaign not taken over", func(tx pgx.Tx) error {
		// FOR UPDATE is what the KEY SHARE of the commits conflicts with.
		if _, err := tx.Exec(ctx, "SELECT 1 FROM campaigns WHERE id = $1 FOR UPDATE", string(id)); err != nil {
			return err
		}
		if err := s.owns(ctx, tx, ownership.Campaign, string(id)); err != nil {
			return err
		}
		rows, _ := tx.Query(ctx, `UPDATE campaigns c SET epoch = epoch + 1,
			seq = greatest(seq, (SELECT max(e.seq) FROM events e WHERE e.campaign_id = $1 AND e.seq > 0))
			WHERE c.id = $1 RETURNING `+names(campaignColumns, "c"), string(id))
		c, err = pgx.CollectExactlyOneRow(rows, scanCampaign)
		if errors.Is(err, pgx.ErrNoRows) {
			return ErrCampaignNotFound
		}
		return err
	})
	return c, err
}

// epochs are those that this process took campaigns over with, so that one that
// somebody else made can be told from its own.
type epochs struct {
	mu     sync.Mutex
	of     map[engine.CampaignID]takenOver
	others atomic.Pointer[func()] // of OnReplaced
}

type takenOver struct {
	epoch  int64 // the last one that was answered
	asking int   // take-overs that are not answered yet
	unsure bool  // one failed, and may have been stored all the same
}

func (e *epochs) asks(id engine.CampaignID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.of == nil {
		e.of = map[engine.CampaignID]takenOver{}
	}
	t := e.of[id]
	t.asking++
	e.of[id] = t
}

func (e *epochs) answered(id engine.CampaignID, epoch int64, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	t := e.of[id]
	t.asking--
	if t.unsure = err != nil; err == nil {
		t.epoch = max(t.epoch, epoch)
	}
	e.of[id] = t
}

// foreign says whether an epoch that is stored was certainly made by another
// process. A campaign that was never taken over here says nothing.
func (e *epochs) foreign(id engine.CampaignID, stored int64) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	t := e.of[id]
	return t.epoch > 0 && t.asking == 0 && !t.unsure && stored > t.epoch
}

// OnReplaced has f called whenever the database refuses a write because another
// process took its campaign over: for a process that is the only one.
func (s *Store) OnReplaced(f func()) { s.epochs.others.Store(&f) }

// staleEpoch is the refusal of a write whose epoch is not the stored one.
func (s *Store) staleEpoch(id engine.CampaignID, stored int64) error {
	if f := s.epochs.others.Load(); f != nil && s.epochs.foreign(id, stored) {
		(*f)()
	}
	return journal.ErrStaleEpoch
}

// ActiveCampaigns lists the campaigns that are running, paused, have live
// attempts or results owed, or whose run ended before all who waited were put
// away, oldest first.
func (s *Store) ActiveCampaigns(ctx context.Context) ([]engine.CampaignID, error) {
	rows, _ := s.read.Query(ctx, `SELECT c.id FROM campaigns c
		WHERE c.state IN ('running', 'paused') OR EXISTS (SELECT FROM attempts a WHERE a.live AND a.campaign_id = c.id)
			OR EXISTS (SELECT FROM contacts k WHERE k.campaign_id = c.id AND k.result_due_at IS NOT NULL)
			OR c.state = 'completed' AND EXISTS (SELECT FROM contacts k WHERE k.campaign_id = c.id AND k.run = c.run AND k.due_at IS NOT NULL)
		ORDER BY c.created_at, c.id`)
	ids, err := pgx.CollectRows(rows, pgx.RowTo[engine.CampaignID])
	return ids, s.wrap("active campaigns not read", err)
}

// txTries bounds how often a transaction is tried that the server ended for the
// sake of another one: a deadlock, or a row that changed under it.
const txTries = 5

// yielded says that a transaction was ended so; tried anew it may succeed.
func yielded(err error) bool {
	state, _ := sqlState(err)
	return state == "40001" || state == "40P01"
}

// inTx runs f in a transaction. f may be run again from its beginning.
func (s *Store) inTx(ctx context.Context, what string, f func(pgx.Tx) error) error {
	return s.inTxOf(ctx, pgx.TxOptions{}, what, f)
}

// inTxOf is inTx with another isolation.
func (s *Store) inTxOf(ctx context.Context, o pgx.TxOptions, what string, f func(pgx.Tx) error) error {
	err := pgx.BeginTxFunc(ctx, s.read, o, f)
	for try := 1; yielded(err) && try < txTries; try++ {
		err = pgx.BeginTxFunc(ctx, s.read, o, f)
	}
	var e *engine.Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	return s.wrap(what, err)
}

// execRows runs a multi-row statement outside a group commit.
func execRows[T any](ctx context.Context, tx pgx.Tx, sql string, cols []column[T], shape *layout, rows ...*T) error {
	var b batchRows[T]
	b.reset(cols, shape)
	for _, r := range rows {
		if err := b.add(r); err != nil {
			return err
		}
	}
	_, err := tx.Conn().PgConn().ExecParams(ctx, sql, [][]byte{b.rows.param()}, nil, binaryFormat, nil).Close()
	return err
}
