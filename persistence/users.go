package persistence

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
)

const userColumns = "id, email, role, password_hash, active, created_at, last_login_at, token_generation"

func scanUser(row pgx.CollectableRow) (u engine.User, err error) {
	err = row.Scan(&u.ID, &u.Email, &u.Role, &u.PasswordHash, &u.Active, &u.CreatedAt, &u.LastLoginAt, &u.TokenGeneration)
	return u, err
}

// Errors of users.
var (
	ErrUserNotFound = engine.NotFound("user_not_found", "no user has this identifier")
	ErrUserExists   = engine.Conflict("user_exists", "a user with this e-mail address exists already")
	ErrLastAdmin    = engine.Conflict("last_admin", "this is the only administrator who may log in; make another user one first")
)

func (s *Store) oneUser(ctx context.Context, where string, arg any) (u engine.User, ok bool, err error) {
	rows, _ := s.read.Query(ctx, "SELECT "+userColumns+" FROM users WHERE "+where, arg)
	u, err = pgx.CollectExactlyOneRow(rows, scanUser)
	if errors.Is(err, pgx.ErrNoRows) {
		return engine.User{}, false, nil
	}
	return u, err == nil, s.wrap("user not read", err)
}

// UserByEmail takes the address in lower case.
func (s *Store) UserByEmail(ctx context.Context, email string) (u engine.User, ok bool, err error) {
	return s.oneUser(ctx, "email = $1", email)
}

// User: ok is false when there is none.
func (s *Store) User(ctx context.Context, id engine.UserID) (u engine.User, ok bool, err error) {
	return s.oneUser(ctx, "id = $1", string(id))
}

// Users lists every user, oldest first.
func (s *Store) Users(ctx context.Context) ([]engine.User, error) {
	rows, _ := s.read.Query(ctx, "SELECT "+userColumns+" FROM users ORDER BY created_at, id")
	list, err := pgx.CollectRows(rows, scanUser)
	return list, s.wrap("users not read", err)
}

// CreateUser stores a new user; ErrUserExists when the address is taken.
func (s *Store) CreateUser(ctx context.Context, u engine.User, who engine.Who) error {
	return s.inTx(ctx, "user not stored", func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, "INSERT INTO users ("+userColumns+") VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING",
			string(u.ID), u.Email, u.Role, u.PasswordHash, u.Active, orNow(u.CreatedAt), u.LastLoginAt, u.TokenGeneration)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return ErrUserExists
		}
		return s.note(ctx, tx, "user.created", string(u.ID), who)
	})
}

// UpdateUser changes a user: change gets it as stored, under a lock, and what
// it leaves in role, password hash and active is stored. The sessions and tokens of
// a user who is not active any more, or has a new password, end with it.
// ErrLastAdmin when nobody would be left who may change users.
func (s *Store) UpdateUser(ctx context.Context, id engine.UserID, change func(*engine.User), who engine.Who) (u engine.User, err error) {
	err = s.inTx(ctx, "user not changed", func(tx pgx.Tx) error {
		// The administrators too, in one order: two who take each other's role away at
		// the same time must not both succeed.
		if _, err := tx.Exec(ctx, "SELECT FROM users WHERE id = $1 OR role = 'admin' ORDER BY id FOR UPDATE", string(id)); err != nil {
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
		change(&u)
		if was.Active && was.Role == "admin" && !(u.Active && u.Role == "admin") {
			var others bool
			err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM users WHERE role = 'admin' AND active AND id <> $1)", string(id)).Scan(&others)
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
		_, err := tx.Exec(ctx, "UPDATE users SET role = $2, password_hash = $3, active = $4, token_generation = $5 WHERE id = $1",
			string(id), u.Role, u.PasswordHash, u.Active, u.TokenGeneration)
		if err != nil {
			return err
		}
		return s.note(ctx, tx, "user.changed", string(id), who)
	})
	return u, err
}

// LoggedIn notes when a user logged in.
func (s *Store) LoggedIn(ctx context.Context, id engine.UserID, at time.Time) error {
	_, err := s.read.Exec(ctx, "UPDATE users SET last_login_at = $2 WHERE id = $1", string(id), at)
	return s.wrap("log-in not noted", err)
}
