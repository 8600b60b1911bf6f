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
	// CreateKey and ChangeKey return Unavailable "node_version" for what a node of the release before would not
	// accept.
	CreateKey(ctx context.Context, key engine.APIKey, who engine.Who) error
	// ChangeKey changes a key as KeyChange.Apply says; NotFound "key_not_found" if there is none.
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
	// Secret is a new one: the one before it is valid until OldUntil, for overlapUsual if that is nil.
	Secret   *KeySecret
	OldUntil **time.Time // pointing to nil: no longer
	// By is the key that asks for the change; nil if it is a user.
	By *engine.APIKey
}

// KeySecret is what is stored of a key's secret.
type KeySecret struct {
	Hash   [32]byte
	Masked string
}

// Apply carries out a change. A secret that has ended stays so: how long the old one is valid can only be shortened.
func (c KeyChange) Apply(k *engine.APIKey, now time.Time) error {
	if err := manages(c.By, k); err != nil {
		return err
	}
	dropEnded(k, now)
	if c.Name != nil {
		k.Name = *c.Name
	}
	if c.Active != nil {
		k.Active = *c.Active
	}
	if c.ExpiresAt != nil {
		k.ExpiresAt = *c.ExpiresAt
	}
	if c.DialoutsPerDay != nil {
		k.DialoutsPerDay = *c.DialoutsPerDay
	}
	if c.Scopes != nil {
		k.Scopes = *c.Scopes
	}
	if c.Campaigns != nil {
		k.Campaigns = *c.Campaigns
	}
	first := false // of the rotations while an old secret is valid
	if c.Secret != nil {
		// While an old secret is valid it stays the old one: the answer with the secret between them may have been lost.
		if first = k.OldHash == nil; first {
			k.OldHash, k.OldUntil = new(k.Hash), new(now.Add(overlapUsual))
		}
		k.Hash, k.Masked = c.Secret.Hash, c.Secret.Masked
	}
	switch {
	case c.OldUntil == nil:
	case first:
		k.OldUntil = *c.OldUntil
	default:
		if err := shorten(k, *c.OldUntil); err != nil {
			return err
		}
	}
	dropEnded(k, now)
	if err := manages(c.By, k); err != nil {
		return err
	}
	if k.Active || c.Secret != nil {
		return multiplies(c.By, k)
	}
	return nil
}

// shorten makes the old secret of a key end at a moment, at once if it is nil.
func shorten(k *engine.APIKey, until *time.Time) error {
	wrong := ""
	switch {
	case until != nil && k.OldHash == nil:
		wrong = "must be null: the key has no old secret, and one that has ended stays so; rotate-secret gives another"
	case until != nil && until.After(*k.OldUntil):
		wrong = "must be no later than it was, for example " + k.OldUntil.UTC().Format(time.RFC3339)
	default:
		k.OldUntil = until
		return nil
	}
	return engine.Invalid("validation_failed", "The body failed validation; see errors.",
		engine.FieldError{Field: "old_secret_until", Code: "out_of_range", Message: wrong})
}

// dropEnded forgets an old secret that is not valid any more.
func dropEnded(k *engine.APIKey, now time.Time) {
	if k.OldHash == nil || k.OldUntil == nil || !now.Before(*k.OldUntil) {
		k.OldHash, k.OldUntil = nil, nil
	}
}

// Users stores the people who may log in.
type Users interface {
	// UserByEmail takes the address in lower case.
	UserByEmail(ctx context.Context, email string) (user engine.User, ok bool, err error)
	// UserBySubject finds whom an identity provider means.
	UserBySubject(ctx context.Context, subject string) (user engine.User, ok bool, err error)
	User(ctx context.Context, id engine.UserID) (user engine.User, ok bool, err error)
	// Users lists all users, the oldest first.
	Users(ctx context.Context) ([]engine.User, error)
	// CreateUser returns Conflict "user_exists" if the address is taken.
	CreateUser(ctx context.Context, u engine.User, who engine.Who) error
	// UpdateUser calls change with the stored user, under a lock, and stores its role, password,
	// active, Subject and LockedUntil. A new password and a deactivation end the user's sessions and tokens.
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
