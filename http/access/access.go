package access

import (
	"bytes"
	"context"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"dialler/engine"
	"dialler/http/memory"
	"dialler/http/wire"
)

// Config is the process's settings for access to the API.
type Config struct {
	JWTSecret     []byte // the keys of log-in tokens are derived from it
	TokenTTL      time.Duration
	SecureCookies bool
	KeyCacheTTL   time.Duration
	// SharedKeys says that other nodes serve the same keys.
	SharedKeys bool
	KeyRate    float64
	KeyBurst   int
	Log        zerolog.Logger
	Now        func() time.Time
}

// Stores store keys, users and log-ins.
type Stores struct {
	Keys     Keys
	Users    Users
	Sessions Sessions
}

// Gate determines who sends a request and whether it is permitted.
type Gate struct {
	Config
	Stores

	keys      *keyring
	tokens    *tokens
	sessions  *sessions
	logins    *throttle
	strangers strangers
	pace      *pacer
	limited   prometheus.Counter // requests and log-ins that came too fast
}

// NewGate returns a gate; limited counts requests that come too fast.
func NewGate(cfg Config, stores Stores, limited prometheus.Counter) *Gate {
	s := &Gate{Config: cfg, Stores: stores, limited: limited,
		keys:      newKeyring(stores.Keys, cfg.KeyCacheTTL, cfg.Now),
		tokens:    newTokens(cfg.JWTSecret, cfg.TokenTTL, stores.Users, cfg.Now),
		sessions:  newSessions(stores.Sessions, cfg.Now),
		logins:    newThrottle(cfg.Now),
		strangers: strangers{failed: make(map[string]failures)},
		pace:      newPacer(cfg.KeyRate, cfg.KeyBurst, cfg.Now, limited),
	}
	if !cfg.SharedKeys {
		s.keys.spare, s.tokens.known.Spare, s.sessions.known.Spare = memory.SparePeriod, memory.SparePeriod,
			memory.SparePeriod
	}
	return s
}

// Flush stores when keys and sessions were last used.
func (s *Gate) Flush(ctx context.Context) {
	s.keys.flush(ctx)
	s.sessions.flush(ctx)
}

// Authenticate determines who sends the request and whether it is permitted. Spec: "A key is
// checked on every request". If both a key and a token are sent, the key counts; a cookie counts if
// neither is.
func (s *Gate) Authenticate(r *wire.Request) error {
	a := r.Access
	if a.Open {
		return nil
	}
	if given := r.HTTP.Request.Header.PeekAll("X-Api-Key"); len(given) > 0 && a.Scope != "" {
		if len(given) > 1 {
			return wire.ErrUnauthorized
		}
		return s.AuthenticateKey(r, given[0], a.Scope, a.AlsoScope)
	}
	if cookie, ok := cookie(r); ok && a.Role != wire.RoleNone {
		return s.authenticateSession(r, cookie)
	}
	token, ok := Bearer(r)
	if !ok || a.Role == wire.RoleNone || a.Session {
		return wire.ErrUnauthorized
	}
	user, err := s.tokens.verify(r.Ctx(), token)
	if err != nil {
		return err
	}
	r.User = &user
	return a.NeedRole(user)
}

// AuthenticateKey checks a key, its rate limit and its scope.
func (s *Gate) AuthenticateKey(r *wire.Request, given []byte, anyOf ...string) error {
	key, err := s.keys.check(r.Ctx(), given)
	if err != nil {
		return err
	}
	r.Key = key
	if err := s.pace.admit(r); err != nil {
		return err
	}
	if !wire.InScope(key, anyOf...) {
		return wire.ErrScope
	}
	return nil
}

// Bearer is the token of "Authorization: Bearer …".
func Bearer(r *wire.Request) (string, bool) {
	const scheme = "bearer "
	given := r.HTTP.Request.Header.PeekAll("Authorization")
	if len(given) != 1 || len(given[0]) <= len(scheme) || !strings.EqualFold(string(given[0][:len(scheme)]), scheme) {
		return "", false
	}
	return strings.TrimSpace(string(given[0][len(scheme):])), true
}

// StillAllowed returns a function that checks later whether the credentials of this request are
// still valid. An open stream does not prolong a session.
func (s *Gate) StillAllowed(r *wire.Request) func(context.Context) error {
	a, token := r.Access, r.Token
	switch {
	case r.Key != nil:
		given := bytes.Clone(r.HTTP.Request.Header.Peek("X-Api-Key"))
		id := engine.CampaignID(r.Param("campaign_id"))
		return func(ctx context.Context) error {
			key, err := s.keys.check(ctx, given)
			switch {
			case err != nil:
				return err
			case !wire.InScope(key, a.Scope, a.AlsoScope):
				return wire.ErrScope
			case !wire.InCampaigns(key, id):
				return wire.ErrCampaignForbidden
			}
			return nil
		}
	case r.Session != nil:
		return func(ctx context.Context) error {
			u, err := s.sessions.check(ctx, token)
			if err != nil {
				return err
			}
			user, err := s.tokens.active(ctx, u.User)
			if err != nil {
				return err
			}
			return a.NeedRole(user)
		}
	}
	token, _ = Bearer(r)
	return func(ctx context.Context) error {
		user, err := s.tokens.verify(ctx, token)
		if err != nil {
			return err
		}
		return a.NeedRole(user)
	}
}
