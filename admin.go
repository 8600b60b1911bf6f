package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"time"

	"dialler/engine"
	"dialler/http"
	"dialler/persistence"
)

// firstAdminEmail is the log-in of the administrator that a new installation
// begins with.
const firstAdminEmail = "admin@dialler.local"

// newPassword is 128 random bits.
func newPassword() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

func newUserID() engine.UserID {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return engine.UserID("usr_" + hex.EncodeToString(b[:]))
}

func addUser(ctx context.Context, s *persistence.Store, email, role, password string) error {
	return s.CreateUser(ctx, engine.User{ID: newUserID(), Email: strings.ToLower(strings.TrimSpace(email)), Role: role,
		PasswordHash: http.HashPassword(password), Active: true, CreatedAt: time.Now()}, engine.System)
}

// firstAdmin makes the first administrator of an installation without users;
// the password is "" when there is one already.
func (p *process) firstAdmin(ctx context.Context) (password string, err error) {
	users, err := p.store.Users(ctx)
	if err != nil || len(users) > 0 {
		return "", err
	}
	password = newPassword()
	return password, addUser(ctx, p.store, firstAdminEmail, "admin", password)
}
