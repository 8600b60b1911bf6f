package persistence

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/journal"
)

// replyLife is how long a reply to a request with an Idempotency-Key is kept.
const replyLife = 24 * time.Hour

// FindReply gives the stored reply of key, route and token; ok is false when
// there is none that is younger than a day. Whether it belongs to the same
// body is for the caller to see (BodyHash).
func (s *Store) FindReply(ctx context.Context, id engine.Idempotency) (r journal.Reply, ok bool, err error) {
	r.Key, r.Route, r.Token = id.Key, id.Route, id.Token
	err = s.read.QueryRow(ctx, `SELECT body_hash, status, body, at FROM idempotency
		WHERE key_id = $1 AND route = $2 AND token = $3 AND at > now() - $4::interval`,
		string(id.Key), id.Route, id.Token, replyLife).Scan(&r.BodyHash, &r.Status, &r.Body, &r.At)
	if errors.Is(err, pgx.ErrNoRows) {
		return journal.Reply{}, false, nil
	}
	return r, err == nil, s.wrap("stored reply not read", err)
}

// StoreReply keeps a reply that changed nothing else; journal.ErrReplyExists
// when there is one already.
func (s *Store) StoreReply(ctx context.Context, r journal.Reply) error {
	refused, err := s.Commit(ctx, []journal.Write{{Reply: &r}})
	if err != nil {
		return err
	}
	return refused[0]
}

// PurgeReplies drops the replies that are older than a day and says how many.
func (s *Store) PurgeReplies(ctx context.Context, now time.Time) (int, error) {
	tag, err := s.read.Exec(ctx, "DELETE FROM idempotency WHERE at <= $1", now.Add(-replyLife))
	return int(tag.RowsAffected()), s.wrap("old replies not dropped", err)
}
