package storetest

import (
	"crypto/rand"
	"reflect"
	"sync"
	"testing"
	"time"

	"dialler/engine"
)

func (w *world) user(id engine.UserID) {
	w.t.Helper()
	u := engine.User{ID: id, Email: string(id) + "@example.org", Role: "operator", PasswordHash: "$argon2id$",
		Active: true, CreatedAt: w.now}
	must(w.t, w.pg.Accounts.CreateUser(w.ctx, u, admin))
}

// session opens a session created that long after the test's present.
func (w *world) session(user engine.UserID, after time.Duration) engine.UserSession {
	w.t.Helper()
	s := w.newSession(user, after)
	must(w.t, w.pg.Accounts.CreateSession(w.ctx, s, 3))
	return s
}

func (w *world) newSession(user engine.UserID, after time.Duration) engine.UserSession {
	at := w.now.Add(after)
	s := engine.UserSession{User: user, CreatedAt: at, SeenAt: at, ExpiresAt: at.Add(12 * time.Hour)}
	_, _ = rand.Read(s.Hash[:]) // never fails
	return s
}

func (w *world) hasSession(s engine.UserSession) bool {
	w.t.Helper()
	_, ok, err := w.pg.Accounts.SessionByHash(w.ctx, s.Hash)
	must(w.t, err)
	return ok
}

func sessions(t *testing.T, w *world) {
	w.user("u1")
	s := w.session("u1", 0)
	got, ok, err := w.pg.Accounts.SessionByHash(t.Context(), s.Hash)
	must(t, err)
	if !ok || !reflect.DeepEqual(got, s) {
		t.Errorf("session %v %+v, want %+v", ok, got, s)
	}
	if w.hasSession(engine.UserSession{}) {
		t.Error("a session that is not there was found")
	}
	if err := w.pg.Accounts.CreateSession(t.Context(), w.newSession("u9", 0), 3); code(err) != "user_not_found" {
		t.Errorf("a session of nobody: %v", err)
	}

	// Use moves the end forward, never back.
	used := s
	used.SeenAt, used.ExpiresAt = s.SeenAt.Add(time.Hour), s.ExpiresAt.Add(time.Hour)
	gone := w.newSession("u1", 0)
	must(t, w.pg.Accounts.SessionsSeen(t.Context(), []engine.UserSession{used, gone}))
	must(t, w.pg.Accounts.SessionsSeen(t.Context(), []engine.UserSession{s}))
	if got, _, _ = w.pg.Accounts.SessionByHash(t.Context(), s.Hash); !reflect.DeepEqual(got, used) {
		t.Errorf("after use %+v, want %+v", got, used)
	}
	if w.hasSession(gone) {
		t.Error("use brought a session back that is not there")
	}

	must(t, w.pg.Accounts.EndSession(t.Context(), s.Hash))
	must(t, w.pg.Accounts.EndSession(t.Context(), s.Hash))
	if w.hasSession(s) {
		t.Error("an ended session is still there")
	}
}

func sessionsKept(t *testing.T, w *world) {
	w.user("u1")
	w.user("u2")
	other := w.session("u2", -time.Hour)
	var all []engine.UserSession
	for i := range 5 {
		all = append(all, w.session("u1", time.Duration(i)*time.Second))
	}
	for i, s := range all {
		if w.hasSession(s) != (i >= 2) {
			t.Errorf("session %d of 5 when three are kept: %v", i+1, w.hasSession(s))
		}
	}
	if !w.hasSession(other) {
		t.Error("the log-ins of one user ended the session of another")
	}
	var wg sync.WaitGroup
	for i := range 8 {
		s := w.newSession("u1", time.Duration(10+i)*time.Second)
		wg.Go(func() {
			if err := w.pg.Accounts.CreateSession(t.Context(), s, 3); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := count(t, w, "SELECT count(*) FROM user_sessions WHERE user_id = 'u1'"); n != 3 {
		t.Errorf("%d sessions after log-ins at the same time", n)
	}
}

func sessionsEnd(t *testing.T, w *world) {
	w.user("u1")
	w.user("u2")
	change := func(f func(*engine.User)) {
		t.Helper()
		_, err := w.pg.Accounts.UpdateUser(t.Context(), "u1", f, admin)
		must(t, err)
	}
	other, s := w.session("u2", 0), w.session("u1", 0)
	change(func(u *engine.User) { u.Role = "viewer" })
	if !w.hasSession(s) {
		t.Error("a new role ended the session")
	}
	change(func(u *engine.User) { u.PasswordHash = "new" })
	if w.hasSession(s) {
		t.Error("a session outlived a new password")
	}
	s = w.session("u1", 0)
	change(func(u *engine.User) { u.Active = false })
	if w.hasSession(s) {
		t.Error("a session outlived the deactivation of its user")
	}
	if err := w.pg.Accounts.CreateSession(t.Context(), w.newSession("u1", 0), 3); code(err) != "user_not_found" {
		t.Errorf("a session of an inactive user: %v", err)
	}

	// Expired sessions are dropped, with a margin for uses not stored yet.
	must(t, w.pg.Maintain(t.Context(), other.ExpiresAt.Add(time.Hour)))
	if !w.hasSession(other) {
		t.Error("dropped too early")
	}
	must(t, w.pg.Maintain(t.Context(), other.ExpiresAt.Add(time.Hour+time.Second)))
	if w.hasSession(other) {
		t.Error("a session that is over was not dropped")
	}
}
