package webhooks

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/rs/zerolog"

	"dialler/engine/webhook"
	"dialler/persistence/failure"
	"dialler/persistence/pool"
)

// OutboxConfig is the configuration of an Outbox.
type OutboxConfig struct {
	// Deliver makes one try; it must end by itself, well within Timeout.
	Deliver func(ctx context.Context, r *webhook.Request) webhook.Answer
	// OnTry is called with the result of each try.
	OnTry func(v webhook.Verdict, took time.Duration)
	// Alone means that no other process delivers, so that deliveries in progress when this one
	// starts have been abandoned.
	Alone bool
	// Every is how often the history is polled; default 500 ms.
	Every time.Duration
	// PerEndpoint is how many messages are sent to one endpoint at the same time; default 4.
	PerEndpoint int
	// Timeout bounds one try with its bookkeeping; default 30 s.
	Timeout time.Duration
	Log     zerolog.Logger
}

const (
	// idleEvery is how often endpoints are looked for while there are none.
	idleEvery = 2 * time.Second
	// loadShare is the divisor for the share of time spent polling the history: at most one part in
	// so many, but a slow database must not make messages late by more than slowEvery.
	loadShare = 20
	slowEvery = 2 * time.Second
	// standingEvery is how often pending messages are counted.
	standingEvery = 10 * time.Second
	// outboxConns is the number of connections for fetching jobs, including one that listens.
	outboxConns = 6
)

// Outbox follows the history and delivers messages while there are endpoints; while there are none,
// it only checks for them now and then.
type Outbox struct {
	store *Endpoints
	cfg   OutboxConfig
	wake  chan struct{}
	stop  context.CancelFunc
	done  chan struct{}

	pool   *pgxpool.Pool // nil: nothing is delivered
	client *river.Client[pgx.Tx]
	queues []string

	followedAt atomic.Int64 // Unix nanoseconds; 0: there is nothing to follow
	standing   atomic.Pointer[OutboxStanding]
	once       sync.Once
}

// OutboxStanding describes the backlog of deliveries.
type OutboxStanding struct {
	Endpoints int
	Disabled  int           // by the dialler
	Pending   int           // at most pendingCounted
	Oldest    time.Duration // age of the oldest untried one
	Lag       time.Duration // since the history was last polled
}

const pendingCounted = 100_000

// OpenOutbox starts an Outbox; Close ends it.
func (s *Endpoints) OpenOutbox(cfg OutboxConfig) *Outbox {
	if cfg.Every <= 0 {
		cfg.Every = 500 * time.Millisecond
	}
	if cfg.PerEndpoint <= 0 {
		cfg.PerEndpoint = 4
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = 30 * time.Second
	}
	ctx, cancel := context.WithCancel(context.Background())
	o := &Outbox{store: s, cfg: cfg, wake: make(chan struct{}, 1), stop: cancel, done: make(chan struct{})}
	o.standing.Store(&OutboxStanding{})
	s.outbox.Store(o)
	go o.run(ctx)
	return o
}

// Close gives running deliveries a moment to end and stops.
func (o *Outbox) Close() {
	o.once.Do(func() {
		o.store.outbox.CompareAndSwap(o, nil)
		o.stop()
		<-o.done
	})
}

// Standing returns the backlog; pending messages are counted now and then.
func (o *Outbox) Standing() OutboxStanding {
	st := *o.standing.Load()
	if at := o.followedAt.Load(); at != 0 {
		st.Lag = time.Since(time.Unix(0, at))
	}
	return st
}

// wakeOutbox makes changes of endpoints take effect at once.
func (s *Endpoints) wakeOutbox() {
	if o := s.outbox.Load(); o != nil {
		select {
		case o.wake <- struct{}{}:
		default:
		}
	}
}

func (o *Outbox) run(ctx context.Context) {
	defer close(o.done)
	defer o.deliverNothing()
	var counted time.Time
	for ctx.Err() == nil {
		wait := idleEvery
		endpoints, err := o.store.Webhooks(ctx)
		switch {
		case err != nil: // the database is unavailable, which is reported elsewhere
		case len(endpoints) == 0:
			o.followedAt.Store(0)
			o.standing.Store(&OutboxStanding{})
			o.deliverNothing()
		default:
			if err := o.deliver(ctx, endpoints); err != nil && ctx.Err() == nil {
				o.cfg.Log.Warn().Err(err).Msg("webhooks are not delivered; it is tried again")
			}
			wait = o.follow(ctx)
			if now := time.Now(); now.Sub(counted) >= standingEvery {
				counted = now
				o.count(ctx, endpoints)
			}
		}
		if wait > 0 {
			o.pause(ctx, wait)
		}
	}
}

func (o *Outbox) pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	case <-o.wake:
	}
}

// follow takes one step and returns the pause before the next.
func (o *Outbox) follow(ctx context.Context) time.Duration {
	began := time.Now()
	f, err := o.store.FollowEvents(ctx)
	took := time.Since(began)
	switch {
	case err != nil:
		if ctx.Err() == nil && failure.Why(err) == "" {
			o.cfg.Log.Error().Err(err).Msg("events for webhooks not read; it is tried again")
		}
		return idleEvery
	case f.More && !f.Elsewhere:
		o.followedAt.CompareAndSwap(0, began.UnixNano())
		return 0
	}
	o.followedAt.Store(time.Now().UnixNano())
	return rest(o.cfg.Every, took)
}

// rest is the pause after a step that took so long.
func rest(every, took time.Duration) time.Duration {
	return max(every, min(loadShare*took, slowEvery))
}

// deliver makes the queues of these endpoints run, and no others.
func (o *Outbox) deliver(ctx context.Context, endpoints []webhook.Endpoint) error {
	queues := make([]string, len(endpoints))
	for i := range endpoints {
		queues[i] = queueOf(endpoints[i].ID)
	}
	if o.client == nil {
		return o.start(ctx, queues)
	}
	for _, q := range queues {
		if !slices.Contains(o.queues, q) {
			if err := o.client.Queues().Add(q, o.queueConfig()); err != nil {
				return err
			}
			o.queues = append(o.queues, q)
		}
	}
	for i := 0; i < len(o.queues); {
		if q := o.queues[i]; !slices.Contains(queues, q) {
			// It waits for running deliveries, which end by themselves.
			c, cancel := context.WithTimeout(ctx, o.cfg.Timeout)
			err := o.client.Queues().Remove(c, q)
			cancel()
			if err != nil {
				return err
			}
			o.queues = slices.Delete(o.queues, i, i+1)
			continue
		}
		i++
	}
	return nil
}

func (o *Outbox) queueConfig() river.QueueConfig {
	return river.QueueConfig{MaxWorkers: o.cfg.PerEndpoint}
}

func (o *Outbox) start(ctx context.Context, queues []string) error {
	pc, err := pgxpool.ParseConfig(o.store.db.URL)
	if err != nil {
		return failure.BadURL(err)
	}
	pc.MaxConns = outboxConns
	pool.Configure(pc.ConnConfig, o.store.db.Config)
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return err
	}
	if o.cfg.Alone {
		if _, err := pool.Exec(ctx, "UPDATE river_job SET state = 'available', scheduled_at = now() "+
			"WHERE state = 'running' AND kind = $1", deliverArgs{}.Kind()); err != nil {
			pool.Close()
			return err
		}
	}
	workers := river.NewWorkers()
	if err := river.AddWorkerSafely(workers, &worker{store: o.store, cfg: &o.cfg}); err != nil {
		pool.Close()
		return err
	}
	cfg := &river.Config{
		Workers: workers, Queues: map[string]river.QueueConfig{}, JobTimeout: o.cfg.Timeout,
		RescueStuckJobsAfter: 2 * o.cfg.Timeout,
		SoftStopTimeout:      softStop, Logger: slog.New(quietly{o.cfg.Log}),
		CompletedJobRetentionPeriod: time.Hour, CancelledJobRetentionPeriod: time.Hour,
		DiscardedJobRetentionPeriod: time.Hour,
	}
	for _, q := range queues {
		cfg.Queues[q] = o.queueConfig()
	}
	client, err := river.NewClient(riverpgxv5.New(pool), cfg)
	if err == nil {
		err = client.Start(context.WithoutCancel(ctx))
	}
	if err != nil {
		pool.Close()
		return err
	}
	o.pool, o.client, o.queues = pool, client, queues
	return nil
}

// softStop is how long running deliveries may take when the process ends.
const softStop = 2 * time.Second

func (o *Outbox) deliverNothing() {
	if o.client == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), softStop+o.cfg.Timeout)
	defer cancel()
	if err := o.client.Stop(ctx); err != nil {
		o.cfg.Log.Warn().Err(err).Msg("deliveries of webhooks did not end in time")
	}
	o.pool.Close()
	o.pool, o.client, o.queues = nil, nil, nil
}

func (o *Outbox) count(ctx context.Context, endpoints []webhook.Endpoint) {
	st := OutboxStanding{Endpoints: len(endpoints)}
	for i := range endpoints {
		if endpoints[i].Disabled != "" {
			st.Disabled++
		}
	}
	var oldest *time.Time
	err := o.store.db.Read.QueryRow(ctx, `SELECT count(*), min(p.created_at) FILTER (WHERE p.tries = 0)
		FROM (SELECT created_at, tries FROM webhook_deliveries WHERE state = 'pending' LIMIT $1) p`,
		pendingCounted).Scan(&st.Pending, &oldest)
	if err != nil {
		return
	}
	if oldest != nil {
		st.Oldest = max(0, o.store.db.Config.Now().Sub(*oldest))
	}
	o.standing.Store(&st)
}

// quietly passes River's errors to our log, and nothing else.
type quietly struct{ log zerolog.Logger }

// Enabled implements slog.Handler.
func (quietly) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelError }

// Handle implements slog.Handler.
func (q quietly) Handle(_ context.Context, r slog.Record) error {
	e := q.log.Warn()
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "error" || a.Key == "err" {
			e = e.Str("error", a.Value.String())
		}
		return true
	})
	e.Str("component", "river").Msg(r.Message)
	return nil
}

// WithAttrs implements slog.Handler.
func (q quietly) WithAttrs([]slog.Attr) slog.Handler { return q }

// WithGroup implements slog.Handler.
func (q quietly) WithGroup(string) slog.Handler { return q }

// Retention of the log of deliveries.
const (
	keepDelivered   = 3 * 24 * time.Hour
	keepUndelivered = 14 * 24 * time.Hour
	purgedAtOnce    = 20_000 // rows
)

// PurgeWebhooks drops deliveries past their retention.
func (s *Endpoints) PurgeWebhooks(ctx context.Context, now time.Time) error {
	for _, x := range []struct {
		sql  string
		keep time.Duration
	}{
		{"DELETE FROM webhook_deliveries WHERE id = ANY (ARRAY(SELECT id FROM webhook_deliveries " +
			"WHERE created_at < $1 AND state = 'delivered' LIMIT $2))", keepDelivered},
		{`DELETE FROM webhook_messages WHERE id = ANY (ARRAY(SELECT id FROM webhook_messages m WHERE created_at < $1
			AND NOT EXISTS (SELECT FROM webhook_deliveries d WHERE d.message_id = m.id) LIMIT $2))`, keepDelivered},
		{"DELETE FROM webhook_messages WHERE id = ANY (ARRAY(SELECT id FROM webhook_messages WHERE created_at < $1 " +
			"LIMIT $2))", keepUndelivered},
	} {
		for {
			done, err := s.db.Read.Exec(ctx, x.sql, now.Add(-x.keep), purgedAtOnce)
			if err != nil {
				return s.db.Wrap("old deliveries not dropped", err)
			}
			if done.RowsAffected() < purgedAtOnce {
				break
			}
		}
	}
	if _, err := s.db.Read.Exec(ctx, "DELETE FROM webhook_cursors c WHERE NOT EXISTS (SELECT FROM event_heads h "+
		"WHERE h.campaign_id = c.campaign_id AND h.run = c.run)"); err != nil {
		return s.db.Wrap("old cursors not dropped", err)
	}
	if _, err := s.db.Read.Exec(ctx, "UPDATE webhooks SET old_secret = '', old_secret_until = NULL "+
		"WHERE old_secret_until < $1", now); err != nil {
		return s.db.Wrap("old secrets not dropped", err)
	}
	return s.db.Wrap("old status callbacks not dropped", s.purgeCallbacks(ctx, now))
}

// purgeCallbacks drops the addresses that requests named for somebody who is not there any more, for a dialout that is
// over, or for nobody. Those of contacts stay as long as these, so that the whole table is gone through, a part at a
// time.
func (s *Endpoints) purgeCallbacks(ctx context.Context, now time.Time) error {
	for last := "00000000-0000-0000-0000-000000000000"; ; {
		err := s.db.Read.QueryRow(ctx, `WITH part AS (
				SELECT subject, url, created_at FROM webhook_callbacks WHERE subject > $2 ORDER BY subject LIMIT $3
			), gone AS (
				DELETE FROM webhook_callbacks b USING part p WHERE b.subject = p.subject AND b.created_at = p.created_at
				AND p.created_at < $1 AND (p.url = '' OR NOT EXISTS (SELECT FROM contacts c WHERE c.id = p.subject)
				AND NOT EXISTS (SELECT FROM scheduled_dialouts s WHERE s.id = p.subject)
				AND NOT EXISTS (SELECT FROM attempts a WHERE a.id = p.subject AND (a.live OR a.ended_at >= $1)))
			) SELECT subject::text FROM part ORDER BY subject DESC LIMIT 1`,
			now.Add(-keepDelivered), last, purgedAtOnce).Scan(&last)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
