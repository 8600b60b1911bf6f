package access

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"dialler/engine"
	"dialler/http/wire"
)

// Password guessing is slowed down (SEMANTICS §12, log-in throttling), and other people's guesses
// lock nobody out of a known browser:
//
//   - A browser that has logged in as the user before sends a cookie that says so; it has its own allowance of guesses,
//     and those of others do not count against it. (OWASP, Slow Down Online Guessing Attacks with Device Cookies.)
//   - Everybody else has few guesses per account from one address, and more per address; guesses at one account from
//     many addresses are slow in total.
//   - An account with many failed log-ins in a row accepts those from unknown browsers only one at a time for a while
//     (engine.LogInLock), on every node. The same applies to an address that belongs to nobody, on this node: an
//     attacker must not learn which addresses exist.
//
// A successful log-in costs no guess.

const (
	deviceCookie = "dialler_device"
	deviceLife   = 180 * 24 * time.Hour
)

// slow takes a guess at an account, or says how long to wait; refund gives it back.
func (s *Gate) slow(r *wire.Request, email string) (refund func(), err error) {
	from := network(r.From())
	pair := subject{name: "pair " + from + " " + email, every: 30 * time.Second, burst: 5}
	subjects := []subject{
		pair,
		{name: "address " + from, every: 3 * time.Second, burst: 30},
		{name: "account " + email, every: 5 * time.Second, burst: 50},
	}
	if s.knownDevice(r, email) {
		pair = subject{name: "device " + s.deviceOf(r, email), every: 30 * time.Second, burst: 10}
		subjects = []subject{pair}
	}
	back, wait, ok := s.logins.admit(subjects...)
	if !ok {
		return nil, s.tooMany(wait)
	}
	return func() { back(); s.logins.succeeded(pair) }, nil
}

func (s *Gate) tooMany(wait time.Duration) error {
	s.limited.Inc()
	return &engine.Error{Kind: engine.KindTooMany, Code: "too_many_logins",
		Detail: "Too many log-ins were tried; wait for Retry-After.", RetryAfter: wait}
}

// network is the range of addresses that one client may have: with IPv6 a whole /64.
func network(address string) string {
	a, err := netip.ParseAddr(address)
	if err != nil || !a.Is6() {
		return address
	}
	p, _ := a.Prefix(64)
	return p.String()
}

// strangers are e-mail addresses without an account. Their failed log-ins are counted as the store
// counts those of a user (LogInFailed), until the process ends.
type strangers struct {
	mu     sync.Mutex
	failed map[string]failures
}

type failures struct {
	n     int
	until time.Time // guarded
}

// guarded says whether log-ins with an address are processed one at a time.
func (s *strangers) guarded(email string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return now.Before(s.failed[email].until)
}

// count counts a failed log-in.
func (s *strangers) count(email string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, known := s.failed[email]
	if now.Before(f.until) {
		return
	}
	if !f.until.IsZero() {
		f = failures{}
	}
	if f.n++; f.n >= engine.LogInFailures {
		f.until = now.Add(engine.LogInLock)
	}
	if !known && len(s.failed) >= throttleCap { // under attack: forget one, never grow
		for e := range s.failed {
			delete(s.failed, e)
			break
		}
	}
	s.failed[email] = f
}

// guarded says whether log-ins from unknown browsers are processed one at a time.
func (s *Gate) guarded(u *engine.User, found bool, email string) bool {
	if !found || !u.Active {
		return s.strangers.guarded(email, s.Now())
	}
	return u.Locked(s.Now())
}

// cookieOf names the cookie of a user: a browser can be known to several users.
func (s *Gate) cookieOf(email string) string {
	return deviceCookie + "_" + hex.EncodeToString(s.code("device of " + email)[:4])
}

// code is a code for a text that only this installation can compute.
func (s *Gate) code(text string) []byte {
	m := hmac.New(sha256.New, s.JWTSecret)
	m.Write([]byte(text))
	return m.Sum(nil)
}

func (s *Gate) deviceOf(r *wire.Request, email string) string {
	return string(r.HTTP.Request.Header.Cookie(s.cookieOf(email)))
}

// knownDevice says whether the browser has logged in with that address before.
func (s *Gate) knownDevice(r *wire.Request, email string) bool {
	given := s.deviceOf(r, email)
	name, _, ok := strings.Cut(given, ".")
	if !ok || len(given) > 256 {
		return false
	}
	_, until, _ := strings.Cut(name, "-")
	end, err := strconv.ParseInt(until, 10, 64)
	return err == nil && s.Now().Unix() < end && hmac.Equal([]byte(given), []byte(s.device(name, email)))
}

// device is the device cookie for a name, which is a random text and an expiry time, followed by a
// code for one address that only this installation can compute.
func (s *Gate) device(name, email string) string {
	return name + "." + base64.RawURLEncoding.EncodeToString(s.code("device "+name+" "+email))
}

// knowDevice marks the browser as known from now on.
func (s *Gate) knowDevice(r *wire.Request, email string) {
	name := wire.RandomText(16) + "-" + strconv.FormatInt(s.Now().Add(deviceLife).Unix(), 10)
	s.addCookie(r, s.cookieOf(email), s.device(name, email), deviceLife)
}
