package call

import (
	"context"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// Tables are what a contact asks of what is durable.
type Tables interface {
	ContactByID(context.Context, engine.ContactID) (contact.Contact, bool, error)
	Attempt(context.Context, engine.AttemptID) (attempt.Attempt, bool, error)
	// OpenLegs lists ended attempts with legs that are watched.
	OpenLegs(context.Context) ([]attempt.Attempt, error)
}

// Attempts are what a result asks of what is durable.
type Attempts interface {
	Attempt(context.Context, engine.AttemptID) (attempt.Attempt, bool, error)
	// KeptContact is a contact as an earlier run left it.
	KeptContact(context.Context, engine.ContactID, int) (contact.Contact, bool, error)
}

// ReadContact gives what a restarted contact goes on from: the attempt is the one that it
// has, or one that has ended and whose legs it watched.
func ReadContact(ctx context.Context, t Tables, id engine.ContactID) *ContactLoaded {
	row, ok, err := t.ContactByID(ctx, id)
	m := &ContactLoaded{Row: row, Err: err}
	if err == nil && !ok {
		m.Err = engine.NotFound("contact_not_found", "")
	}
	if m.Err != nil {
		return m
	}
	if row.Attempt != "" {
		at, ok, err := t.Attempt(ctx, row.Attempt)
		if m.Err = err; err == nil && ok {
			m.Attempt = &at
		}
		return m
	}
	watched, err := t.OpenLegs(ctx)
	m.Err = err
	for i := range watched {
		if watched[i].Contact == id {
			m.Attempt = &watched[i]
		}
	}
	return m
}

// Read is the command again, with the attempt that was asked for, or why there is none;
// of a run before the contact's with the contact as that left it.
func (e *FetchAttempt) Read(ctx context.Context, t Attempts) *StoreResult {
	at, ok, err := t.Attempt(ctx, e.Attempt)
	var kept *contact.Contact
	if err == nil && ok && e.Run != 0 && at.Run != e.Run {
		var c contact.Contact
		var has bool
		if c, has, err = t.KeptContact(ctx, at.Contact, at.Run); has {
			kept = &c
		}
	}
	m := e.Unread(err)
	switch {
	case err != nil:
	case !ok:
		m.Err = ErrCallNotFound
	default:
		m.Attempt, m.Kept = &at, kept
	}
	return m
}

// Unread is the command again when the tables could not be asked.
func (e *FetchAttempt) Unread(err error) *StoreResult {
	m := *e.Result
	m.Fetched, m.Attempt, m.Kept = true, nil, nil
	if err != nil {
		m.Err = journal.Unavailable(err)
	}
	return &m
}
