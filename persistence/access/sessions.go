package access

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
)

const sessionColumns = "hash, user_id, created_at, seen_at, expires_at"

func scanSession(row pgx.CollectableRow) (u engine.UserSession, err error) {
	var hash []byte
	err = row.Scan(&hash, &u.User, &u.CreatedAt, &u.SeenAt, &u.ExpiresAt)
	copy(u.Hash[:], hash)
	return u, err
}

// SessionByHash returns the session with that SHA-256, even an expired one; ok is false when there
// is none.
func (s *Accounts) SessionByHash(ctx context.Context, hash [32]byte) (u engine.UserSession, ok bool, err error) {
	rows, _ := s.db.Read.Query(ctx, "SELECT "+sessionColumns+" FROM user_sessions WHERE hash = $1", hash[:])
	u, err = pgx.CollectExactlyOneRow(rows, scanSession)
	if errors.Is(err, pgx.ErrNoRows) {
		return engine.UserSession{}, false, nil
	}
	return u, err == nil, s.db.Wrap("session not read", err)
}

// CreateSession stores a new session and drops the user's oldest beyond keep. It returns
// ErrUserNotFound when the user does not exist or is not active.
func (s *Accounts) CreateSession(ctx context.Context, u engine.UserSession, keep int) error {
	return s.db.InTx(ctx, "session not stored", func(tx pgx.Tx) error {
		// The lock prevents a concurrent deactivation or log-in.
		tag, err := tx.Exec(ctx, "SELECT FROM users WHERE id = $1 AND active FOR UPDATE", string(u.User))
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return ErrUserNotFound
		}
		_, err = tx.Exec(ctx, "INSERT INTO user_sessions ("+sessionColumns+") VALUES ($1, $2, $3, $4, $5)",
			u.Hash[:], string(u.User), u.CreatedAt, u.SeenAt, u.ExpiresAt)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `DELETE FROM user_sessions WHERE hash IN
			(SELECT hash FROM user_sessions WHERE user_id = $1 ORDER BY created_at DESC, hash OFFSET $2)`,
			string(u.User), keep)
		return err
	})
}

// EndSession removes a session; a missing one counts as ended.
func (s *Accounts) EndSession(ctx context.Context, hash [32]byte) error {
	_, err := s.db.Read.Exec(ctx, "DELETE FROM user_sessions WHERE hash = $1", hash[:])
	return s.db.Wrap("session not ended", err)
}

// SessionsSeen records when sessions were last used and when they now expire; a session that has
// ended meanwhile stays ended.
func (s *Accounts) SessionsSeen(ctx context.Context, seen []engine.UserSession) error {
	hashes, at, until := make([][]byte, len(seen)), make([]time.Time, len(seen)), make([]time.Time, len(seen))
	for i := range seen {
		hashes[i], at[i], until[i] = seen[i].Hash[:], seen[i].SeenAt, seen[i].ExpiresAt
	}
	_, err := s.db.Read.Exec(ctx, `UPDATE user_sessions s SET seen_at = n.at, expires_at = n.until
		FROM unnest($1::bytea[], $2::timestamptz[], $3::timestamptz[]) AS n(hash, at, until)
		WHERE s.hash = n.hash AND s.seen_at < n.at`, hashes, at, until)
	return s.db.Wrap("use of sessions not recorded", err)
}

// PurgeSessions drops expired sessions. The margin covers a use that has not been stored yet.
func (s *Accounts) PurgeSessions(ctx context.Context, now time.Time) error {
	_, err := s.db.Read.Exec(ctx, "DELETE FROM user_sessions WHERE expires_at < $1", now.Add(-time.Hour))
	return s.db.Wrap("sessions not dropped", err)
}
