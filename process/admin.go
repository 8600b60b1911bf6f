package process

import (
	"context"
	"errors"
	"time"

	"dialler/engine"
	"dialler/http/access"
	"dialler/persistence"
)

// FirstAdminEmail is the log-in of the administrator that a new installation
// begins with.
const FirstAdminEmail = "admin@dialler.local"

// AddUser stores somebody who may log in.
func AddUser(ctx context.Context, s *persistence.Store, email, role, password string) error {
	return s.Accounts.CreateUser(ctx, access.NewUser(email, role, password, time.Now()), engine.System)
}

// adminRetry is how long the first administrator waits for a database that is
// away.
const adminRetry = 500 * time.Millisecond

// FirstAdmin makes the first administrator of an installation without users;
// the password is "" when there is one already. While the database is away it
// waits, until ctx ends: whoever dials by then goes on.
func (p *Process) FirstAdmin(ctx context.Context) (password string, err error) {
	password = access.NewPassword()
	first := access.NewUser(FirstAdminEmail, "admin", password, time.Now())
	// What has begun is not left half-way: the password would be lost.
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
			p.log.Warn().Err(err).Msg("the database is away; whether a first administrator is needed is asked again")
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

// makeFirst stores the first user. It may be called again when it is not known
// whether that was done.
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
