package access

import (
	"bytes"
	"context"
	"slices"
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
	// OIDC is the identity provider by which people may log in; nil if there is none.
	OIDC *OIDC
	Log  zerolog.Logger
	Now  func() time.Time
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
	provider  *provider          // nil without one
	limited   prometheus.Counter // requests and log-ins that came too fast
}

// NewGate returns a gate; limited counts requests that come too fast.
func NewGate(cfg Config, stores Stores, limited prometheus.Counter) *Gate {
	s := &Gate{Config: cfg, Stores: stores, limited: limited,
		keys:      newKeyring(stores.Keys, cfg.KeyCacheTTL, cfg.Now),
		tokens:    newTokens(cfg.JWTSecret, cfg.TokenTTL, stores.Users, cfg.Now),
		sessions:  newSessions(stores.Sessions, cfg.Now),
		logins:    newThrottle(cfg.Now),
		provider:  newProvider(cfg.OIDC, cfg.Now, cfg.Log),
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
	if a.Open || a.OwnToken {
		return nil
	}
	if given := r.HTTP.Request.Header.PeekAll("X-Api-Key"); len(given) > 0 {
		return s.AuthenticateKey(r, given)
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

// AuthenticateKey checks the key of a request, its rate limit, its scope and its campaigns.
func (s *Gate) AuthenticateKey(r *wire.Request, given [][]byte) error {
	if len(given) > 1 {
		return wire.ErrUnauthorized
	}
	key, err := s.keys.check(r.Ctx(), given[0])
	if err != nil {
		return err
	}
	r.Key = key
	if err := s.pace.admit(r); err != nil {
		return err
	}
	return reaches(r.Access, key, engine.CampaignID(r.Param("campaign_id")))
}

// reaches checks a key against a route's scope, and the campaign of its path.
func reaches(a wire.Access, key *engine.APIKey, id engine.CampaignID) error {
	switch {
	case a.Session:
		return wire.ErrUnauthorized // there is no log-in, as without a key
	case a.Scope == "":
		return wire.ErrPeopleOnly
	case !wire.InScope(key, a.Scope):
		return wire.ErrScope(a.Scope)
	case !a.Reaches(key, id):
		return wire.ErrCampaignForbidden
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
// still valid, and the same. An open stream does not prolong a session.
func (s *Gate) StillAllowed(r *wire.Request) func(context.Context) error {
	a, token, role := r.Access, r.Token, ""
	if r.User != nil {
		role = r.User.Role
	}
	switch {
	case r.Key != nil:
		given := bytes.Clone(r.HTTP.Request.Header.Peek("X-Api-Key"))
		id, bound, scopes := engine.CampaignID(r.Param("campaign_id")), r.Key.Campaigns, r.Key.Scopes
		return func(ctx context.Context) error {
			key, err := s.keys.check(ctx, given)
			if err == nil {
				err = reaches(a, key, id)
			}
			if err == nil && !slices.Equal(key.Campaigns, bound) {
				err = wire.ErrCampaignForbidden // the stream is about those that it was bound to
			}
			if err == nil && !slices.Equal(key.Scopes, scopes) {
				err = errOtherRights
			}
			return err
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
			return sameRole(user, role)
		}
	}
	token, _ = Bearer(r)
	return func(ctx context.Context) error {
		user, err := s.tokens.verify(ctx, token)
		if err != nil {
			return err
		}
		return sameRole(user, role)
	}
}

// errOtherRights ends a stream that was begun with other rights: it may show what they no longer cover, or hide what
// they do.
var errOtherRights = wire.Forbidden("role_too_low", "")

func sameRole(user engine.User, role string) error {
	if user.Role != role {
		return errOtherRights
	}
	return nil
}
