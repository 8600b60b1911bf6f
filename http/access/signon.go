package access

import (
	"crypto/hmac"
	"encoding/base64"
	"encoding/json"
	"errors"
	nethttp "net/http"
	"net/url"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"dialler/engine"
	"dialler/http/wire"
)

// Log-in of people by an identity provider: OpenID Connect's authorization code flow, with PKCE. The provider says who
// somebody is and in which groups; the session that follows is ours, like that of a log-in by password.

const (
	flowCookie = "dialler_oidc"
	flowPath   = "/api/v1/oidc"
	flowLife   = 10 * time.Minute
)

type logInWays struct {
	Password     bool         `json:"password"`
	SingleSignOn *signOnState `json:"single_sign_on"` // null: not set up
}

type signOnState struct {
	Name      string `json:"name"`
	URL       string `json:"url"`
	Available bool   `json:"available"`
	Problem   string `json:"problem,omitempty"`
}

// LogInWays tells the log-in page how people can log in.
func (s *Gate) LogInWays(r *wire.Request) error {
	out := logInWays{Password: true}
	if s.provider != nil {
		out.SingleSignOn = &signOnState{Name: s.provider.Name, URL: flowPath + "/log-in", Available: true}
		if _, err := s.provider.discover(r.Ctx()); err != nil {
			out.SingleSignOn.Available = false
			out.SingleSignOn.Problem = s.provider.Name + " does not answer. Try again later, or log in with a password."
		}
	}
	return r.Reply(nethttp.StatusOK, out)
}

// flow is a log-in that has gone to the provider; the browser keeps it in a cookie that we have signed.
type flow struct {
	State    string `json:"s"`
	Nonce    string `json:"n"`
	Verifier string `json:"v"` // of PKCE
	To       string `json:"t"` // the page of the console that was asked for
	Until    int64  `json:"u"`
}

func (s *Gate) sealFlow(f flow) string {
	raw, _ := json.Marshal(f)
	text := base64.RawURLEncoding.EncodeToString(raw)
	return text + "." + base64.RawURLEncoding.EncodeToString(s.code("log-in by a provider "+text))
}

func (s *Gate) openFlow(r *wire.Request) (f flow, ok bool) {
	text, code, found := strings.Cut(string(r.HTTP.Request.Header.Cookie(flowCookie)), ".")
	given, err := base64.RawURLEncoding.DecodeString(code)
	if !found || err != nil || !hmac.Equal(given, s.code("log-in by a provider "+text)) {
		return flow{}, false
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || json.Unmarshal(raw, &f) != nil || s.Now().Unix() >= f.Until {
		return flow{}, false
	}
	return f, true
}

// setFlow gives the browser the cookie of a flow, or removes it (""). It is Lax, because the provider's page leads back
// to us.
func (s *Gate) setFlow(r *wire.Request, value string) {
	life := "600"
	if value == "" {
		life = "0"
	}
	c := flowCookie + "=" + value + "; Path=" + flowPath + "; HttpOnly; SameSite=Lax; Max-Age=" + life
	if s.SecureCookies {
		c += "; Secure"
	}
	r.HTTP.Response.Header.Add("Set-Cookie", c)
}

func redirect(r *wire.Request, to string) {
	r.Send(nethttp.StatusFound, "", nil)
	r.HTTP.Response.Header.Set("Location", to)
}

// consolePage returns where in the console a log-in leads; nowhere else, whatever was asked for.
func consolePage(to string) string {
	const home = "/dashboard"
	u, err := url.Parse(to)
	if err != nil || u.Host != "" || u.Scheme != "" || u.Opaque != "" || strings.Contains(to, "#") || len(to) > 1024 ||
		strings.ContainsFunc(to, func(c rune) bool { return c <= ' ' || c == '\\' || c > '~' }) ||
		u.Path != home && !strings.HasPrefix(u.Path, home+"/") {
		return home
	}
	return to
}

// StartSignOn sends a browser to the provider.
func (s *Gate) StartSignOn(r *wire.Request) error {
	to := consolePage(string(r.HTTP.QueryArgs().Peek("to")))
	if s.provider == nil {
		return errNoProvider
	}
	from := subject{name: "provider " + network(r.From()), every: 2 * time.Second, burst: 30}
	if _, wait, ok := s.logins.admit(from); !ok {
		return s.tooMany(wait)
	}
	found, err := s.provider.discover(r.Ctx())
	if err != nil {
		redirect(r, refusedAt(to, "oidc_unavailable"))
		return nil
	}
	f := flow{State: wire.RandomText(32), Nonce: wire.RandomText(32), Verifier: oauth2.GenerateVerifier(), To: to,
		Until: s.Now().Add(flowLife).Unix()}
	s.setFlow(r, s.sealFlow(f))
	redirect(r, s.provider.exchange(found).AuthCodeURL(f.State, oidc.Nonce(f.Nonce),
		oauth2.S256ChallengeOption(f.Verifier)))
	return nil
}

var errNoProvider = engine.NotFound("oidc_off", "")

// refusedAt is a page of the console that says why nobody was logged in.
func refusedAt(to, code string) string {
	path, _, _ := strings.Cut(to, "?")
	return path + "?log_in=" + url.QueryEscape(code)
}

// EndSignOn is where the provider sends a browser back to.
func (s *Gate) EndSignOn(r *wire.Request) error {
	if s.provider == nil {
		return errNoProvider
	}
	f, ok := s.openFlow(r)
	s.setFlow(r, "") // each is used once
	if !ok || !s.provider.use(f) {
		redirect(r, refusedAt(consolePage(""), "oidc_expired"))
		return nil
	}
	err := s.signOn(r, f)
	if err == nil {
		redirect(r, f.To)
		return nil
	}
	e := wire.AsError(err)
	if e.Kind == engine.KindInternal {
		r.Host.LogFailure(r, err)
	}
	redirect(r, refusedAt(f.To, e.Code))
	return nil
}

// refuse refuses a log-in; the console has words for each code, and the log has why.
func (s *Gate) refuse(code, why string, err error) error {
	s.Log.Info().Str("code", code).Err(cut(err)).Msg("a log-in by the identity provider was refused: " + why)
	return wire.Forbidden(code, "")
}

// signOn logs in whom the provider names.
func (s *Gate) signOn(r *wire.Request, f flow) error {
	query := r.HTTP.QueryArgs()
	if !hmac.Equal(query.Peek("state"), []byte(f.State)) {
		return s.refuse("oidc_expired", "the state is of another log-in", nil)
	}
	if code := query.Peek("error"); len(code) > 0 {
		return s.refuse("oidc_refused", "the provider refused it", nil)
	}
	p, err := s.identify(r.Ctx(), f, string(query.Peek("code")))
	if err != nil {
		return err
	}
	user, err := s.userOf(r, p)
	if err != nil {
		return err
	}
	if err := s.Users.LoggedIn(r.Ctx(), user.ID, s.Now()); err != nil {
		return err
	}
	_, _, err = s.startSession(r, user.ID)
	return err
}

// userOf finds or makes the user of a person, with the role of the person's groups.
func (s *Gate) userOf(r *wire.Request, p person) (engine.User, error) {
	who := engine.Who{Name: p.email + " by " + s.provider.Name, From: r.From()}
	for again := true; ; again = false {
		user, known, err := s.Users.UserBySubject(r.Ctx(), p.subject)
		if err == nil && !known {
			user, known, err = s.Users.UserByEmail(r.Ctx(), p.email)
			if err == nil && known && (user.Subject != "" || !p.verified) {
				return engine.User{}, s.refuse("oidc_email_taken", "another account has the e-mail address", nil)
			}
		}
		switch {
		case err != nil:
			return engine.User{}, err
		case known:
			return s.renew(r, user, p, who)
		case !p.verified: // else anybody could have the name of somebody who comes later
			return engine.User{}, s.refuse("oidc_email_unconfirmed", "the provider has not confirmed the address", nil)
		}
		if err := hashingTurn(r.Ctx()); err != nil {
			return engine.User{}, err
		}
		user = NewUser(p.email, p.role, NewPassword(), s.Now()) // a password that nobody knows
		<-hashing
		user.Subject = p.subject
		err = s.Users.CreateUser(r.Ctx(), user, who)
		if e := (*engine.Error)(nil); again && errors.As(err, &e) && e.Kind == engine.KindConflict {
			continue // made meanwhile
		}
		return user, err
	}
}

// renew gives a user the role that the person has now.
func (s *Gate) renew(r *wire.Request, user engine.User, p person, who engine.Who) (engine.User, error) {
	if !user.Active {
		return engine.User{}, s.refuse("oidc_deactivated", "the account is deactivated", nil)
	}
	if user.Role == p.role && user.Subject == p.subject {
		return user, nil
	}
	user, err := s.Users.UpdateUser(r.Ctx(), user.ID, func(u *engine.User) {
		u.Role, u.Subject = p.role, p.subject
	}, who)
	return user, s.userChanged(r.Ctx(), user.ID, err)
}
