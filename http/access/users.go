package access

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	nethttp "net/http"
	"net/mail"
	"strings"
	"time"

	"dialler/engine"
	"dialler/http/form"
	"dialler/http/wire"
)

// Users who may log in. They are never deleted: their actions stay attributed to them.

// passwordLeast is the minimum length of a password in characters (NIST SP 800-63B asks for 8, and
// for no rules of composition; a console that calls people deserves a few more).
const passwordLeast = 12

type userAccount struct {
	ID          engine.UserID `json:"id"`
	Email       string        `json:"email"`
	Role        string        `json:"role"`
	Active      bool          `json:"is_active"`
	Password    string        `json:"password,omitempty"` // only when it was generated
	CreatedAt   time.Time     `json:"created_at"`
	LastLoginAt *time.Time    `json:"last_login_at"`
	LockedUntil *time.Time    `json:"locked_until"` // null: not locked
	// SingleSignOn says that the user logs in by the identity provider, which also says the role.
	SingleSignOn bool `json:"single_sign_on"`
}

func viewUser(u *engine.User, generated string, now time.Time) userAccount {
	v := userAccount{ID: u.ID, Email: u.Email, Role: u.Role, Active: u.Active, Password: generated,
		CreatedAt: u.CreatedAt, LastLoginAt: u.LastLoginAt, SingleSignOn: u.Subject != ""}
	if u.Locked(now) {
		v.LockedUntil = u.LockedUntil
	}
	return v
}

type userList struct {
	Users []userAccount `json:"users"`
	Total int           `json:"total"`
}

// NewPassword is 128 random bits.
func NewPassword() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// NewUser returns a user who may log in.
func NewUser(email, role, password string, now time.Time) engine.User {
	var id [8]byte
	_, _ = rand.Read(id[:])
	return engine.User{ID: engine.UserID("usr_" + hex.EncodeToString(id[:])),
		Email: strings.ToLower(strings.TrimSpace(email)), Role: role,
		PasswordHash: HashPassword(password), Active: true, CreatedAt: now}
}

func (s *Gate) ListUsers(r *wire.Request) error {
	list, err := s.Users.Users(r.Ctx())
	if err != nil {
		return err
	}
	out := userList{Users: make([]userAccount, len(list)), Total: len(list)}
	for i := range list {
		out.Users[i] = viewUser(&list[i], "", s.Now())
	}
	return r.Reply(nethttp.StatusOK, out)
}

func (s *Gate) CreateUser(r *wire.Request) error {
	f, err := r.Body()
	if err != nil {
		return err
	}
	email := readEmail(f, "email")
	role := readRole(f, "role", form.Required)
	password := readPassword(f, "password")
	f.Done()
	if err := f.Errs.Err(); err != nil {
		return err
	}
	generated := ""
	if password == "" {
		generated = NewPassword()
		password = generated
	}
	if err := hashingTurn(r.Ctx()); err != nil {
		return err
	}
	u := NewUser(email, role, password, s.Now())
	<-hashing
	if err := s.Users.CreateUser(r.Ctx(), u, r.Who()); err != nil {
		return err
	}
	return r.Reply(nethttp.StatusCreated, viewUser(&u, generated, s.Now()))
}

func (s *Gate) ChangeUser(r *wire.Request) error {
	id := engine.UserID(r.Param("user_id"))
	if !form.ValidIdentifier(string(id)) {
		return errNoUser
	}
	f, err := r.Body()
	if err != nil {
		return err
	}
	role := readRole(f, "role", false)
	password := readPassword(f, "password")
	reset := f.Flag("reset_password", false)
	hasActive, active := f.Has("is_active"), f.Flag("is_active", true)
	unlock := f.Flag("unlock", false)
	unlink := f.Has("single_sign_on")
	if f.Flag("single_sign_on", false) {
		f.Fail("single_sign_on", "unknown_value", "must be false: the next log-in by the provider links the account")
	}
	if reset && password != "" {
		f.Fail("reset_password", "mutually_exclusive", "must not be sent together with password")
	}
	f.Done()
	if err := f.Errs.Err(); err != nil {
		return err
	}
	if role == "" && password == "" && !reset && !hasActive && !unlock && !unlink {
		return engine.Invalid("validation_failed", "Name at least one field to change.")
	}
	generated := ""
	if reset {
		generated = NewPassword()
		password = generated
	}
	hash, err := hashWithin(r.Ctx(), password)
	if err != nil {
		return err
	}
	u, err := s.Users.UpdateUser(r.Ctx(), id, func(u *engine.User) {
		if role != "" {
			u.Role = role
		}
		if hash != "" {
			u.PasswordHash = hash
		}
		if hasActive {
			u.Active = active
		}
		if unlock {
			u.LockedUntil = nil
		}
		if unlink {
			u.Subject = ""
		}
	}, r.Who())
	if err := s.userChanged(r.Ctx(), id, err); err != nil {
		return err
	}
	return r.Reply(nethttp.StatusOK, viewUser(&u, generated, s.Now()))
}

// ChangePassword changes the user's own password.
func (s *Gate) ChangePassword(r *wire.Request) error {
	f, err := r.Body()
	if err != nil {
		return err
	}
	current, next := f.Text("current_password", form.Required, 1024), readPassword(f, "new_password")
	if !f.Has("new_password") {
		f.Fail("new_password", "required", "is required")
	}
	f.Done()
	if err := f.Errs.Err(); err != nil {
		return err
	}
	if _, wait, ok := s.logins.admit(subject{name: "password " + string(r.User.ID), every: 30 * time.Second,
		burst: 5}); !ok {
		return &engine.Error{Kind: engine.KindTooMany, Code: "too_many_logins",
			Detail: "Too many passwords were tried; wait for Retry-After.", RetryAfter: wait}
	}
	good, err := checkPassword(r.Ctx(), r.User.PasswordHash, current)
	if err != nil {
		return err
	}
	if !good {
		return engine.Invalid("validation_failed", "The body failed validation; see errors.",
			engine.FieldError{Field: "current_password", Code: "wrong_password", Message: "is not your current password"})
	}
	hash, err := hashWithin(r.Ctx(), next)
	if err != nil {
		return err
	}
	_, err = s.Users.UpdateUser(r.Ctx(), r.User.ID, func(u *engine.User) { u.PasswordHash = hash }, r.Who())
	if err := s.userChanged(r.Ctx(), r.User.ID, err); err != nil {
		return err
	}
	r.Send(nethttp.StatusNoContent, "", nil)
	return nil
}

// userChanged makes every node ask the store again for the user; err is the error of the change,
// which may still have been carried out.
func (s *Gate) userChanged(ctx context.Context, id engine.UserID, err error) error {
	s.tokens.known.Forget(id)
	s.sessions.known.ForgetAll() // the store knows which sessions are the user's
	if err != nil {
		return err
	}
	if s.SharedKeys {
		return wait(ctx, userTrust)
	}
	return nil
}

// hashingTurn waits until a password may be hashed; the caller gives the turn back.
func hashingTurn(ctx context.Context) error {
	select {
	case hashing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// hashWithin hashes a password in its turn; "" stays "".
func hashWithin(ctx context.Context, password string) (string, error) {
	if password == "" {
		return "", nil
	}
	if err := hashingTurn(ctx); err != nil {
		return "", err
	}
	defer func() { <-hashing }()
	return HashPassword(password), nil
}

var errNoUser = engine.NotFound("user_not_found", "")

// readEmail reads an e-mail address, which is the account's name.
func readEmail(f form.Form, field string) string {
	s := strings.ToLower(strings.TrimSpace(f.Text(field, form.Required, 254)))
	if s != "" && !isEmail(s) {
		f.Fail(field, "invalid_format", emailForm)
	}
	return s
}

const emailForm = "must be an e-mail address, for example ada@example.org"

func isEmail(s string) bool {
	a, err := mail.ParseAddress(s)
	return err == nil && a.Address == s
}

// CheckEmail says whether an account may have the name.
func CheckEmail(s string) error {
	if s = strings.ToLower(strings.TrimSpace(s)); len(s) > 254 || !isEmail(s) {
		return fmt.Errorf("%q %s", s, emailForm)
	}
	return nil
}

func readRole(f form.Form, field string, need bool) string {
	s := f.Text(field, need, 16)
	if s != "" && wire.ParseRole(s) == wire.RoleNone {
		f.Fail(field, "unknown_value", "must be one of admin, operator, viewer")
	}
	return s
}

// readPassword reads a new password; "" if none was sent.
func readPassword(f form.Form, field string) string {
	s := f.Text(field, false, 1024)
	if s != "" && len([]rune(s)) < passwordLeast || s == "" && f.Has(field) {
		f.Fail(field, "too_short", "must have at least 12 characters")
	}
	return s
}
