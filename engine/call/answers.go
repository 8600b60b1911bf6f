package call

import (
	"context"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// Tables are the durable data that a contact queries.
type Tables interface {
	ContactByID(context.Context, engine.ContactID) (contact.Contact, bool, error)
	Attempt(context.Context, engine.AttemptID) (attempt.Attempt, bool, error)
	// OpenLegs lists ended attempts with legs that are watched.
	OpenLegs(context.Context) ([]attempt.Attempt, error)
}

// Attempts are the durable data that a result queries.
type Attempts interface {
	Attempt(context.Context, engine.AttemptID) (attempt.Attempt, bool, error)
	// KeptContact is a contact in the state in which an earlier run left it.
	KeptContact(context.Context, engine.ContactID, int) (contact.Contact, bool, error)
}

// ReadContact reads what a restarted contact resumes from: its current attempt, or an ended one
// whose legs it watched.
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

// Read returns the command again, with the requested attempt or the reason why there is none; an
// attempt of an earlier run comes with the contact as that run left it.
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

// Unread returns the command again when the tables could not be queried.
func (e *FetchAttempt) Unread(err error) *StoreResult {
	m := *e.Result
	m.Fetched, m.Attempt, m.Kept = true, nil, nil
	if err != nil {
		m.Err = journal.Unavailable(err)
	}
	return &m
}
