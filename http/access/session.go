package access

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	nethttp "net/http"
	"strconv"
	"sync"
	"time"

	"dialler/engine"
	"dialler/http/memory"
	"dialler/http/wire"
)

// Log-in of the console (SEMANTICS §12): "HttpOnly SameSite sessions with CSRF
// protection; revocable".

const (
	SessionCookie = "dialler_session"
	csrfHeader    = "X-CSRF-Token"

	// sessionIdle is how long a session lasts without a request, sessionLife its maximum length.
	sessionIdle = 12 * time.Hour
	sessionLife = 7 * 24 * time.Hour
	// sessionsKept is how many sessions one user may have at a time.
	sessionsKept = 20
	// sessionTrust is how long the store's answer is cached: revoking a session elsewhere takes
	// effect after that.
	sessionTrust = time.Second
	sessionsCap  = 10_000
	// sessionNote is by how much the last use must have advanced to be stored.
	sessionNote = time.Minute
)

// sessions checks the cookies of the console.
type sessions struct {
	store Sessions
	now   func() time.Time
	known *memory.Memory[[32]byte, engine.UserSession]

	mu   sync.Mutex
	seen map[[32]byte]engine.UserSession // used, but not stored yet
}

func newSessions(store Sessions, now func() time.Time) *sessions {
	s := &sessions{store: store, now: now, seen: make(map[[32]byte]engine.UserSession)}
	s.known = memory.New(sessionTrust, sessionsCap, now, func(ctx context.Context, hash [32]byte) (engine.UserSession,
		bool, error) {
		return store.SessionByHash(ctx, hash)
	})
	return s
}

// newSession creates a session: the token of its cookie, and the stored form.
func newSession(user engine.UserID, now time.Time) (token string, u engine.UserSession) {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	token = base64.RawURLEncoding.EncodeToString(b[:])
	return token, engine.UserSession{Hash: sha256.Sum256([]byte(token)), User: user, CreatedAt: now, SeenAt: now,
		ExpiresAt: now.Add(sessionIdle)}
}

// check returns the session of a token while it lasts, errUnauthorized for any problem with it. It
// does not count as a use of the session.
func (s *sessions) check(ctx context.Context, token string) (engine.UserSession, error) {
	if b, err := base64.RawURLEncoding.Strict().DecodeString(token); err != nil || len(b) != 32 {
		return engine.UserSession{}, wire.ErrUnauthorized
	}
	hash := sha256.Sum256([]byte(token))
	u, found, err := s.known.Get(ctx, hash)
	if err != nil {
		return engine.UserSession{}, err
	}
	if !found {
		return engine.UserSession{}, wire.ErrUnauthorized
	}
	s.mu.Lock()
	if newer, ok := s.seen[hash]; ok {
		u = newer
	}
	s.mu.Unlock()
	if !s.now().Before(u.ExpiresAt) {
		return engine.UserSession{}, wire.ErrUnauthorized
	}
	return u, nil
}

// use extends a session. That is stored outside the request's path, and only if it moved by a
// minute.
func (s *sessions) use(u engine.UserSession) engine.UserSession {
	now := s.now()
	if now.Sub(u.SeenAt) < sessionNote {
		return u
	}
	u.SeenAt, u.ExpiresAt = now, now.Add(sessionIdle)
	if end := u.CreatedAt.Add(sessionLife); u.ExpiresAt.After(end) {
		u.ExpiresAt = end
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[u.Hash] = u
	return u
}

// end revokes a session, on this node at once.
func (s *sessions) end(ctx context.Context, hash [32]byte) error {
	if err := s.store.EndSession(ctx, hash); err != nil {
		return err
	}
	s.known.Forget(hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.seen, hash)
	return nil
}

// flush stores when sessions were last used.
func (s *sessions) flush(ctx context.Context) {
	s.mu.Lock()
	list := make([]engine.UserSession, 0, len(s.seen))
	for _, u := range s.seen {
		list = append(list, u)
	}
	s.mu.Unlock()
	if len(list) == 0 || s.store.SessionsSeen(ctx, list) != nil {
		return // what is not stored stays for the next time
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range list {
		if s.seen[u.Hash].SeenAt.Equal(u.SeenAt) {
			delete(s.seen, u.Hash)
			s.known.Forget(u.Hash) // its cached row is outdated
		}
	}
}

// csrfToken is derived from a session's token without revealing it, so it need not be stored, and
// is valid as long as the session on every node.
func csrfToken(token string) string {
	m := hmac.New(sha256.New, []byte(token))
	m.Write([]byte("csrf"))
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

// cookie returns the session's token in the request. A request with credentials in its header does
// not act for the browser: its cookie is ignored.
func cookie(r *wire.Request) (string, bool) {
	h := &r.HTTP.Request.Header
	if len(h.PeekAll("Authorization")) > 0 || len(h.PeekAll("X-Api-Key")) > 0 {
		return "", false
	}
	token := h.Cookie(SessionCookie)
	return string(token), len(token) > 0
}

// setCookie gives the browser a session's token, or removes it ("").
func (s *Gate) setCookie(r *wire.Request, token string) {
	life := sessionLife
	if token == "" {
		life = 0
	}
	s.addCookie(r, SessionCookie, token, life)
}

// addCookie gives the browser a cookie that is hidden from scripts and from requests of other
// sites.
func (s *Gate) addCookie(r *wire.Request, name, value string, life time.Duration) {
	c := name + "=" + value + "; Path=/; HttpOnly; SameSite=Strict; Max-Age=" + strconv.Itoa(int(life.Seconds()))
	if s.SecureCookies {
		c += "; Secure"
	}
	r.HTTP.Response.Header.Add("Set-Cookie", c)
}

// authenticateSession determines the user of the cookie. Changes also need the CSRF token: the
// cookie alone only identifies the browser, but does not prove that our page sent the request.
func (s *Gate) authenticateSession(r *wire.Request, token string) error {
	u, err := s.sessions.check(r.Ctx(), token)
	if err != nil {
		return err
	}
	user, err := s.tokens.active(r.Ctx(), u.User)
	if err != nil {
		return err
	}
	h := &r.HTTP.Request.Header
	if !h.IsGet() && !h.IsHead() {
		given := h.PeekAll(csrfHeader)
		if len(given) != 1 || subtle.ConstantTimeCompare(given[0], []byte(csrfToken(token))) != 1 {
			return wire.Forbidden("csrf_token_invalid", "Send the csrf_token of this session as "+csrfHeader+".")
		}
	}
	u = s.sessions.use(u)
	r.User, r.Session, r.Token = &user, &u, token
	return r.Access.NeedRole(user)
}

type sessionReply struct {
	User      sessionUser `json:"user"`
	CSRFToken string      `json:"csrf_token"`
	ExpiresAt time.Time   `json:"expires_at"`
}

type sessionUser struct {
	ID    engine.UserID `json:"user_id"`
	Email string        `json:"email"`
	Role  string        `json:"role"`
}

func replySession(r *wire.Request, user *engine.User, u *engine.UserSession, token string) error {
	return r.Reply(nethttp.StatusOK, sessionReply{
		User:      sessionUser{ID: user.ID, Email: user.Email, Role: user.Role},
		CSRFToken: csrfToken(token), ExpiresAt: u.ExpiresAt.UTC(),
	})
}

// OpenSession logs a browser in.
func (s *Gate) OpenSession(r *wire.Request) error {
	user, err := s.logIn(r)
	if err != nil {
		return err
	}
	token, u, err := s.startSession(r, user.ID)
	if err != nil {
		return err
	}
	s.knowDevice(r, user.Email)
	return replySession(r, &user, &u, token)
}

// startSession gives the browser a session of a user.
func (s *Gate) startSession(r *wire.Request, user engine.UserID) (token string, u engine.UserSession, err error) {
	// The browser's previous session ends: two people at one desk must not leave each other's
	// behind.
	if old, ok := cookie(r); ok {
		if u, err := s.sessions.check(r.Ctx(), old); err == nil {
			if err := s.sessions.end(r.Ctx(), u.Hash); err != nil {
				return "", engine.UserSession{}, err
			}
		}
	}
	token, u = newSession(user, s.Now())
	if err := s.Sessions.CreateSession(r.Ctx(), u, sessionsKept); err != nil {
		if wire.AsError(err).Kind == engine.KindNotFound {
			return "", engine.UserSession{}, errCredentials // deactivated while the password was checked
		}
		return "", engine.UserSession{}, err
	}
	s.setCookie(r, token)
	return token, u, nil
}

func (s *Gate) Session(r *wire.Request) error { return replySession(r, r.User, r.Session, r.Token) }

// CloseSession logs out.
func (s *Gate) CloseSession(r *wire.Request) error {
	if err := s.sessions.end(r.Ctx(), r.Session.Hash); err != nil {
		return err
	}
	s.setCookie(r, "")
	r.Send(nethttp.StatusNoContent, "", nil)
	return nil
}
