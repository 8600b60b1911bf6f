// Package access stores who may use the API.
package access

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/journal"
	"dialler/persistence/table"
)

// Accounts stores who may use the API: users with their sessions, and keys.
type Accounts struct{ db *table.DB }

// NewAccounts returns the Accounts stored in db.
func NewAccounts(db *table.DB) *Accounts { return &Accounts{db: db} }

const userColumns = "id, email, role, password_hash, active, created_at, last_login_at, token_generation, " +
	"locked_until, subject"

func scanUser(row pgx.CollectableRow) (u engine.User, err error) {
	err = row.Scan(&u.ID, &u.Email, &u.Role, &u.PasswordHash, &u.Active, &u.CreatedAt, &u.LastLoginAt,
		&u.TokenGeneration, &u.LockedUntil, &u.Subject)
	return u, err
}

// Errors of users.
var (
	ErrUserNotFound = engine.NotFound("user_not_found", "")
	ErrUserExists   = engine.Conflict("user_exists", "")
	ErrLastAdmin    = engine.Conflict("last_admin", "")
)

func (s *Accounts) oneUser(ctx context.Context, where string, arg any) (u engine.User, ok bool, err error) {
	rows, _ := s.db.Read.Query(ctx, "SELECT "+userColumns+" FROM users WHERE "+where, arg)
	u, err = pgx.CollectExactlyOneRow(rows, scanUser)
	if errors.Is(err, pgx.ErrNoRows) {
		return engine.User{}, false, nil
	}
	return u, err == nil, s.db.Wrap("user not read", err)
}

// UserByEmail takes the address in lower case.
func (s *Accounts) UserByEmail(ctx context.Context, email string) (u engine.User, ok bool, err error) {
	return s.oneUser(ctx, "email = $1", email)
}

// UserBySubject finds whom an identity provider means.
func (s *Accounts) UserBySubject(ctx context.Context, subject string) (u engine.User, ok bool, err error) {
	return s.oneUser(ctx, "subject = $1 AND subject <> ''", subject)
}

// User returns the user with that identifier; ok is false when there is none.
func (s *Accounts) User(ctx context.Context, id engine.UserID) (u engine.User, ok bool, err error) {
	return s.oneUser(ctx, "id = $1", string(id))
}

// Users lists every user, oldest first.
func (s *Accounts) Users(ctx context.Context) ([]engine.User, error) {
	rows, _ := s.db.Read.Query(ctx, "SELECT "+userColumns+" FROM users ORDER BY created_at, id")
	list, err := pgx.CollectRows(rows, scanUser)
	return list, s.db.Wrap("users not read", err)
}

// CreateUser stores a new user; ErrUserExists when the address or the subject is taken.
func (s *Accounts) CreateUser(ctx context.Context, u engine.User, who engine.Who) error {
	return s.db.InTx(ctx, "user not stored", func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, "INSERT INTO users ("+userColumns+") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) "+
			"ON CONFLICT DO NOTHING",
			string(u.ID), u.Email, u.Role, u.PasswordHash, u.Active, table.OrNow(u.CreatedAt), u.LastLoginAt,
			u.TokenGeneration, u.LockedUntil, u.Subject)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return ErrUserExists
		}
		return s.db.NoteRow(ctx, tx, table.PartUser, string(u.ID), "user.created", string(u.ID), who)
	})
}

// UpdateUser changes a user: change receives the stored user, under a lock, and may set role,
// password hash, active, Subject and LockedUntil. When the user is deactivated or gets a new password, all
// sessions and tokens end; a new password also unlocks. It returns ErrLastAdmin when nobody would
// be left who may change users.
func (s *Accounts) UpdateUser(ctx context.Context, id engine.UserID, change func(*engine.User),
	who engine.Who) (u engine.User, err error) {
	err = s.db.InTx(ctx, "user not changed", func(tx pgx.Tx) error {
		// The administrators are locked too, in one order: two of them who demote each other at the
		// same time must not both succeed.
		if _, err := tx.Exec(ctx, "SELECT FROM users WHERE id = $1 OR role = 'admin' ORDER BY id FOR UPDATE",
			string(id)); err != nil {
			return err
		}
		rows, _ := tx.Query(ctx, "SELECT "+userColumns+" FROM users WHERE id = $1", string(id))
		if u, err = pgx.CollectExactlyOneRow(rows, scanUser); err != nil {
			if errors.Is(err, pgx.ErrNoRows) {
				return ErrUserNotFound
			}
			return err
		}
		was := u
		if change(&u); u.PasswordHash != was.PasswordHash {
			u.LockedUntil = nil
		}
		if was.Active && was.Role == "admin" && !(u.Active && u.Role == "admin") {
			var others bool
			err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM users WHERE role = 'admin' AND active AND id <> $1)",
				string(id)).Scan(&others)
			if err != nil {
				return err
			}
			if !others {
				return ErrLastAdmin
			}
		}
		if !u.Active || u.PasswordHash != was.PasswordHash {
			u.TokenGeneration = was.TokenGeneration + 1
			if _, err := tx.Exec(ctx, "DELETE FROM user_sessions WHERE user_id = $1", string(id)); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, `UPDATE users SET role = $2, password_hash = $3, active = $4, token_generation = $5,
			locked_until = $6, subject = $7,
				failed_logins = CASE WHEN $6::timestamptz IS NULL THEN 0 ELSE failed_logins END WHERE id = $1`,
			string(id), u.Role, u.PasswordHash, u.Active, u.TokenGeneration, u.LockedUntil, u.Subject)
		if err != nil {
			return err
		}
		if was.LockedUntil != nil && u.LockedUntil == nil {
			if err := s.db.Note(ctx, tx, journal.UserUnlocked, string(id), who); err != nil {
				return err
			}
			if was.LockedUntil = nil; was == u {
				return nil
			}
		}
		return s.db.NoteRow(ctx, tx, table.PartUser, string(id), "user.changed", string(id), who)
	})
	return u, err
}

// LoggedIn records when a user logged in and resets the count of failures.
func (s *Accounts) LoggedIn(ctx context.Context, id engine.UserID, at time.Time) error {
	_, err := s.db.Read.Exec(ctx, "UPDATE users SET last_login_at = $2, failed_logins = 0, locked_until = NULL "+
		"WHERE id = $1", string(id), at)
	return s.db.Wrap("log-in not recorded", err)
}

// LogInFailed counts a failed log-in and locks the account at the last of engine.LogInFailures;
// while it is locked, nothing is counted. An unknown address takes as long as any other.
func (s *Accounts) LogInFailed(ctx context.Context, email string, at time.Time, who engine.Who) (locked bool,
	err error) {
	err = s.db.InTx(ctx, "failed log-in not recorded", func(tx pgx.Tx) error {
		// The response time must not reveal how long a commit takes.
		if _, err := tx.Exec(ctx, "SET LOCAL synchronous_commit = off"); err != nil {
			return err
		}
		rows, _ := tx.Query(ctx, `UPDATE users SET
				failed_logins = CASE WHEN locked_until IS NULL THEN failed_logins + 1 ELSE 1 END,
				locked_until = CASE WHEN locked_until IS NULL
					AND failed_logins + 1 >= $3 THEN $2::timestamptz + $4::interval END
			WHERE email = $1 AND active AND (locked_until IS NULL OR locked_until <= $2)
			RETURNING id, locked_until IS NOT NULL`,
			email, at, engine.LogInFailures, engine.LogInLock)
		var id string
		_, err := pgx.ForEachRow(rows, []any{&id, &locked}, func() error { return nil })
		if err != nil || !locked {
			return err
		}
		return s.db.Note(ctx, tx, journal.UserLocked, id, who)
	})
	return locked, err
}
