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
}

// ReadContact gives what a restarted contact goes on from.
func ReadContact(ctx context.Context, t Tables, id engine.ContactID) *ContactLoaded {
	row, ok, err := t.ContactByID(ctx, id)
	m := &ContactLoaded{Row: row, Err: err}
	if err == nil && !ok {
		m.Err = engine.NotFound("contact_not_found", "the contact is not stored")
	}
	if m.Err == nil && row.Attempt != "" {
		at, ok, err := t.Attempt(ctx, row.Attempt)
		if m.Err = err; err == nil && ok {
			m.Attempt = &at
		}
	}
	return m
}

// Found is the command again, with the attempt that was asked for, or why there is none.
func (e *FetchAttempt) Found(at attempt.Attempt, ok bool, err error) *StoreResult {
	m := *e.Result
	m.Fetched, m.Attempt = true, nil
	switch {
	case err != nil:
		m.Err = journal.Unavailable(err)
	case !ok:
		m.Err = ErrCallNotFound
	default:
		m.Attempt = &at
	}
	return &m
}
