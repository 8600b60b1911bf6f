package process

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	nethttp "net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"dialler/bench/ports"
	"dialler/http/access"
	"dialler/persistence/storetest"
)

// company is an identity provider, oidc-provider of npm, for a world whose dialler names it.
type company struct {
	t      *testing.T
	w      *world
	issuer string
	people string // the file with the claims of its people
}

func newCompany(t *testing.T) *company {
	t.Helper()
	c := &company{t: t, issuer: "http://" + ports.AddressOf(t), people: filepath.Join(t.TempDir(), "people.json")}
	url := storetest.URL(t)
	c.w = bringUp(t, &world{url: url, flags: Flags{DatabaseURL: url, OIDCIssuer: c.issuer, OIDCClientID: "dialler",
		OIDCClientSecret: "a secret of the client", OIDCName: "Company", OIDCScopes: []string{"email", "groups"},
		OIDCGroups: "groups", OIDCRoles: []string{"dialler-admins=admin", "callcentre=operator", "auditors=viewer"}}},
		tuning{}, 0)
	return c
}

// knows are the claims of everybody whom the provider knows from now on.
func (c *company) knows(people map[string]map[string]any) {
	c.t.Helper()
	raw, err := json.Marshal(people)
	if err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(c.people, raw, 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// opens starts the provider, and waits until the dialler offers it.
func (c *company) opens() {
	c.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	p := exec.CommandContext(ctx, node(c.t), filepath.Join(consoleDir, "e2e", "provider.mjs"))
	p.Env = append(os.Environ(), "ISSUER="+c.issuer, "CLIENT=dialler", "SECRET=a secret of the client",
		"CALLBACK="+access.CallbackOf(c.w.p.URL()), "PEOPLE="+c.people)
	var says bytes.Buffer
	p.Stdout, p.Stderr = &says, &says
	if err := p.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		cancel()
		_ = p.Wait()
		if c.t.Failed() {
			c.t.Logf("the provider says: %s", says.String())
		}
	})
	eventually(c.t, "the provider is offered", func() bool { return c.ways().Available })
}

type way struct {
	Name      string `json:"name"`
	URL       string `json:"url"`
	Available bool   `json:"available"`
	Problem   string `json:"problem"`
}

func (c *company) ways() way {
	c.t.Helper()
	var got struct {
		Password     bool `json:"password"`
		SingleSignOn *way `json:"single_sign_on"`
	}
	resp, err := brief.Get(c.w.p.URL() + "/api/v1/oidc")
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil || !got.Password || got.SingleSignOn == nil {
		c.t.Fatalf("ways to log in: %+v, %v", got, err)
	}
	return *got.SingleSignOn
}

// brief keeps no connection.
var brief = &nethttp.Client{Transport: &nethttp.Transport{DisableKeepAlives: true}}

// visitor is a browser without a page: it follows redirects, and fills in the provider's forms.
type visitor struct {
	c      *company
	client *nethttp.Client
	back   *url.URL // the last callback
}

func (c *company) visitor() *visitor {
	jar, _ := cookiejar.New(nil)
	v := &visitor{c: c}
	v.client = &nethttp.Client{Transport: brief.Transport, Jar: jar, Timeout: time.Minute}
	v.client.CheckRedirect = func(r *nethttp.Request, _ []*nethttp.Request) error {
		if strings.HasSuffix(r.URL.Path, "/oidc/callback") {
			v.back = r.URL
		}
		if strings.HasPrefix(r.URL.Path, "/dashboard") {
			return nethttp.ErrUseLastResponse
		}
		return nil
	}
	return v
}

var (
	promptField = regexp.MustCompile(`name="prompt" value="(\w+)"`)
	formAction  = regexp.MustCompile(`<form[^>]*action="([^"]+)"`)
)

// logsIn logs in as somebody and returns the page of the console that this leads to.
func (v *visitor) logsIn(login, to string) string {
	v.c.t.Helper()
	resp, err := v.client.Get(v.c.w.p.URL() + "/api/v1/oidc/log-in?to=" + url.QueryEscape(to))
	for range 5 {
		if err != nil {
			v.c.t.Fatal(err)
		}
		page, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if at := resp.Header.Get("Location"); resp.StatusCode == nethttp.StatusFound {
			return at
		}
		prompt, action := promptField.FindSubmatch(page), formAction.FindSubmatch(page)
		if prompt == nil || action == nil {
			v.c.t.Fatalf("%s: %d %s", resp.Request.URL, resp.StatusCode, page)
		}
		at, err2 := resp.Request.URL.Parse(string(action[1]))
		if err2 != nil {
			v.c.t.Fatal(err2)
		}
		resp, err = v.client.PostForm(at.String(), url.Values{"prompt": {string(prompt[1])}, "login": {login},
			"password": {"whatever"}})
	}
	v.c.t.Fatal("the log-in does not end")
	return ""
}

// is returns who the visitor is logged in as; zero values for nobody.
func (v *visitor) is() (user struct{ ID, Email, Role string }) {
	v.c.t.Helper()
	resp, err := v.client.Get(v.c.w.p.URL() + "/api/v1/session")
	if err != nil {
		v.c.t.Fatal(err)
	}
	defer resp.Body.Close()
	var got struct {
		User struct {
			ID    string `json:"user_id"`
			Email string `json:"email"`
			Role  string `json:"role"`
		} `json:"user"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil {
		v.c.t.Fatal(err)
	}
	user.ID, user.Email, user.Role = got.User.ID, got.User.Email, got.User.Role
	return user
}

// claims are what the provider tells of a person.
func claims(email string, verified bool, groups ...string) map[string]any {
	return map[string]any{"email": email, "email_verified": verified, "groups": groups}
}

func TestPeopleLogInByAnIdentityProvider(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	const local = "lena@example.org"
	c.w.consoleUser(local, "viewer")

	// While the provider is away the button says so, and passwords are accepted.
	if got := c.ways(); got.Available || got.Name != "Company" || !strings.Contains(got.Problem, "does not answer") {
		t.Errorf("without the provider: %+v", got)
	}
	if at := c.visitor().logsIn("ada", "/dashboard"); at != "/dashboard?log_in=oidc_unavailable" {
		t.Errorf("without the provider the log-in leads to %s", at)
	}
	c.w.browser("bob@example.org", "viewer")

	c.knows(map[string]map[string]any{
		"ada": claims("Ada@Example.org", true, "staff", "callcentre", "dialler-admins"),
		"eve": claims(local, false, "dialler-admins"),
		"len": claims(local, true, "callcentre"),
		"nix": claims("nix@example.org", true, "staff"),
		"nom": {"groups": []string{"callcentre"}},
	})
	c.opens()

	// The first log-in makes a user, with the highest role of the groups.
	ada := c.visitor()
	if at := ada.logsIn("ada", "/dashboard/trunks?page=2"); at != "/dashboard/trunks?page=2" {
		t.Fatalf("the log-in leads to %s", at)
	}
	first := ada.is()
	if first.Email != "ada@example.org" || first.Role != "admin" {
		t.Fatalf("logged in as %+v", first)
	}
	var log struct {
		Activity []struct {
			Action, Subject string
			Who             struct{ Name string }
		}
	}
	c.w.operator("GET", "/api/v1/activity?kinds=create_user", nil).expect(200).into(&log)
	if len(log.Activity) == 0 || log.Activity[0].Subject != first.ID ||
		log.Activity[0].Who.Name != "ada@example.org by Company" {
		t.Errorf("the log has %+v", log)
	}

	// A log-in that was finished cannot be finished again, nor with a state of somebody's own.
	for _, at := range []string{ada.back.String(), strings.Replace(ada.back.String(), "state=", "state=x", 1)} {
		resp, err := ada.client.Get(at)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if got := resp.Header.Get("Location"); got != "/dashboard?log_in=oidc_expired" {
			t.Errorf("again: %s", got)
		}
	}
	// Nor in another browser.
	resp, err := c.visitor().client.Get(ada.back.String())
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if got := resp.Header.Get("Location"); got != "/dashboard?log_in=oidc_expired" {
		t.Errorf("in another browser: %s", got)
	}

	// A log-in leads nowhere else.
	for _, to := range []string{"https://evil.example", "//evil.example/dashboard", "/dashboard/../x\\y", "/api/v1/health",
		"/dashboardx", "javascript:alert(1)"} {
		if at := c.visitor().logsIn("ada", to); at != "/dashboard" {
			t.Errorf("%s leads to %s", to, at)
		}
	}

	refused := func(login, code string) {
		t.Helper()
		v := c.visitor()
		if at := v.logsIn(login, "/dashboard"); at != "/dashboard?log_in="+code || v.is().ID != "" {
			t.Errorf("%s: %s, %+v", login, at, v.is())
		}
	}
	refused("nix", "oidc_no_role")
	refused("nom", "oidc_no_email")
	// An address that the provider has not confirmed opens nobody's account.
	refused("eve", "oidc_email_taken")

	// A confirmed one does: the account has both ways from now on, and the role of the groups.
	lena := c.visitor()
	lena.logsIn("len", "/dashboard")
	if got := lena.is(); got.Email != local || got.Role != "operator" {
		t.Errorf("logged in as %+v", got)
	}
	resp, err = brief.Post(c.w.p.URL()+"/api/v1/auth/token", "application/json",
		strings.NewReader(`{"email":"`+local+`","password":"`+browserPassword+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != nethttp.StatusOK {
		t.Errorf("her password: %s", resp.Status)
	}

	// The role is renewed at each log-in, and no group is no log-in.
	c.knows(map[string]map[string]any{"ada": claims("ada@example.org", true, "auditors")})
	again := c.visitor()
	again.logsIn("ada", "/dashboard")
	if got := again.is(); got.ID != first.ID || got.Role != "viewer" {
		t.Errorf("logged in again as %+v", got)
	}
	if got := ada.is(); got.Role != "viewer" {
		t.Errorf("the session before has %+v", got)
	}
	c.knows(map[string]map[string]any{"ada": claims("ada@example.org", true)})
	refused("ada", "oidc_no_role")
	c.knows(map[string]map[string]any{"ada": claims("ada@example.org", true, "auditors")})
	c.w.operator("PATCH", "/api/v1/users/"+first.ID, map[string]any{"is_active": false}).expect(200)
	refused("ada", "oidc_deactivated")
}

func TestTheConsoleOffersTheIdentityProvider(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	const local = "lena@example.org"
	c.w.consoleUser(local, "operator")
	c.knows(map[string]map[string]any{
		"olga":   claims("olga@example.org", true, "callcentre"),
		"nobody": claims("nobody@example.org", true, "staff"),
	})
	c.opens()
	c.w.browse("sign-on.mjs", "ISSUER", c.issuer, "EMAIL", local, "PASSWORD", browserPassword)
}
