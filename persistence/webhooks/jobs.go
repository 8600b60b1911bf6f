package webhooks

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"dialler/engine"
	"dialler/engine/webhook"
	"dialler/persistence/column"
	"dialler/persistence/table"
)

// A delivery is a River job: each endpoint has a queue of its own, so that a slow one does not
// delay the others. The delivery's row records its result; the job only determines when it is
// tried.

// deliverArgs name a delivery; if Generation is not that of the row, the job predates a replay.
type deliverArgs struct {
	Delivery   int64 `json:"delivery"`
	Generation int   `json:"generation"`
}

// Kind implements river.JobArgs.
func (deliverArgs) Kind() string { return "webhook_delivery" }

type queuedJob struct {
	endpoint webhook.EndpointID
	deliverArgs
}

// queueOf is the queue of an endpoint.
func queueOf(id webhook.EndpointID) string { return string(id) }

// jobAttempts is the limit for River's counter, which counts rescues. Tries are counted in the row.
const jobAttempts = 10_000

// Endpoints stores the webhook endpoints: their settings, sent messages and pending ones.
type Endpoints struct {
	db     *table.DB
	jobs   *river.Client[pgx.Tx] // puts jobs into queues
	outbox atomic.Pointer[Outbox]
	// ringing are the endpoints that name call.ringing, as last read; nil for none.
	ringing atomic.Pointer[[]webhook.Endpoint]
	// reads counts the readings of endpoints; noted is the one that ringing is from.
	reads atomic.Int64
	mu    sync.Mutex
	noted int64
}

// NewEndpoints returns the Endpoints stored in db.
func NewEndpoints(db *table.DB) (*Endpoints, error) {
	jobs, err := newEnqueuer()
	return &Endpoints{db: db, jobs: jobs}, err
}

// newEnqueuer returns a client that only queues jobs, within our transactions.
func newEnqueuer() (*river.Client[pgx.Tx], error) {
	return river.NewClient(riverpgxv5.New(nil), &river.Config{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
}

func (s *Endpoints) enqueue(ctx context.Context, tx pgx.Tx, jobs []queuedJob) error {
	if len(jobs) == 0 {
		return nil
	}
	params := make([]river.InsertManyParams, len(jobs))
	for i := range jobs {
		params[i] = river.InsertManyParams{Args: jobs[i].deliverArgs,
			InsertOpts: &river.InsertOpts{Queue: queueOf(jobs[i].endpoint), MaxAttempts: jobAttempts}}
	}
	_, err := s.jobs.InsertManyFastTx(ctx, tx, params)
	return err
}

// worker delivers.
type worker struct {
	river.WorkerDefaults[deliverArgs]
	store *Endpoints
	cfg   *OutboxConfig
}

// NextRetry implements river.Worker, for a job that failed on our side.
func (w *worker) NextRetry(*river.Job[deliverArgs]) time.Time { return time.Now().Add(5 * time.Second) }

// Work implements river.Worker.
func (w *worker) Work(ctx context.Context, job *river.Job[deliverArgs]) error {
	t, err := w.store.take(ctx, job.Args)
	if err != nil || t == nil {
		return err
	}
	if problem := t.endpoint.Problem(&t.message); problem != "" {
		return w.store.record(ctx, t, &webhook.Answer{Problem: problem}, webhook.Verdict{State: webhook.Failed}, t.tries)
	}
	answer := w.cfg.Deliver(ctx, webhook.NewRequest(cmp.Or(t.message.URL, t.endpoint.URL), t.message.ID, t.message.Body,
		w.store.db.Config.Now(), t.secrets...))
	if ctx.Err() != nil && answer.Status == 0 {
		return river.JobSnooze(0) // this process is stopping; another delivers it
	}
	verdict := webhook.Judge(&answer, t.tries+1, t.worked, rand.Float64()) //nolint:gosec // jitter
	if t.message.URL != "" {
		verdict = verdict.OfAddress()
	}
	if w.cfg.OnTry != nil {
		w.cfg.OnTry(verdict, answer.Took)
	}
	if err := w.store.record(context.WithoutCancel(ctx), t, &answer, verdict, t.tries+1); err != nil {
		return err
	}
	if verdict.State == webhook.Pending {
		return river.JobSnooze(verdict.Wait)
	}
	return nil
}

// taken is a delivery about to be tried.
type taken struct {
	deliverArgs
	endpoint webhook.Endpoint // what a try depends on
	message  webhook.Message
	worked   bool
	tries    int
	secrets  [][]byte
}

// take reads a delivery; nil when there is nothing left to do.
func (s *Endpoints) take(ctx context.Context, args deliverArgs) (*taken, error) {
	t := &taken{deliverArgs: args}
	var secret, old string
	e, m := &t.endpoint, &t.message
	err := s.db.Read.QueryRow(ctx, `SELECT w.id, w.url, w.types, w.active, w.campaigns,
			CASE WHEN m.url IS NULL THEN coalesce(w.last_delivered_at > d.created_at, false)
				ELSE EXISTS (SELECT FROM webhook_messages o JOIN webhook_deliveries x ON x.message_id = o.id
					WHERE o.subject = m.subject AND o.url = m.url AND x.state = 'delivered' AND x.tried_at > d.created_at) END,
			m.type, m.campaign_id, m.id, coalesce(m.url, ''), m.body, d.tries, w.secret,
			CASE WHEN w.old_secret_until > $3 THEN w.old_secret ELSE '' END
		FROM webhook_deliveries d JOIN webhooks w ON w.id = d.webhook_id JOIN webhook_messages m ON m.id = d.message_id
		WHERE d.id = $1 AND d.generation = $2 AND d.state = 'pending'`, args.Delivery, args.Generation,
		s.db.Config.Now()).
		Scan(&e.ID, &e.URL, &e.Types, &e.Active, &e.Campaigns, &t.worked, &m.Type, &m.Campaign, &m.ID, &m.URL, &m.Body,
			&t.tries, &secret, &old)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, s.db.Wrap("delivery not read", err)
	}
	for _, stored := range []struct{ column, text string }{{"secret", secret}, {"old_secret", old}} {
		if stored.text == "" {
			continue
		}
		text, err := s.db.Config.Secrets.Open(webhookPlace(stored.column, e.ID), stored.text)
		if err != nil {
			return nil, err
		}
		b, err := webhook.ReadSecret(text)
		if err != nil {
			return nil, err
		}
		t.secrets = append(t.secrets, b)
	}
	return t, nil
}

// workedEvery is the precision with which the last delivery time is recorded.
const workedEvery = time.Second

// record stores the result of a try.
func (s *Endpoints) record(ctx context.Context, t *taken, a *webhook.Answer, v webhook.Verdict, tries int) error {
	now := s.db.Config.Now()
	var next *time.Time
	if v.State == webhook.Pending {
		at := now.Add(v.Wait)
		next = &at
	}
	return s.db.InTx(ctx, "delivery not recorded", func(tx pgx.Tx) error {
		if v.Disable != "" {
			if err := lockFollower(ctx, tx); err != nil {
				return err
			}
		}
		done, err := tx.Exec(ctx, `UPDATE webhook_deliveries
			SET state = $3, tries = $4, status = $5, problem = $6, excerpt = $7, tried_at = $8, next_at = $9
			WHERE id = $1 AND generation = $2`, t.Delivery, t.Generation, string(v.State), tries, a.Status, a.Problem,
			column.Clean(a.Body), now, next)
		if err != nil || done.RowsAffected() == 0 {
			return err
		}
		switch {
		case v.State == webhook.Delivered:
			_, err = tx.Exec(ctx, "UPDATE webhooks SET last_delivered_at = $2 WHERE id = $1 "+
				"AND (last_delivered_at IS NULL OR last_delivered_at < $3)",
				string(t.endpoint.ID), now, now.Add(-workedEvery))
		case v.Disable != "":
			err = s.disable(ctx, tx, t.endpoint.ID, v.Disable, now)
		case v.Forget: // unless a later request named another
			_, err = tx.Exec(ctx, `DELETE FROM webhook_callbacks b USING webhook_messages m
				WHERE m.id = $1 AND b.subject = m.subject AND b.url = m.url`, t.message.ID)
		}
		return err
	})
}

// disable deactivates an endpoint, with a reason.
func (s *Endpoints) disable(ctx context.Context, tx pgx.Tx, id webhook.EndpointID, why string, now time.Time) error {
	done, err := tx.Exec(ctx, "UPDATE webhooks SET active = false, disabled = $2, disabled_at = $3 WHERE id = $1 "+
		"AND active", string(id), why, now)
	if err != nil || done.RowsAffected() == 0 {
		return err
	}
	s.db.Config.Log.Warn().Str("webhook_id", string(id)).Str("reason",
		why).Msg("webhook disabled; its messages are not delivered until somebody makes it active again")
	if err := follow(ctx, tx); err != nil {
		return err
	}
	return s.db.NoteRow(ctx, tx, table.PartWebhook, string(id), "webhook.disabled", string(id), engine.System)
}
