package process

import (
	"context"
	"errors"
	"time"

	"dialler/engine"
	"dialler/http/access"
	"dialler/persistence"
)

// FirstAdminEmail is the log-in of a new installation's first administrator.
const FirstAdminEmail = "admin@dialler.local"

// AddUser stores a new user; who adds it is recorded.
func AddUser(ctx context.Context, s *persistence.Store, email, role, password string, who engine.Who) error {
	return s.Accounts.CreateUser(ctx, access.NewUser(email, role, password, time.Now()), who)
}

// adminRetry is how often creating the first administrator is retried while the database is
// unavailable.
const adminRetry = 500 * time.Millisecond

// FirstAdmin creates the first administrator of an installation without users; the password is ""
// when there is one already. While the database is unavailable it waits until ctx ends; the dialler
// itself keeps running meanwhile.
func (p *Process) FirstAdmin(ctx context.Context) (password string, err error) {
	password = access.NewPassword()
	first := access.NewUser(FirstAdminEmail, "admin", password, time.Now())
	// Once begun, it must not be abandoned half-way: the password would be lost.
	work := context.WithoutCancel(ctx)
	for waited := false; ; waited = true {
		made, err := p.makeFirst(work, first)
		var e *engine.Error
		switch {
		case err == nil && made:
			return password, nil
		case err == nil:
			return "", nil
		case !errors.As(err, &e) || e.Kind != engine.KindUnavailable:
			return "", err
		case !waited:
			p.log.Warn().Err(err).Msg("the database is unavailable; will check again whether a first administrator is needed")
		}
		t := time.NewTimer(adminRetry)
		select {
		case <-ctx.Done():
			t.Stop()
			return "", nil
		case <-t.C:
		}
	}
}

// makeFirst stores the first user. It may be called again when it is unknown whether that
// succeeded.
func (p *Process) makeFirst(ctx context.Context, first engine.User) (made bool, err error) {
	users, err := p.store.Accounts.Users(ctx)
	if err != nil {
		return false, err
	}
	if len(users) > 0 {
		return len(users) == 1 && users[0].ID == first.ID, nil
	}
	return true, p.store.Accounts.CreateUser(ctx, first, engine.System)
}
