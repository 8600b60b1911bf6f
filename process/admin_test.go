package process

import (
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"dialler/persistence"
	"dialler/persistence/storetest"
)

func TestTheFirstAdministratorIsMadeOnceTheDatabaseAnswers(t *testing.T) {
	t.Parallel()
	faults, log := &storetest.Faults{}, &logbook{}
	p := &Process{log: zerolog.New(log), store: storetest.OpenAt(t, storetest.URL(t),
		persistence.Config{Dial: faults.Dial})}
	faults.Down()
	password := make(chan string, 1)
	go func() {
		s, err := p.FirstAdmin(t.Context())
		if err != nil {
			t.Error(err)
		}
		password <- s
	}()
	eventually(t, "it says that it waits", func() bool {
		return strings.Contains(log.String(), "the database is unavailable")
	})
	faults.Up()
	if s := <-password; s == "" {
		t.Error("no password")
	}
	if u, ok, err := p.store.Accounts.UserByEmail(t.Context(), FirstAdminEmail); err != nil || !ok ||
		u.Role != "admin" {
		t.Errorf("%+v %v %v", u, ok, err)
	}
	if s, err := p.FirstAdmin(t.Context()); s != "" || err != nil {
		t.Errorf("a second one: %q %v", s, err)
	}
}
