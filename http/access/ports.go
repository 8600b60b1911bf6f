package access

import (
	"context"
	"time"

	"dialler/engine"
)

// Keys stores API keys.
type Keys interface {
	// KeyByHash: ok is false when there is no key with that SHA-256.
	KeyByHash(ctx context.Context, hash [32]byte) (key engine.APIKey, ok bool, err error)
	// Keys lists every key, newest first.
	Keys(ctx context.Context) ([]engine.APIKey, error)
	CreateKey(ctx context.Context, key engine.APIKey, who engine.Who) error
	// ChangeKey: NotFound "key_not_found" when there is none.
	ChangeKey(ctx context.Context, id engine.KeyID, change KeyChange, who engine.Who) (engine.APIKey, error)
	// KeysUsed notes when keys were last used; called once in a while with many.
	KeysUsed(ctx context.Context, used map[engine.KeyID]time.Time) error
}

// KeyChange is what may change in a key; nil means unchanged.
type KeyChange struct {
	Name      *string
	Active    *bool
	ExpiresAt **time.Time // pointing to nil: never expires
	Scopes    *[]string
	Campaigns *[]engine.CampaignID
	// DialoutsPerDay: 0 ends the cap.
	DialoutsPerDay *int
}

// Users stores the people who may log in.
type Users interface {
	// UserByEmail takes the address in lower case.
	UserByEmail(ctx context.Context, email string) (user engine.User, ok bool, err error)
	User(ctx context.Context, id engine.UserID) (user engine.User, ok bool, err error)
	// Users lists all, the oldest first.
	Users(ctx context.Context) ([]engine.User, error)
	// CreateUser: Conflict "user_exists" when the address is taken.
	CreateUser(ctx context.Context, u engine.User, who engine.Who) error
	// UpdateUser has change see the user as stored, under a lock, and stores its
	// role, password, active and LockedUntil. A new password and a deactivation end the user's
	// sessions and tokens. NotFound "user_not_found"; Conflict "last_admin" when no
	// administrator would be left. change may be called again.
	UpdateUser(ctx context.Context, id engine.UserID, change func(*engine.User), who engine.Who) (engine.User, error)
	// LoggedIn notes a log-in, and forgets those that failed before.
	LoggedIn(ctx context.Context, id engine.UserID, at time.Time) error
	// LogInFailed counts one that failed; the last of engine.LogInFailures locks the
	// account for engine.LogInLock. It takes as long for an address that nobody has.
	LogInFailed(ctx context.Context, email string, at time.Time, who engine.Who) (locked bool, err error)
}

// Sessions stores the log-ins of the console by the SHA-256 of their tokens.
// Deactivating a user and a new password end that user's.
type Sessions interface {
	// CreateSession drops the user's oldest beyond keep; NotFound
	// "user_not_found" when the user may not log in (any more).
	CreateSession(ctx context.Context, u engine.UserSession, keep int) error
	// SessionByHash: ok is false when there is none; its time may be over.
	SessionByHash(ctx context.Context, hash [32]byte) (u engine.UserSession, ok bool, err error)
	// EndSession is harmless when there is none.
	EndSession(ctx context.Context, hash [32]byte) error
	// SessionsSeen notes SeenAt and ExpiresAt; called once in a while with many.
	SessionsSeen(ctx context.Context, seen []engine.UserSession) error
}
