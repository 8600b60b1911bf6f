// Package webhooks stores webhook endpoints, follows the history behind the writers, and queues
// what it finds for delivery.
package webhooks

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/webhook"
	"dialler/persistence/sealed"
	"dialler/persistence/table"
)

// Webhook endpoints. Their secrets are stored like those of trunks; the previous one stays until
// the end of its overlap.

const webhookColumns = "id, url, types, campaigns, description, active, disabled, disabled_at, old_secret_until, " +
	"last_delivered_at, created_at, created_by"

func scanWebhook(row pgx.CollectableRow) (e webhook.Endpoint, err error) {
	err = row.Scan(&e.ID, &e.URL, &e.Types, &e.Campaigns, &e.Description, &e.Active, &e.Disabled, &e.DisabledAt,
		&e.OldSecretUntil,
		&e.LastDeliveredAt, &e.CreatedAt, &e.CreatedBy)
	return e, err
}

var (
	// ErrWebhookNotFound means that no endpoint has this identifier.
	ErrWebhookNotFound = engine.NotFound("webhook_not_found", "")
	errTooManyWebhooks = engine.Conflict("too_many_webhooks",
		"")
)

func webhookPlace(column string, id webhook.EndpointID) string {
	return sealed.PlaceOf("webhooks", column, string(id))
}

// Webhooks lists every endpoint, oldest first.
func (s *Endpoints) Webhooks(ctx context.Context) ([]webhook.Endpoint, error) {
	read := s.reads.Add(1)
	rows, _ := s.db.Read.Query(ctx, "SELECT "+webhookColumns+" FROM webhooks ORDER BY created_at, id")
	list, err := pgx.CollectRows(rows, scanWebhook)
	if err == nil {
		s.noteRinging(list, read)
	}
	return list, s.db.Wrap("webhooks not read", err)
}

// noteRinging keeps who is told when calls ring, unless a later reading is known already. The outbox reads the
// endpoints every two seconds at least, so that each node knows of the others' changes.
func (s *Endpoints) noteRinging(list []webhook.Endpoint, read int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if read < s.noted {
		return
	}
	s.noted = read
	var told []webhook.Endpoint
	for i := range list {
		if e := &list[i]; e.Active && (slices.Contains(e.Types, webhook.Ringing) ||
			slices.Contains(e.Types, webhook.StatusCallback)) {
			told = append(told, *e)
		}
	}
	if told == nil {
		s.ringing.Store(nil)
		return
	}
	s.ringing.Store(&told)
}

// TellsRinging says whether an endpoint is to be told when a call of a campaign rings, "" for calls outside
// campaigns. It is asked once a call, and costs nothing while there is no such endpoint.
func (s *Endpoints) TellsRinging(c engine.CampaignID) bool {
	told := s.ringing.Load()
	if told == nil {
		return false
	}
	for i := range *told {
		if e := &(*told)[i]; e.Wants(webhook.Ringing, c) || e.Wants(webhook.StatusCallback, c) {
			return true
		}
	}
	return false
}

// Covering finds the endpoint that covers a request's address, as webhook.Covering. Memory answers if it knows one:
// each message is held against the endpoints once more. Else they are read: another node may just have stored one.
func (s *Endpoints) Covering(ctx context.Context, address string, c engine.CampaignID) (found *webhook.Endpoint,
	paused bool, err error) {
	if told := s.ringing.Load(); told != nil {
		if e, _ := webhook.Covering(*told, address, c); e != nil {
			return e, false, nil
		}
	}
	list, err := s.Webhooks(ctx)
	if err != nil {
		return nil, false, err
	}
	found, paused = webhook.Covering(list, address, c)
	return found, paused, nil
}

// changed makes a change of endpoints take effect at once on this node.
func (s *Endpoints) changed(ctx context.Context, err error) {
	if err == nil {
		_, _ = s.Webhooks(ctx) // else the outbox reads them soon
	}
	s.wakeOutbox()
}

// Webhook returns an endpoint; ErrWebhookNotFound.
func (s *Endpoints) Webhook(ctx context.Context, id webhook.EndpointID) (webhook.Endpoint, error) {
	rows, _ := s.db.Read.Query(ctx, "SELECT "+webhookColumns+" FROM webhooks WHERE id = $1", string(id))
	e, err := pgx.CollectExactlyOneRow(rows, scanWebhook)
	if errors.Is(err, pgx.ErrNoRows) {
		return e, ErrWebhookNotFound
	}
	return e, s.db.Wrap("webhook not read", err)
}

// CreateWebhook stores a new endpoint with its secret; Conflict "too_many_webhooks". It is sent all
// events committed after the return; it may also be sent events committed shortly before.
func (s *Endpoints) CreateWebhook(ctx context.Context, e webhook.Endpoint, secret string, who engine.Who) error {
	sealed, err := s.db.Config.Secrets.Seal(webhookPlace("secret", e.ID), secret)
	if err != nil {
		return err
	}
	err = s.db.InTx(ctx, "webhook not stored", func(tx pgx.Tx) error {
		if err := lockFollower(ctx, tx); err != nil {
			return err
		}
		var n int
		if err := tx.QueryRow(ctx, "SELECT count(*) FROM webhooks").Scan(&n); err != nil {
			return err
		}
		if n >= webhook.EndpointCap {
			return errTooManyWebhooks
		}
		if _, err := tx.Exec(ctx, `INSERT INTO webhooks (id, url, types, campaigns, description, active, secret,
			created_at, created_by)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`, string(e.ID), e.URL, table.List(e.Types),
			table.List(e.Campaigns), e.Description, e.Active, sealed,
			table.OrNow(e.CreatedAt), e.CreatedBy); err != nil {
			return err
		}
		if err := follow(ctx, tx); err != nil {
			return err
		}
		return s.db.NoteRow(ctx, tx, table.PartWebhook, string(e.ID), "webhook.created", string(e.ID), who)
	})
	s.changed(ctx, err)
	return err
}

// ChangeWebhook changes an endpoint: change receives the stored one, under a lock, and may set URL,
// types, campaigns, description and active. It returns ErrWebhookNotFound when there is none.
func (s *Endpoints) ChangeWebhook(ctx context.Context, id webhook.EndpointID, change func(*webhook.Endpoint),
	who engine.Who) (e webhook.Endpoint, err error) {
	err = s.db.InTx(ctx, "webhook not changed", func(tx pgx.Tx) error {
		if err := lockFollower(ctx, tx); err != nil {
			return err
		}
		rows, _ := tx.Query(ctx, "SELECT "+webhookColumns+" FROM webhooks WHERE id = $1 FOR UPDATE", string(id))
		if e, err = pgx.CollectExactlyOneRow(rows, scanWebhook); errors.Is(err, pgx.ErrNoRows) {
			return ErrWebhookNotFound
		} else if err != nil {
			return err
		}
		change(&e)
		if _, err := tx.Exec(ctx, `UPDATE webhooks SET url = $2, types = $3, campaigns = $4, description = $5,
			active = $6, disabled = $7, disabled_at = $8
			WHERE id = $1`, string(id), e.URL, table.List(e.Types), table.List(e.Campaigns), e.Description, e.Active,
			e.Disabled, e.DisabledAt); err != nil {
			return err
		}
		if err := follow(ctx, tx); err != nil {
			return err
		}
		return s.db.NoteRow(ctx, tx, table.PartWebhook, string(id), "webhook.changed", string(id), who)
	})
	s.changed(ctx, err)
	return e, err
}

// DeleteWebhook removes an endpoint, its log, and all its pending messages. Addresses that requests named stay: they
// are told as soon as another endpoint covers them. It returns ErrWebhookNotFound when there is none.
func (s *Endpoints) DeleteWebhook(ctx context.Context, id webhook.EndpointID, who engine.Who) error {
	err := s.db.InTx(ctx, "webhook not deleted", func(tx pgx.Tx) error {
		if err := lockFollower(ctx, tx); err != nil {
			return err
		}
		rows, err := s.db.Going(ctx, tx, table.PartWebhook, string(id))
		if err != nil {
			return err
		}
		done, err := tx.Exec(ctx, "DELETE FROM webhooks WHERE id = $1", string(id))
		if err != nil {
			return err
		}
		if done.RowsAffected() == 0 {
			return ErrWebhookNotFound
		}
		// A running job will not find its delivery.
		if _, err := tx.Exec(ctx, "DELETE FROM river_job WHERE queue = $1 AND state <> 'running'",
			queueOf(id)); err != nil {
			return err
		}
		if err := follow(ctx, tx); err != nil {
			return err
		}
		return s.db.NoteWritten(ctx, tx, rows, "webhook.deleted", string(id), who)
	})
	s.changed(ctx, err)
	return err
}

// RotateWebhookSecret replaces the current secret by a new one; the old one also signs until the
// given time. It returns ErrWebhookNotFound when there is none.
func (s *Endpoints) RotateWebhookSecret(ctx context.Context, id webhook.EndpointID, secret string, until time.Time,
	who engine.Who) (e webhook.Endpoint, err error) {
	err = s.db.InTx(ctx, "webhook's secret not changed", func(tx pgx.Tx) error {
		var stored string
		if err := tx.QueryRow(ctx, "SELECT secret FROM webhooks WHERE id = $1 FOR UPDATE",
			string(id)).Scan(&stored); errors.Is(err, pgx.ErrNoRows) {
			return ErrWebhookNotFound
		} else if err != nil {
			return err
		}
		old, err := s.db.Config.Secrets.Open(webhookPlace("secret", id), stored)
		if err != nil {
			return err
		}
		if old, err = s.db.Config.Secrets.Seal(webhookPlace("old_secret", id), old); err != nil {
			return err
		}
		fresh, err := s.db.Config.Secrets.Seal(webhookPlace("secret", id), secret)
		if err != nil {
			return err
		}
		rows, _ := tx.Query(ctx, "UPDATE webhooks SET secret = $2, old_secret = $3, old_secret_until = $4 "+
			"WHERE id = $1 RETURNING "+webhookColumns,
			string(id), fresh, old, until)
		if e, err = pgx.CollectExactlyOneRow(rows, scanWebhook); err != nil {
			return err
		}
		return s.db.NoteRow(ctx, tx, table.PartWebhook, string(id), "webhook.secret_rotated", string(id), who)
	})
	return e, err
}

// lockFollower must be taken before any other lock on these tables: it keeps the history from being
// read meanwhile.
func lockFollower(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, "SELECT FROM webhook_follower FOR UPDATE")
	return err
}

// follow starts reading the history from now on when the first active endpoint appears, and stops
// when the last one has gone.
func follow(ctx context.Context, tx pgx.Tx) error {
	var following, wanted bool
	err := tx.QueryRow(ctx, "SELECT following, EXISTS (SELECT FROM webhooks WHERE active) "+
		"FROM webhook_follower").Scan(&following, &wanted)
	if err != nil || following == wanted {
		return err
	}
	for _, sql := range []string{
		"UPDATE webhook_follower SET following = NOT following",
		"DELETE FROM webhook_cursors",
		"INSERT INTO webhook_cursors (campaign_id, run, n) SELECT campaign_id, run, n FROM event_heads " +
			"WHERE (SELECT following FROM webhook_follower)",
	} {
		if _, err := tx.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}
