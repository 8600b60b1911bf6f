package access

import (
	"context"
	"time"

	"dialler/engine"
)

// Keys stores API keys.
type Keys interface {
	// KeyByHash finds a key by its SHA-256; ok is false if there is none.
	KeyByHash(ctx context.Context, hash [32]byte) (key engine.APIKey, ok bool, err error)
	// Keys lists every key, newest first.
	Keys(ctx context.Context) ([]engine.APIKey, error)
	CreateKey(ctx context.Context, key engine.APIKey, who engine.Who) error
	// ChangeKey changes a key; NotFound "key_not_found" if there is none.
	ChangeKey(ctx context.Context, id engine.KeyID, change KeyChange, who engine.Who) (engine.APIKey, error)
	// DeleteKey deletes an inactive key: NotFound "key_not_found" if there is none, Conflict
	// "key_active" if it is active.
	DeleteKey(ctx context.Context, id engine.KeyID, who engine.Who) error
	// KeysUsed stores when keys were last used; called occasionally with many.
	KeysUsed(ctx context.Context, used map[engine.KeyID]time.Time) error
}

// KeyChange is a change of a key; nil means unchanged.
type KeyChange struct {
	Name      *string
	Active    *bool
	ExpiresAt **time.Time // pointing to nil: never expires
	Scopes    *[]string
	Campaigns *[]engine.CampaignID
	// DialoutsPerDay removes the cap if it is 0.
	DialoutsPerDay *int
}

// Users stores the people who may log in.
type Users interface {
	// UserByEmail takes the address in lower case.
	UserByEmail(ctx context.Context, email string) (user engine.User, ok bool, err error)
	User(ctx context.Context, id engine.UserID) (user engine.User, ok bool, err error)
	// Users lists all users, the oldest first.
	Users(ctx context.Context) ([]engine.User, error)
	// CreateUser returns Conflict "user_exists" if the address is taken.
	CreateUser(ctx context.Context, u engine.User, who engine.Who) error
	// UpdateUser calls change with the stored user, under a lock, and stores its role, password,
	// active and LockedUntil. A new password and a deactivation end the user's sessions and tokens.
	// NotFound "user_not_found"; Conflict "last_admin" if no administrator would be left. change
	// may be called again.
	UpdateUser(ctx context.Context, id engine.UserID, change func(*engine.User), who engine.Who) (engine.User, error)
	// LoggedIn notes a log-in, and clears the failed ones before it.
	LoggedIn(ctx context.Context, id engine.UserID, at time.Time) error
	// LogInFailed counts a failed log-in; the last of engine.LogInFailures locks the account for
	// engine.LogInLock. It takes as long for an unknown address.
	LogInFailed(ctx context.Context, email string, at time.Time, who engine.Who) (locked bool, err error)
}

// Sessions stores the log-in sessions of the console by the SHA-256 of their tokens. Deactivating a
// user and a new password end the user's sessions.
type Sessions interface {
	// CreateSession drops the user's oldest sessions beyond keep; NotFound "user_not_found" if the
	// user may not log in (any more).
	CreateSession(ctx context.Context, u engine.UserSession, keep int) error
	// SessionByHash finds a session; ok is false if there is none. It may have expired.
	SessionByHash(ctx context.Context, hash [32]byte) (u engine.UserSession, ok bool, err error)
	// EndSession is harmless when there is none.
	EndSession(ctx context.Context, hash [32]byte) error
	// SessionsSeen stores SeenAt and ExpiresAt; called occasionally with many.
	SessionsSeen(ctx context.Context, seen []engine.UserSession) error
}
