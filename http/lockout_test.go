package http

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"dialler/engine"
)

const tokenPath = "/api/v1/auth/token"

var (
	wrongOper = `{"email":"oper@example.org","password":"wrong"}`
	rightOper = `{"email":"oper@example.org","password":"` + password + `"}`
)

// behindProxy makes the bench's peer a known proxy.
func behindProxy(c *Config) { c.Proxies = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/32")} }

// Behind a proxy, one client's guesses do not count against others, however many there are.
func TestGuessesBehindAProxyLockNobodyElseOut(t *testing.T) {
	b := newBench(t, behindProxy)
	const a, owner = "198.51.100.66", "203.0.113.5"
	for n := range 1000 {
		b.do("POST", tokenPath, wrongOper, "X-Forwarded-For", fmt.Sprintf("203.0.113.%d, %s", n%250, a))
		b.clock.advance(300 * time.Millisecond)
		if n%100 == 99 {
			b.do("POST", tokenPath, rightOper, "X-Forwarded-For", owner).is(200, "")
		}
	}
	for b.ports.locker.Name == "" {
		b.clock.advance(time.Minute)
		b.do("POST", tokenPath, wrongOper, "X-Forwarded-For", a).is(401, "invalid_credentials")
	}
	if got := b.ports.locker.From; got != a {
		t.Errorf("the audit names %s", got)
	}
	b.do("POST", tokenPath, rightOper, "X-Forwarded-For", owner).is(200, "")
}

// An unknown proxy cannot say who the client is, and the attempt is logged.
func TestAForgedAddressChangesNothing(t *testing.T) {
	b := newBench(t)
	for n := range 5 {
		b.do("POST", tokenPath, wrongOper, "X-Forwarded-For", fmt.Sprintf("203.0.113.%d", n)).
			is(401, "invalid_credentials")
	}
	b.do("POST", tokenPath, wrongOper, "X-Forwarded-For", "203.0.113.99").is(429, "too_many_logins")
	if n := strings.Count(b.log.String(), "trusted-proxies"); n != 1 {
		t.Errorf("the log says it %d times, want once", n)
	}
}

// A browser that has logged in before is let in, whoever guesses at the account from the same address.
func TestGuessesDoNotLockAKnownBrowserOut(t *testing.T) {
	b := newBench(t)
	var device string
	for _, c := range b.do("POST", sessionPath, rightOper).is(200, "").header.Values("Set-Cookie") {
		if strings.HasPrefix(c, "dialler_device_") {
			device, _, _ = strings.Cut(c, ";")
			if !strings.Contains(c, "; HttpOnly; SameSite=Strict; Max-Age=15552000") {
				t.Errorf("Set-Cookie %q", c)
			}
		}
	}
	for range 5 {
		b.do("POST", sessionPath, wrongOper).is(401, "invalid_credentials")
	}
	b.do("POST", sessionPath, rightOper).is(429, "too_many_logins")
	b.do("POST", sessionPath, rightOper, "Cookie", device).is(200, "")
	// The device belongs to one user, ...
	for range 5 {
		b.do("POST", sessionPath, `{"email":"view@example.org","password":"wrong"}`).is(401, "invalid_credentials")
	}
	b.do("POST", sessionPath, `{"email":"view@example.org","password":"`+password+`"}`, "Cookie", device).
		is(429, "too_many_logins")
	// ... cannot be forged, ...
	b.do("POST", sessionPath, rightOper, "Cookie", strings.Replace(device, "-", "-9", 1)).is(429, "too_many_logins")
	// ... has few guesses of its own, ...
	for range 10 {
		b.do("POST", sessionPath, wrongOper, "Cookie", device).is(401, "invalid_credentials")
	}
	b.do("POST", sessionPath, wrongOper, "Cookie", device).is(429, "too_many_logins")
	// ... and expires.
	b.clock.advance(180*24*time.Hour + time.Second)
	for range 5 {
		b.do("POST", sessionPath, wrongOper).is(401, "invalid_credentials")
	}
	b.do("POST", sessionPath, rightOper, "Cookie", device).is(429, "too_many_logins")
}

// An unknown e-mail address gets the same answer as a known one.
func TestGuessesDoNotTellWhichAddressesThereAre(t *testing.T) {
	b := newBench(t, behindProxy)
	var answers [2][]int
	for i, email := range []string{"oper@example.org", "nobody@example.org"} {
		for n := range engine.LogInFailures + 6 {
			b.clock.advance(5 * time.Second / 2)
			a := b.do("POST", tokenPath, `{"email":"`+email+`","password":"wrong"}`, "X-Forwarded-For",
				fmt.Sprintf("203.0.113.%d", n))
			answers[i] = append(answers[i], a.status)
		}
	}
	if !slices.Equal(answers[0], answers[1]) || !slices.Contains(answers[0], 429) {
		t.Errorf("somebody %v\nnobody %v", answers[0], answers[1])
	}
}

// A network of IPv6 addresses has the guesses of one address.
func TestANetworkOfAddressesHasTheGuessesOfOne(t *testing.T) {
	b := newBench(t, behindProxy)
	for n := range 5 {
		b.do("POST", tokenPath, wrongOper, "X-Forwarded-For", fmt.Sprintf("2001:db8::%x", n)).is(401, "invalid_credentials")
	}
	b.do("POST", tokenPath, wrongOper, "X-Forwarded-For", "2001:db8::ff").is(429, "too_many_logins")
	b.do("POST", tokenPath, wrongOper, "X-Forwarded-For", "2001:db8:0:1::1").is(401, "invalid_credentials")
}

// After many failed log-ins in a row, an account accepts log-ins from unknown browsers only one at
// a time for a while, even the correct one; only administrators learn of it.
func TestAnAccountIsGuardedAfterManyLogInsThatFail(t *testing.T) {
	b := newBench(t, behindProxy)
	from := 0
	in := func(body string) answer {
		from++ // an attacker has many addresses
		return b.do("POST", tokenPath, body, "X-Forwarded-For", fmt.Sprintf("203.0.113.%d", from%250+1))
	}
	fail := func(n int) {
		t.Helper()
		for range n {
			b.clock.advance(10 * time.Second)
			in(wrongOper).is(401, "invalid_credentials")
		}
	}
	fail(engine.LogInFailures - 1)
	in(rightOper).is(200, "") // which forgets them
	fail(engine.LogInFailures)
	if b.ports.locker.Name != "log-in" || b.ports.locker.From == "" {
		t.Errorf("the audit names %+v", b.ports.locker)
	}
	for _, u := range b.byAdmin("GET", "/api/v1/users", "").is(200, "").get("users").([]any) {
		u := u.(map[string]any)
		if locked := u["locked_until"] != nil; locked != (u["id"] == "usr_oper") {
			t.Errorf("%v", u)
		}
	}
	for range 3 {
		in(wrongOper).is(401, "invalid_credentials")
	}
	if a := in(rightOper).is(429, "too_many_logins"); a.header.Get("Retry-After") != "10" {
		t.Errorf("Retry-After %q", a.header.Get("Retry-After"))
	}
	b.do("POST", tokenPath, `{"email":"view@example.org","password":"`+password+`"}`, "X-Forwarded-For", "203.0.113.1").
		is(200, "")
	b.clock.advance(10 * time.Second)
	in(rightOper).is(200, "") // its turn, and the end of the guard
	for range 10 {
		in(wrongOper).is(401, "invalid_credentials")
	}

	// An administrator can end it too.
	fail(engine.LogInFailures - 10)
	for range 3 {
		in(wrongOper).is(401, "invalid_credentials")
	}
	in(rightOper).is(429, "too_many_logins")
	if a := b.byAdmin("PATCH", "/api/v1/users/usr_oper", `{"unlock":true}`).is(200, ""); a.get("locked_until") != nil {
		t.Errorf("%s", a.body)
	}
	in(rightOper).is(200, "")
}
