package webhooks

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/webhook"
	"dialler/persistence/column"
	"dialler/persistence/table"
)

// The log of deliveries, and replays.

const deliveryColumns = "d.id, d.message_id, m.type, m.campaign_id, " +
	"coalesce(m.body::json #>> '{data,attempt_id}', ''), m.url IS NOT NULL, d.state, d.tries, d.status, d.problem, " +
	"d.excerpt, d.created_at, d.tried_at, d.next_at"

const fromDeliveries = " FROM webhook_deliveries d JOIN webhook_messages m ON m.id = d.message_id "

func scanDelivery(row pgx.CollectableRow) (d webhook.Delivery, err error) {
	err = row.Scan(&d.ID, &d.Message, &d.Type, &d.Campaign, &d.Attempt, &d.Own, &d.State, &d.Tries, &d.Status, &d.Problem,
		&d.Excerpt, &d.CreatedAt, &d.TriedAt, &d.NextAt)
	return d, err
}

var errDeliveryNotFound = engine.NotFound("delivery_not_found",
	"")

// ReplayCap bounds how many deliveries one request replays.
const ReplayCap = 10_000

// Deliveries returns a part of an endpoint's log, newest first; ErrWebhookNotFound.
func (s *Endpoints) Deliveries(ctx context.Context, id webhook.EndpointID,
	q webhook.DeliveryQuery) ([]webhook.Delivery, error) {
	if _, err := s.Webhook(ctx, id); err != nil {
		return nil, err
	}
	sql, args := "SELECT "+deliveryColumns+fromDeliveries+"WHERE d.webhook_id = $1", []any{string(id)}
	if q.Before > 0 {
		args = append(args, q.Before)
		sql += " AND d.id < $2"
	}
	if q.State != "" {
		args = append(args, string(q.State))
		sql += " AND d.state = $" + strconv.Itoa(len(args))
	}
	if len(q.Of) > 0 {
		args = append(args, table.List(q.Of))
		sql += " AND " + isOf("$"+strconv.Itoa(len(args)))
	}
	args = append(args, q.Size)
	rows, _ := s.db.Read.Query(ctx, sql+" ORDER BY d.id DESC LIMIT $"+strconv.Itoa(len(args)), args...)
	list, err := pgx.CollectRows(rows, scanDelivery)
	return list, s.db.Wrap("deliveries not read", err)
}

// isOf is the SQL condition that a message is of one of these campaigns, or the test of an endpoint.
func isOf(campaigns string) string {
	return "(m.campaign_id = ANY(" + campaigns + ") OR m.type = '" + webhook.Ping + "')"
}

// concerns is the SQL condition that a delivery is of a message that isOf $3; all are if there are none.
var concerns = ` AND (cardinality($3::text[]) = 0 OR EXISTS (SELECT FROM webhook_messages m
	WHERE m.id = message_id AND ` + isOf("$3") + "))"

// Replay sends one message to its endpoint again, with all its tries, even if it was delivered; of
// is as in a query.
// Errors: ErrWebhookNotFound, NotFound "delivery_not_found", Conflict "webhook_inactive".
func (s *Endpoints) Replay(ctx context.Context, id webhook.EndpointID, delivery int64,
	of []engine.CampaignID, who engine.Who) (d webhook.Delivery, err error) {
	err = s.db.InTx(ctx, "delivery not replayed", func(tx pgx.Tx) error {
		if err := replayable(ctx, tx, id); err != nil {
			return err
		}
		again, err := s.again(ctx, tx, id, "AND id = $2"+concerns, delivery, table.List(of))
		if err != nil {
			return err
		}
		if again == 0 {
			return errDeliveryNotFound
		}
		rows, _ := tx.Query(ctx, "SELECT "+deliveryColumns+fromDeliveries+"WHERE d.id = $1", delivery)
		if d, err = pgx.CollectExactlyOneRow(rows, scanDelivery); err != nil {
			return err
		}
		return s.db.Note(ctx, tx, "webhook.replayed", string(id), who)
	})
	return d, err
}

// ReplayFailed replays failed deliveries created since the given time, the oldest first, at most
// ReplayCap; of is as in a query. Errors: ErrWebhookNotFound, Conflict "webhook_inactive".
func (s *Endpoints) ReplayFailed(ctx context.Context, id webhook.EndpointID, since time.Time, of []engine.CampaignID,
	who engine.Who) (n int, err error) {
	err = s.db.InTx(ctx, "deliveries not replayed", func(tx pgx.Tx) error {
		if err := replayable(ctx, tx, id); err != nil {
			return err
		}
		if n, err = s.again(ctx, tx, id, `AND id IN (SELECT id FROM webhook_deliveries WHERE webhook_id = $1
			AND state = 'failed' AND created_at >= $2`+concerns+`
			ORDER BY created_at, id LIMIT `+strconv.Itoa(ReplayCap)+")", since, table.List(of)); err != nil || n == 0 {
			return err
		}
		return s.db.Note(ctx, tx, "webhook.replayed", string(id), who)
	})
	return n, err
}

func replayable(ctx context.Context, tx pgx.Tx, id webhook.EndpointID) error {
	var active bool
	err := tx.QueryRow(ctx, "SELECT active FROM webhooks WHERE id = $1 FOR SHARE", string(id)).Scan(&active)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return ErrWebhookNotFound
	case err == nil && !active:
		return engine.Conflict("webhook_inactive", "")
	}
	return err
}

// again restarts deliveries; where may refer to $2 and so on.
func (s *Endpoints) again(ctx context.Context, tx pgx.Tx, id webhook.EndpointID, where string, args ...any) (int,
	error) {
	rows, _ := tx.Query(ctx, `UPDATE webhook_deliveries SET state = 'pending', generation = generation + 1, tries = 0,
		status = 0, problem = '', excerpt = '', next_at = now()
		WHERE webhook_id = $1 `+where+" RETURNING id, generation", append([]any{string(id)}, args...)...)
	jobs, err := pgx.CollectRows(rows, pgx.RowToStructByPos[deliverArgs])
	if err != nil {
		return 0, err
	}
	queued := make([]queuedJob, len(jobs))
	for i := range jobs {
		queued[i] = queuedJob{endpoint: id, deliverArgs: jobs[i]}
	}
	return len(queued), s.enqueue(ctx, tx, queued)
}

// TestWebhook sends a message to an endpoint, whether it is active or not; ErrWebhookNotFound.
func (s *Endpoints) TestWebhook(ctx context.Context, id webhook.EndpointID, m webhook.Message,
	who engine.Who) (d webhook.Delivery, err error) {
	err = s.db.InTx(ctx, "test message not stored", func(tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, "SELECT FROM webhooks WHERE id = $1 FOR SHARE", string(id)).Scan(); errors.Is(err,
			pgx.ErrNoRows) {
			return ErrWebhookNotFound
		} else if err != nil {
			return err
		}
		queued, err := putMessages(ctx, tx, []webhook.Message{m}, []addressed{{endpoint: id, message: m.ID}}, m.At)
		if err != nil {
			return err
		}
		if err := s.enqueue(ctx, tx, queued); err != nil {
			return err
		}
		rows, _ := tx.Query(ctx, "SELECT "+deliveryColumns+fromDeliveries+"WHERE d.message_id = $1", m.ID)
		if d, err = pgx.CollectExactlyOneRow(rows, scanDelivery); err != nil {
			return err
		}
		return s.db.Note(ctx, tx, "webhook.tested", string(id), who)
	})
	return d, err
}

// addressed is one message for one endpoint.
type addressed struct {
	endpoint webhook.EndpointID
	message  string
}

// putMessages stores messages and their recipients, and returns those to be sent; what is stored
// already is neither stored nor sent again.
func putMessages(ctx context.Context, tx pgx.Tx, messages []webhook.Message, to []addressed,
	at time.Time) ([]queuedJob, error) {
	n := len(messages)
	ids, kinds, campaigns, subjects, bodies, urls := make([]string, n), make([]string, n), make([]string, n),
		make([]*string, n), make([]string, n), make([]*string, n)
	for i := range messages {
		m := &messages[i]
		ids[i], kinds[i], campaigns[i], bodies[i] = m.ID, m.Type, string(m.Campaign), string(m.Body)
		if column.IsID(m.Subject) {
			subjects[i] = &m.Subject
		}
		if m.URL != "" {
			urls[i] = &m.URL
		}
	}
	if _, err := tx.Exec(ctx, `INSERT INTO webhook_messages (id, type, campaign_id, subject, body, url, created_at)
		SELECT u.*, $7 FROM unnest($1::text[], $2::text[], $3::text[], $4::uuid[], $5::text[], $6::text[]) u ON CONFLICT
		DO NOTHING`,
		ids, kinds, campaigns, subjects, bodies, urls, at); err != nil {
		return nil, err
	}
	endpoints, named := make([]string, len(to)), make([]string, len(to))
	for i := range to {
		endpoints[i], named[i] = string(to[i].endpoint), to[i].message
	}
	rows, _ := tx.Query(ctx, `INSERT INTO webhook_deliveries (webhook_id, message_id, created_at, next_at)
		SELECT u.webhook, u.message, $3, $3 FROM unnest($1::text[], $2::text[]) WITH ORDINALITY
		AS u(webhook, message, n) ORDER BY u.n
		ON CONFLICT DO NOTHING RETURNING webhook_id, id`, endpoints, named, at)
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (q queuedJob, err error) {
		err = row.Scan(&q.endpoint, &q.Delivery)
		return q, err
	})
}
