package command

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"dialler/engine"
	"dialler/http/access"
	"dialler/process"
)

// commandLine is recorded as the author of what commands change.
var commandLine = engine.Who{Name: "command line"}

type userCmd struct {
	Add   userAddCmd   `cmd:"" help:"Add a user; a generated password is printed once."`
	Reset userResetCmd `cmd:"" help:"Give a user a new password, printed once; logs the user out everywhere."`
}

type userAddCmd struct {
	storeFlags `embed:""`
	Email      string `arg:"" help:"E-mail address."`
	Role       string `help:"admin, operator or viewer." enum:"admin,operator,viewer" default:"operator"`
}

// Run adds a user.
func (u *userAddCmd) Run(log zerolog.Logger) error {
	if err := access.CheckEmail(u.Email); err != nil {
		return err
	}
	ctx := context.Background()
	s, done, err := u.open(ctx, log)
	if err != nil {
		return err
	}
	defer done()
	password := access.NewPassword()
	if err := process.AddUser(ctx, s, u.Email, u.Role, password, commandLine); err != nil {
		return err
	}
	fmt.Printf("%s added as %s, password (shown once): %s\n", strings.ToLower(u.Email), u.Role, password)
	return nil
}

type userResetCmd struct {
	storeFlags `embed:""`
	Email      string `arg:"" help:"E-mail address."`
}

// Run gives a user a new password, and lets a deactivated one log in again.
func (u *userResetCmd) Run(log zerolog.Logger) error {
	ctx := context.Background()
	s, done, err := u.open(ctx, log)
	if err != nil {
		return err
	}
	defer done()
	known, ok, err := s.Accounts.UserByEmail(ctx, strings.ToLower(u.Email))
	if err != nil {
		return err
	}
	if !ok {
		return engine.NotFound("user_not_found", "no user has this e-mail address; dialler user add creates one")
	}
	password := access.NewPassword()
	_, err = s.Accounts.UpdateUser(
		ctx,
		known.ID,
		func(x *engine.User) { x.PasswordHash, x.Active = access.HashPassword(password), true },
		commandLine,
	)
	if err != nil {
		return err
	}
	fmt.Printf("%s (%s) has a new password (shown once): %s\n", known.Email, known.Role, password)
	return nil
}

type keyCmd struct {
	Create keyCreateCmd `cmd:"" help:"Create an API key; it is printed once."`
	Show   keyShowCmd   `cmd:"" help:"Print the fingerprint and the public half of the signing key."`
	Rotate keyRotateCmd `cmd:"" help:"${help_key_rotate}"`
}

type keyCreateCmd struct {
	storeFlags `embed:""`
	Name       string   `arg:"" help:"What the key is for, one per CRM or integration."`
	Scopes     []string `help:"${help_key_scopes}"`
}

// Run creates a key.
func (k *keyCreateCmd) Run(log zerolog.Logger) error {
	if err := access.CheckScopes(k.Scopes); err != nil {
		return err
	}
	ctx := context.Background()
	s, done, err := k.open(ctx, log)
	if err != nil {
		return err
	}
	defer done()
	full, key := access.NewAPIKey(k.Name, time.Now())
	key.Scopes = k.Scopes
	if err := s.Accounts.CreateKey(ctx, key, commandLine); err != nil {
		return err
	}
	fmt.Println(full)
	return nil
}
