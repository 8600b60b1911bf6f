package access

import (
	"cmp"
	"context"
	"crypto/hmac"
	"errors"
	"io"
	"maps"
	nethttp "net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/rs/zerolog"
	"golang.org/x/oauth2"

	"dialler/http/wire"
)

// What an identity provider is, what it says of itself, and of whoever comes from it.

// OIDC is the identity provider.
type OIDC struct {
	Name         string // on the button
	Issuer       string
	ClientID     string
	ClientSecret string // "" for a public client
	Callback     string // our URL to which the provider sends people back
	Scopes       []string
	GroupsClaim  string // a name, or a path such as realm_access.roles
	// Roles are the roles of groups; who is in several has the highest.
	Roles map[string]string
	// Client reaches the provider; the default if nil.
	Client *nethttp.Client
}

const (
	// discoveredFor is how long what the provider says of itself is taken as told, missedFor how long it is not asked
	// again after it did not answer, providerTime how long it may take.
	discoveredFor = time.Minute
	missedFor     = 5 * time.Second
	providerTime  = 5 * time.Second
	// providerAnswer limits what is read of an answer, claimsCap the groups of a person that are looked at.
	providerAnswer = 1 << 20
	claimsCap      = 10_000
	// usedCap limits the log-ins that are remembered as used, problemCap what a log has of a provider's error.
	usedCap    = 50_000
	problemCap = 300
)

// provider is what we know of the identity provider; it is asked when somebody wants to log in.
type provider struct {
	OIDC
	now func() time.Time
	log zerolog.Logger

	mu     sync.Mutex
	asking chan struct{} // closed when the question under way is answered; nil if there is none
	asked  time.Time
	found  *oidc.Provider
	err    error            // of the last time
	used   map[string]int64 // nonces of log-ins that came back to this node, and until when they would be valid
}

func newProvider(c *OIDC, now func() time.Time, log zerolog.Logger) *provider {
	if c == nil {
		return nil
	}
	p := &provider{OIDC: *c, now: now, log: log, used: make(map[string]int64)}
	client := nethttp.Client{Timeout: providerTime}
	if c.Client != nil {
		client = *c.Client
	}
	inner := client.Transport
	if inner == nil { // log-ins are rare: no connection is kept for the next
		inner = &nethttp.Transport{Proxy: nethttp.ProxyFromEnvironment, DisableKeepAlives: true}
	}
	client.Transport = shortAnswers{inner}
	p.Client = &client
	return p
}

// shortAnswers cuts off what a provider could fill the memory with.
type shortAnswers struct{ inner nethttp.RoundTripper }

func (s shortAnswers) RoundTrip(r *nethttp.Request) (*nethttp.Response, error) {
	answer, err := s.inner.RoundTrip(r)
	if err == nil {
		answer.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(answer.Body, providerAnswer), answer.Body}
	}
	return answer, err
}

// discover returns the provider as it describes itself. If it does not answer, what it said before counts, and err says
// why. It is asked once for all who wait; who waits no longer than ctx ends nothing for the others.
func (p *provider) discover(ctx context.Context) (*oidc.Provider, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	keep := discoveredFor
	if p.err != nil {
		keep = missedFor
	}
	if age := p.now().Sub(p.asked); !p.asked.IsZero() && age >= 0 && age < keep {
		return p.found, p.err
	}
	if p.asking == nil {
		p.asking = make(chan struct{})
		go p.ask()
	}
	answered := p.asking
	p.mu.Unlock()
	select {
	case <-answered:
	case <-ctx.Done():
	}
	p.mu.Lock()
	return p.found, cmp.Or(ctx.Err(), p.err)
}

// ask asks the provider what it says of itself.
func (p *provider) ask() {
	ctx, cancel := context.WithTimeout(oidc.ClientContext(context.Background(), p.Client), providerTime)
	defer cancel()
	found, err := oidc.NewProvider(ctx, p.Issuer)
	if err != nil {
		p.log.Warn().Err(cut(err)).Msg("the identity provider does not answer")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked, p.err = p.now(), err; err == nil {
		p.found = found
	}
	close(p.asking)
	p.asking = nil
}

// cut returns as much of an error as belongs into a log: it may have the whole answer of a provider.
func cut(err error) error {
	if err == nil || len(err.Error()) <= problemCap {
		return err
	}
	return errors.New(strings.ToValidUTF8(err.Error()[:problemCap], "") + "…")
}

// use says whether a log-in comes back for the first time: a cookie can be sent again, whatever the browser was told.
func (p *provider) use(f flow) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, again := p.used[f.Nonce]; again {
		return false
	}
	if len(p.used) >= usedCap {
		now := p.now().Unix()
		maps.DeleteFunc(p.used, func(_ string, until int64) bool { return until <= now })
	}
	for nonce := range p.used { // under attack: forget one, never grow; the provider takes each code once
		if len(p.used) < usedCap {
			break
		}
		delete(p.used, nonce)
	}
	p.used[f.Nonce] = f.Until
	return true
}

func (p *provider) exchange(found *oidc.Provider) *oauth2.Config {
	return &oauth2.Config{ClientID: p.ClientID, ClientSecret: p.ClientSecret, Endpoint: found.Endpoint(),
		RedirectURL: p.Callback, Scopes: append([]string{oidc.ScopeOpenID}, p.Scopes...)}
}

// person is whom the provider says that somebody is.
type person struct {
	subject  string
	email    string
	verified bool // the provider says that the address is the person's
	role     string
}

// identify exchanges the code of a log-in for who it is.
func (s *Gate) identify(ctx context.Context, f flow, code string) (person, error) {
	p := s.provider
	failed := func(why string, err error) (person, error) { return person{}, s.refuse("oidc_failed", why, err) }
	found, err := p.discover(ctx)
	if found == nil {
		return failed("the provider does not answer", err)
	}
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, p.Client), 2*providerTime)
	defer cancel()
	token, err := p.exchange(found).Exchange(ctx, code, oauth2.VerifierOption(f.Verifier))
	if err != nil {
		var answer *oauth2.RetrieveError
		if errors.As(err, &answer) { // its body may have more than belongs into a log
			err = errors.New("the provider answered " + answer.Response.Status + " " + answer.ErrorCode)
		}
		return failed("the code was not exchanged", err)
	}
	raw, ok := token.Extra("id_token").(string)
	if !ok {
		return failed("there is no ID token", nil)
	}
	id, err := found.VerifierContext(ctx, &oidc.Config{ClientID: p.ClientID, Now: s.Now}).Verify(ctx, raw)
	if err != nil {
		return failed("the ID token is not valid", err)
	}
	if !hmac.Equal([]byte(id.Nonce), []byte(f.Nonce)) {
		return failed("the nonce is of another log-in", nil)
	}
	claims := map[string]any{}
	if err := id.Claims(&claims); err != nil {
		return failed("the ID token has no claims", err)
	}
	_, groups := claimOf(claims, p.GroupsClaim)
	if found.UserInfoEndpoint() != "" && (claims["email"] == nil || claims["email_verified"] == nil || !groups) {
		info, err := found.UserInfo(ctx, oauth2.StaticTokenSource(token))
		if err != nil {
			return failed("the provider does not tell of the person", err)
		}
		more := map[string]any{}
		if err := info.Claims(&more); err != nil || info.Subject != id.Subject {
			return failed("the provider tells of another person", err)
		}
		for name, value := range more {
			if _, known := claims[name]; !known {
				claims[name] = value
			}
		}
	}
	return s.personOf(id.Subject, claims)
}

// personOf reads the claims that count.
func (s *Gate) personOf(sub string, claims map[string]any) (person, error) {
	email, _ := claims["email"].(string)
	email = strings.ToLower(strings.TrimSpace(email))
	if len(email) > 254 || !isEmail(email) || len(sub) > 255 || !wireText(sub) {
		return person{}, s.refuse("oidc_no_email", "there is no e-mail address", nil)
	}
	verified := claims["email_verified"] == true || claims["email_verified"] == "true" // some providers send a text
	p := person{subject: s.provider.Issuer + " " + sub, email: email, verified: verified}
	groups, _ := claimOf(claims, s.provider.GroupsClaim)
	for _, g := range groups[:min(len(groups), claimsCap)] {
		if role := s.provider.Roles[g]; wire.ParseRole(role) > wire.ParseRole(p.role) {
			p.role = role
		}
	}
	if p.role == "" {
		return person{}, s.refuse("oidc_no_role", "none of the person's groups has a role", nil)
	}
	return p, nil
}

// wireText says whether a text can be stored and shown.
func wireText(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c == 0x7f || c == '\uFFFD' })
}

// claimOf reads a claim that is a text or a list of them, by its name or by its path.
func claimOf(claims map[string]any, name string) (list []string, ok bool) {
	value, ok := claims[name]
	if !ok {
		var at any = claims
		for part := range strings.SplitSeq(name, ".") {
			inner, _ := at.(map[string]any)
			if at, ok = inner[part]; !ok {
				return nil, false
			}
		}
		value = at
	}
	switch v := value.(type) {
	case string:
		list = []string{v}
	case []any:
		for _, x := range v {
			if text, ok := x.(string); ok {
				list = append(list, text)
			}
		}
	}
	return list, true
}

// CheckOIDC says what is wrong with a provider's settings, by the name of each.
func CheckOIDC(c *OIDC) error {
	var wrong []error
	if !ownOrSecure(c.Issuer) {
		wrong = append(wrong, errors.New("--oidc-issuer must be an https URL, for example "+
			"https://login.example.org/realms/company; http only on this machine"))
	}
	if !ownOrSecure(c.Callback) {
		wrong = append(wrong, errors.New("--oidc-redirect, or --public-url, must be an https URL under which browsers "+
			"reach the console, for example https://dialler.example.org; http only on this machine"))
	}
	if c.ClientID == "" {
		wrong = append(wrong, errors.New("--oidc-client-id is required with --oidc-issuer, for example dialler"))
	}
	if len(c.Roles) == 0 {
		wrong = append(wrong, errors.New("--oidc-roles is required with --oidc-issuer, for example "+
			"dialler-admins=admin,callcentre=operator"))
	}
	for group, role := range c.Roles {
		if group == "" || wire.ParseRole(role) == wire.RoleNone {
			wrong = append(wrong, errors.New("--oidc-roles must be GROUP=ROLE with the roles admin, operator, viewer, "+
				"for example callcentre=operator"))
			break
		}
	}
	return errors.Join(wrong...)
}

// ownOrSecure says whether a URL is of https, or of this machine.
func ownOrSecure(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return false
	}
	return u.Scheme == "https" ||
		u.Scheme == "http" && slices.Contains([]string{"127.0.0.1", "::1", "localhost"}, u.Hostname())
}

// CallbackOf is our URL to which the provider sends people back, below the URL of the console.
func CallbackOf(base string) string { return strings.TrimSuffix(base, "/") + flowPath + "/callback" }
