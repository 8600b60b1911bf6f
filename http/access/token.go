package access

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	nethttp "net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"dialler/engine"
	"dialler/http/form"
	"dialler/http/memory"
	"dialler/http/wire"
)

// tokens issues and checks log-in tokens (JWT, HS256 and nothing else). A token only identifies the
// user; whether that user may still log in, and with which role, is asked of the store, at most a
// second late: deactivating a user, changing the role or the password takes effect without waiting
// for the expiry.
//
// The signing key changes every keyPeriod and is derived from the secret, so that all nodes have
// it; the token names its period. The key of the previous period still verifies, and so does that
// of the next one, for a node whose clock is ahead.
type tokens struct {
	secret []byte
	ttl    time.Duration
	now    func() time.Time
	parser *jwt.Parser
	known  *memory.Memory[engine.UserID, engine.User]
}

type tokenClaims struct {
	Role       string `json:"role"`
	Generation int    `json:"gen,omitempty"`
	jwt.RegisteredClaims
}

const (
	tokenIssuer = "dialler"
	userTrust   = time.Second
	usersCap    = 10_000
)

func newTokens(secret []byte, ttl time.Duration, users Users, now func() time.Time) *tokens {
	return &tokens{
		secret: secret, ttl: ttl, now: now,
		known: memory.New(
			userTrust,
			usersCap,
			now,
			func(ctx context.Context, id engine.UserID) (engine.User, bool, error) {
				return users.User(ctx, id)
			},
		),
		parser: jwt.NewParser(
			jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}),
			jwt.WithIssuer(tokenIssuer), jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithTimeFunc(now)),
	}
}

// keyPeriod is how long a key is used to sign.
const keyPeriod = 30 * 24 * time.Hour

// periodOf numbers the periods, since 1970.
func periodOf(at time.Time) int64 { return at.Unix() / int64(keyPeriod/time.Second) }

// logInKey is the key of a period; it reveals neither the secret nor another key.
func logInKey(secret []byte, period int64) []byte {
	m := hmac.New(sha256.New, secret)
	m.Write([]byte("log-in of period " + strconv.FormatInt(period, 10)))
	return m.Sum(nil)
}

// keyID is the header in which a token names its period (RFC 7515 §4.1.4).
const keyID = "kid"

// signed makes a token from claims with the key for a given time.
func signed(secret []byte, at time.Time, claims jwt.Claims) (string, error) {
	period := periodOf(at)
	t := jwt.NewWithClaims(jwt.SigningMethodHS256, claims)
	t.Header[keyID] = strconv.FormatInt(period, 10)
	return t.SignedString(logInKey(secret, period))
}

// key finds the key of a token.
func (t *tokens) key(token *jwt.Token) (any, error) {
	id, _ := token.Header[keyID].(string)
	period, err := strconv.ParseInt(id, 10, 64)
	if now := periodOf(t.now()); err != nil || period < now-1 || period > now+1 {
		return nil, wire.ErrUnauthorized
	}
	return logInKey(t.secret, period), nil
}

// issue signs a token for a user.
func (t *tokens) issue(user engine.User) (token string, expires time.Time, err error) {
	now := t.now()
	expires = now.Add(t.ttl)
	token, err = signed(t.secret, now, tokenClaims{
		Role: user.Role, Generation: user.TokenGeneration,
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer: tokenIssuer, Subject: string(user.ID), ID: wire.RandomText(16),
			IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(expires),
		},
	})
	return token, expires, err
}

// verify returns the user of a token, errUnauthorized if it is invalid.
func (t *tokens) verify(ctx context.Context, token string) (engine.User, error) {
	var claims tokenClaims
	_, err := t.parser.ParseWithClaims(token, &claims, t.key)
	if err != nil || claims.Subject == "" {
		return engine.User{}, wire.ErrUnauthorized
	}
	user, err := t.active(ctx, engine.UserID(claims.Subject))
	if err == nil && user.TokenGeneration != claims.Generation {
		return engine.User{}, wire.ErrUnauthorized // older than the password
	}
	return user, err
}

// active returns a user who may log in, errUnauthorized for any other.
func (t *tokens) active(ctx context.Context, id engine.UserID) (engine.User, error) {
	user, found, err := t.known.Get(ctx, id)
	if err != nil {
		return engine.User{}, err
	}
	if !found || !user.Active {
		return engine.User{}, wire.ErrUnauthorized
	}
	return user, nil
}

// errCredentials is the same for an unknown address, a wrong password and an inactive
// user.
var errCredentials = &engine.Error{
	Kind: engine.KindUnauthenticated, Code: "invalid_credentials",
	Detail: "The e-mail address or the password is wrong.",
}

// nobody is the hash against which the password of an unknown user is checked, so that the answer
// takes as long as for a known one.
var nobody = sync.OnceValue(func() string { return HashPassword(wire.RandomText(32)) })

type tokenReply struct {
	Token     string    `json:"token"`
	TokenType string    `json:"token_type"`
	ExpiresAt time.Time `json:"expires_at"`
	User      userView  `json:"user"`
}

type userView struct {
	ID    engine.UserID `json:"id"`
	Email string        `json:"email"`
	Role  string        `json:"role"`
}

// logIn returns the user for the e-mail and password in the body.
func (s *Gate) logIn(r *wire.Request) (engine.User, error) {
	f, err := r.Body()
	if err != nil {
		return engine.User{}, err
	}
	email := strings.ToLower(strings.TrimSpace(f.Text("email", form.Required, 254)))
	password := f.Text("password", form.Required, 1024)
	f.Done()
	if err := f.Errs.Err(); err != nil {
		return engine.User{}, err
	}

	// The address's allowance is checked first, so that refused guesses cost nothing.
	refund, err := s.slow(r, email)
	if err != nil {
		return engine.User{}, err
	}
	user, found, err := s.Users.UserByEmail(r.Ctx(), email)
	if err != nil {
		return engine.User{}, err
	}
	if s.guarded(&user, found, email) && !s.knownDevice(r, email) {
		turn := subject{name: "guarded " + email, every: 10 * time.Second, burst: 3}
		if _, wait, ok := s.logins.admit(turn); !ok {
			return engine.User{}, s.tooMany(wait)
		}
	}
	hash := user.PasswordHash
	if !found {
		hash = nobody()
	}
	good, err := checkPassword(r.Ctx(), hash, password)
	if err != nil {
		return engine.User{}, err
	}
	if !good || !found || !user.Active {
		if !found || !user.Active {
			s.strangers.count(email, s.Now())
		}
		from := r.From()
		locked, err := s.Users.LogInFailed(r.Ctx(), email, s.Now(), engine.Who{Name: "log-in", From: from})
		if err != nil {
			return engine.User{}, err
		}
		if locked {
			s.Log.Warn().Str("user_id", string(user.ID)).Str("from", from).
				Msg("many log-ins failed: those from new browsers are slowed down for 15 minutes")
		}
		return engine.User{}, errCredentials
	}
	refund()
	return user, s.Users.LoggedIn(r.Ctx(), user.ID, s.Now())
}

// Login exchanges e-mail and password for a token.
func (s *Gate) Login(r *wire.Request) error {
	user, err := s.logIn(r)
	if err != nil {
		return err
	}
	token, expires, err := s.tokens.issue(user)
	if err != nil {
		return err
	}
	return r.Reply(nethttp.StatusOK, tokenReply{
		Token: token, TokenType: "Bearer", ExpiresAt: expires.UTC(),
		User: userView{ID: user.ID, Email: user.Email, Role: user.Role},
	})
}
