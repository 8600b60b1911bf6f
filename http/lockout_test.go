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

// behindProxy has the peer of the bench be a proxy that is known.
func behindProxy(c *Config) { c.Proxies = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/32")} }

// Behind a proxy the guesses of one client are not those of the others, however many there are.
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

// Who is no proxy that is known cannot say who they are, and the log says that somebody tries to.
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
	// It is the device of one user, ...
	for range 5 {
		b.do("POST", sessionPath, `{"email":"view@example.org","password":"wrong"}`).is(401, "invalid_credentials")
	}
	b.do("POST", sessionPath, `{"email":"view@example.org","password":"`+password+`"}`, "Cookie", device).
		is(429, "too_many_logins")
	// ... nobody else makes one, ...
	b.do("POST", sessionPath, rightOper, "Cookie", strings.Replace(device, "-", "-9", 1)).is(429, "too_many_logins")
	// ... it has few guesses of its own, ...
	for range 10 {
		b.do("POST", sessionPath, wrongOper, "Cookie", device).is(401, "invalid_credentials")
	}
	b.do("POST", sessionPath, wrongOper, "Cookie", device).is(429, "too_many_logins")
	// ... and its time ends.
	b.clock.advance(180*24*time.Hour + time.Second)
	for range 5 {
		b.do("POST", sessionPath, wrongOper).is(401, "invalid_credentials")
	}
	b.do("POST", sessionPath, rightOper, "Cookie", device).is(429, "too_many_logins")
}

// An address that nobody has is answered like one that somebody has.
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

// Whoever has a network of IPv6 addresses has the guesses of one.
func TestANetworkOfAddressesHasTheGuessesOfOne(t *testing.T) {
	b := newBench(t, behindProxy)
	for n := range 5 {
		b.do("POST", tokenPath, wrongOper, "X-Forwarded-For", fmt.Sprintf("2001:db8::%x", n)).is(401, "invalid_credentials")
	}
	b.do("POST", tokenPath, wrongOper, "X-Forwarded-For", "2001:db8::ff").is(429, "too_many_logins")
	b.do("POST", tokenPath, wrongOper, "X-Forwarded-For", "2001:db8:0:1::1").is(401, "invalid_credentials")
}

// After many log-ins that fail in a row an account takes those of browsers that it does not know one after the other
// for a while, the right one among them; nobody hears of it but administrators.
func TestAnAccountIsGuardedAfterManyLogInsThatFail(t *testing.T) {
	b := newBench(t, behindProxy)
	from := 0
	in := func(body string) answer {
		from++ // whoever guesses has many addresses
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

	// An administrator ends it too.
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
