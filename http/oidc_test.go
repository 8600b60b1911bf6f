package http

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	nethttp "net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"dialler/engine"
	"dialler/http/access"
)

// company is an identity provider that tells what a test wants of the person who logs in.
type company struct {
	b   *bench
	url string

	mu     sync.Mutex
	claims jwt.MapClaims
	codes  int  // that were exchanged
	asked  int  // how often it was asked what it is
	broken bool // it answers with an error that is long
}

func newCompany(t *testing.T) *company {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public, err := key.PublicKey.ECDH()
	if err != nil {
		t.Fatal(err)
	}
	point, text := public.Bytes()[1:], base64.RawURLEncoding.EncodeToString
	c := &company{}
	mux := nethttp.NewServeMux()
	answer := func(w nethttp.ResponseWriter, what any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(what)
	}
	mux.HandleFunc("/.well-known/openid-configuration", func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.asked++; c.broken {
			w.WriteHeader(nethttp.StatusBadGateway)
			_, _ = w.Write([]byte(strings.Repeat("long ", 10_000)))
			return
		}
		answer(w, map[string]any{"issuer": c.url, "authorization_endpoint": c.url + "/auth",
			"token_endpoint": c.url + "/token", "jwks_uri": c.url + "/keys",
			"id_token_signing_alg_values_supported": []string{"ES256"}})
	})
	mux.HandleFunc("/keys", func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		answer(w, map[string]any{"keys": []any{map[string]any{"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig",
			"kid": "1", "x": text(point[:32]), "y": text(point[32:])}}})
	})
	mux.HandleFunc("/token", func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.codes++
		token := jwt.NewWithClaims(jwt.SigningMethodES256, c.claims)
		token.Header["kid"] = "1"
		id, err := token.SignedString(key)
		if err != nil {
			t.Error(err)
		}
		answer(w, map[string]any{"access_token": "x", "token_type": "Bearer", "id_token": id})
	})
	served := httptest.NewServer(mux)
	t.Cleanup(served.Close)
	c.url = served.URL
	c.b = newBench(t, func(cfg *Config) {
		cfg.OIDC = &access.OIDC{Name: "Company", Issuer: c.url, ClientID: "dialler", Callback: "http://api.test/back",
			GroupsClaim: "groups", Roles: map[string]string{"callcentre": "operator"}}
	})
	c.b.client.CheckRedirect = func(*nethttp.Request, []*nethttp.Request) error { return nethttp.ErrUseLastResponse }
	return c
}

// begins begins a log-in, which comes back for a person with these claims.
func (c *company) begins(to string, claims jwt.MapClaims) (cookie, callback string) {
	t := c.b.t
	t.Helper()
	a := c.b.do("GET", "/api/v1/oidc/log-in?to="+url.QueryEscape(to), "").is(302, "")
	at, err := url.Parse(a.header.Get("Location"))
	if err != nil {
		t.Fatal(err)
	}
	cookie, _, _ = strings.Cut(a.header.Get("Set-Cookie"), ";")
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.b.clock.Now()
	c.claims = jwt.MapClaims{"iss": c.url, "aud": "dialler", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
		"nonce": at.Query().Get("nonce"), "groups": []string{"callcentre"}}
	for name, value := range claims {
		c.claims[name] = value
	}
	return cookie, "/api/v1/oidc/callback?code=x&state=" + url.QueryEscape(at.Query().Get("state"))
}

// logsIn returns the page to which a log-in leads.
func (c *company) logsIn(claims jwt.MapClaims) string {
	c.b.t.Helper()
	cookie, callback := c.begins("/dashboard", claims)
	return c.b.do("GET", callback, "", "Cookie", cookie).is(302, "").header.Get("Location")
}

func (c *company) exchanged() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.codes
}

func TestALogInByAProviderComesBackOnce(t *testing.T) {
	c := newCompany(t)
	cookie, callback := c.begins("/dashboard/trunks", jwt.MapClaims{"sub": "1", "email": "ada@example.org",
		"email_verified": true})
	if at := c.b.do("GET", callback, "", "Cookie", cookie).is(302, "").header.Get("Location"); at != "/dashboard/trunks" {
		t.Fatalf("the log-in leads to %s", at)
	}
	asked := c.exchanged()
	for range 3 { // somebody sends the cookie again, whatever the browser was told
		at := c.b.do("GET", callback, "", "Cookie", cookie).is(302, "").header.Get("Location")
		if at != "/dashboard?log_in=oidc_expired" {
			t.Errorf("again the log-in leads to %s", at)
		}
	}
	if got := c.exchanged(); got != asked {
		t.Errorf("the provider was asked %d times more", got-asked)
	}
}

// Otherwise anybody could have the name of somebody who comes later.
func TestAProviderMakesUsersOfConfirmedAddressesAlone(t *testing.T) {
	c := newCompany(t)
	for _, verified := range []any{false, "false", nil, 1} {
		claims := jwt.MapClaims{"sub": "1", "email": "ada@example.org", "email_verified": verified}
		if at := c.logsIn(claims); at != "/dashboard?log_in=oidc_email_unconfirmed" {
			t.Errorf("%v: the log-in leads to %s", verified, at)
		}
	}
	if at := c.logsIn(jwt.MapClaims{"sub": "1", "email": "ada@example.org", "email_verified": true}); at != "/dashboard" {
		t.Errorf("confirmed: %s", at)
	}
	// Who has an account goes on logging in.
	if at := c.logsIn(jwt.MapClaims{"sub": "1", "email": "ada@example.org"}); at != "/dashboard" {
		t.Errorf("the next time: %s", at)
	}
}

func TestAnAdministratorUnlinksAUserFromTheProvider(t *testing.T) {
	c := newCompany(t)
	claims := jwt.MapClaims{"sub": "1", "email": "ada@example.org", "email_verified": true}
	if at := c.logsIn(claims); at != "/dashboard" {
		t.Fatalf("the log-in leads to %s", at)
	}
	claims["sub"] = "2" // there she has another identifier now
	if at := c.logsIn(claims); at != "/dashboard?log_in=oidc_email_taken" {
		t.Errorf("the log-in leads to %s", at)
	}
	var ada engine.User
	for _, u := range c.b.ports.users {
		if u.Email == "ada@example.org" {
			ada = u
		}
	}
	at := "/api/v1/users/" + string(ada.ID)
	c.b.byAdmin("PATCH", at, `{"single_sign_on":true}`).is(422, "validation_failed", "single_sign_on unknown_value")
	if a := c.b.byAdmin("PATCH", at, `{"single_sign_on":false}`).is(200, ""); a.get("single_sign_on") != false ||
		a.get("role") != "operator" {
		t.Errorf("unlinked: %s", a.body)
	}
	if at := c.logsIn(claims); at != "/dashboard" {
		t.Errorf("the log-in leads to %s", at)
	}
}

// Strangers who ask for log-ins take no places of those who read, and fill no log.
func TestLogInsByAProviderHaveTheirOwnPlaces(t *testing.T) {
	b := newBench(t)
	found := 0
	for _, rt := range b.server.routes {
		if strings.HasPrefix(rt.path, "/api/v1/oidc") {
			found++
			if got := rt.intake; got != intakeLogIns {
				t.Errorf("%s is of the intake %s", rt.path, got)
			}
		}
	}
	if found != 3 {
		t.Errorf("%d routes", found)
	}
}

func TestAProviderThatIsAwayIsLoggedOncePerQuestion(t *testing.T) {
	c := newCompany(t)
	c.broken = true
	for range 5 {
		c.b.do("GET", "/api/v1/oidc", "").is(200, "")
		c.b.do("GET", "/api/v1/oidc/log-in", "").is(302, "")
	}
	c.b.clock.advance(10 * time.Second)
	c.b.do("GET", "/api/v1/oidc", "").is(200, "")
	log := c.b.log.String()
	if n := strings.Count(log, "does not answer"); n != 2 || c.asked != 2 {
		t.Errorf("%d lines, asked %d times", n, c.asked)
	}
	for line := range strings.Lines(log) {
		if len(line) > 1000 {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
}

func TestALogInByAProviderLeadsToNoFragment(t *testing.T) {
	c := newCompany(t)
	cookie, callback := c.begins("/dashboard#x", jwt.MapClaims{"sub": "1", "email": "ada@example.org"})
	at := c.b.do("GET", callback, "", "Cookie", cookie).is(302, "").header.Get("Location")
	if at != "/dashboard?log_in=oidc_email_unconfirmed" {
		t.Errorf("the log-in leads to %s", at)
	}
}
