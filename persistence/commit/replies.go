package commit

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/journal"
	"dialler/persistence/pool"
)

// replyLife is how long a reply to a request with an Idempotency-Key is kept.
const replyLife = 24 * time.Hour

// KeepReplies stores replies and returns the keys of those that it stored. A stored reply with the
// same body and time is this very reply, whose commit was not confirmed.
const KeepReplies = `INSERT INTO idempotency AS t (key_id, route, token, body_hash, status, body, at)
		SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::integer[], $6::bytea[],
		$7::timestamptz[]) AS u(key_id, route, token)
		ORDER BY u.key_id, u.route, u.token
		ON CONFLICT (key_id, route, token) DO UPDATE
		SET body_hash = excluded.body_hash, status = excluded.status, body = excluded.body, at = excluded.at
		WHERE t.at <= excluded.at - interval '24 hours' OR (t.at = excluded.at AND t.body_hash = excluded.body_hash
		AND t.body = excluded.body)
		RETURNING key_id, route, token`

// FindReply returns the stored reply of key, route and token; ok is false when there is none
// younger than a day. The caller checks whether it belongs to the same body (BodyHash).
func (w *Writer) FindReply(ctx context.Context, id engine.Idempotency) (r journal.Reply, ok bool, err error) {
	return w.replies.Of(ctx, keyOf(&journal.Reply{Idempotency: id}))
}

func (w *Writer) repliesOf(ctx context.Context, keys []replyKey) (map[replyKey]journal.Reply, error) {
	of, routes, tokens := make([]string, len(keys)), make([]string, len(keys)), make([]string, len(keys))
	for i, k := range keys {
		of[i], routes[i], tokens[i] = k.key, k.route, k.token
	}
	rows, _ := w.db.Read.Query(ctx, `SELECT t.key_id, t.route, t.token, t.body_hash, t.status, t.body, t.at
		FROM (SELECT DISTINCT * FROM unnest($1::text[], $2::text[], $3::text[]) u(key_id, route, token)) u
		JOIN idempotency t ON t.key_id = u.key_id AND t.route = u.route AND t.token = u.token
		WHERE t.at > now() - $4::interval`, pool.PlannedEachTime, of, routes, tokens, replyLife)
	found := make(map[replyKey]journal.Reply)
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r journal.Reply, err error) {
		err = row.Scan(&r.Key, &r.Route, &r.Token, &r.BodyHash, &r.Status, &r.Body, &r.At)
		return r, err
	})
	for _, r := range list {
		found[keyOf(&r)] = r
	}
	return found, w.db.Wrap("stored reply not read", err)
}

// StoreReply stores the reply of a request that changed nothing else; it returns
// journal.ErrReplyExists when there is one already.
func (w *Writer) StoreReply(ctx context.Context, r journal.Reply) error {
	refused, err := w.Commit(ctx, []journal.Write{{Reply: &r}})
	if err != nil {
		return err
	}
	return refused[0]
}

// PurgeReplies drops the replies older than a day and says how many.
func (w *Writer) PurgeReplies(ctx context.Context, now time.Time) (int, error) {
	tag, err := w.db.Read.Exec(ctx, "DELETE FROM idempotency WHERE at <= $1", now.Add(-replyLife))
	return int(tag.RowsAffected()), w.db.Wrap("old replies not dropped", err)
}

type replyKey struct{ key, route, token string }

func keyOf(r *journal.Reply) replyKey { return replyKey{string(r.Key), r.Route, r.Token} }
