package auth

import (
	"strings"

	"dialler/sipstack/message"

	"github.com/emiago/sipgo/sip"
	"github.com/icholy/digest"
)

const (
	// maxAuthTries bounds how often one request is resent with credentials: once for the far side,
	// once for a proxy before it, once for a stale nonce.
	maxAuthTries = 3
	// maxRealms bounds the realms for which one request has credentials.
	maxRealms = 4
)

// Credentials holds the credentials of one request and of its repetitions.
type Credentials struct {
	username, password string
	tries              int
	given              []credential
	// lines are the credential headers of the current request, index 0 for 401 and 1 for 407: an
	// ACK of the INVITE's 2xx repeats them (RFC 3261 §13.2.2.4).
	lines  [2]string
	counts *nonceCounts // shared by the requests of a leg
}

// credential answers the challenges of one realm.
type credential struct {
	kind      int // index of lines
	challenge *digest.Challenge
	stale     bool // a stale nonce was replaced once
}

// nonceCounts counts how often each of the last nonces was used (RFC 7616 §3.4).
type nonceCounts struct {
	last [4]struct {
		nonce string
		n     int
	}
	at int
}

func (c *nonceCounts) next(nonce string) int {
	for i := range c.last {
		if u := &c.last[i]; u.n > 0 && u.nonce == nonce {
			u.n++
			return u.n
		}
	}
	u := &c.last[c.at]
	c.at = (c.at + 1) % len(c.last)
	u.nonce, u.n = nonce, 1
	return 1
}

// Of makes the credentials of an account; without a username a challenge counts as a refusal.
func Of(username, password string) Credentials {
	return Credentials{username: username, password: password}
}

// Known says whether there is an account.
func (a *Credentials) Known() bool { return a.username != "" }

// Tries counts the challenges that were answered.
func (a *Credentials) Tries() int { return a.tries }

// Again returns the same account for another request; both count the uses of a nonce together.
func (a *Credentials) Again() Credentials {
	if a.counts == nil {
		a.counts = &nonceCounts{}
	}
	return Credentials{username: a.username, password: a.password, counts: a.counts}
}

// AppendTo writes the credential headers.
func (a *Credentials) AppendTo(b []byte) []byte {
	b = append(b, a.lines[0]...)
	return append(b, a.lines[1]...)
}

var authHeaders = [2]struct{ challenge, credentials string }{
	{"www-authenticate", "Authorization"},
	{"proxy-authenticate", "Proxy-Authorization"},
}

// Answer builds the credentials for the challenges of a response to method and uri, including those
// of earlier responses. ok is false if the response is a refusal: no credentials, no common
// algorithm, or our credentials were rejected.
func (a *Credentials) Answer(r *sip.Response, method, uri string) (ok bool) {
	if a.username == "" || a.tries >= maxAuthTries {
		return false
	}
	asked := 0
	if r.StatusCode == 407 {
		asked = 1
	}
	for kind := range authHeaders {
		var values []string
		for _, h := range r.GetHeaders(authHeaders[kind].challenge) {
			values = append(values, h.Value())
		}
		for _, c := range strongestChallenges(values) {
			if !a.take(kind, c) {
				return false
			}
			ok = ok || kind == asked
		}
	}
	if !ok || !a.Renew(method, uri) {
		return false
	}
	a.tries++
	return true
}

// take records a challenge. A second one for the same realm means that the password is wrong,
// unless the far side says that only the nonce was stale.
func (a *Credentials) take(kind int, c *digest.Challenge) bool {
	for i := range a.given {
		g := &a.given[i]
		if g.kind != kind || g.challenge.Realm != c.Realm {
			continue
		}
		if !c.Stale || g.stale {
			return false
		}
		g.challenge, g.stale = c, true
		return true
	}
	if len(a.given) >= maxRealms {
		return false
	}
	a.given = append(a.given, credential{kind: kind, challenge: c})
	return true
}

// Renew rebuilds all credentials for one more request.
func (a *Credentials) Renew(method, uri string) bool {
	a.lines = [2]string{}
	for _, g := range a.given {
		if a.counts == nil {
			a.counts = &nonceCounts{}
		}
		cred, err := digest.Digest(g.challenge, digest.Options{
			Method: method, URI: uri, Username: a.username, Password: a.password,
			Count: a.counts.next(g.challenge.Nonce),
		})
		if err != nil {
			return false
		}
		a.lines[g.kind] += authHeaders[g.kind].credentials + ": " + cred.String() + "\r\n"
	}
	return true
}

// strongestChallenges picks, for each realm, the digest challenge with the strongest algorithm that
// we can answer with qop=auth or without qop (RFC 8760 §2.4, RFC 3261 §22.3).
func strongestChallenges(values []string) []*digest.Challenge {
	var best []*digest.Challenge
	for _, value := range values {
	challenges:
		for _, one := range splitChallenges(value) {
			c, err := digest.ParseChallenge(one)
			if err != nil || c.Nonce == "" {
				continue
			}
			auth := len(c.QOP) == 0
			for i := range c.QOP {
				c.QOP[i] = strings.ToLower(strings.TrimSpace(c.QOP[i]))
				auth = auth || c.QOP[i] == "auth"
			}
			if !auth || algorithmRank(c.Algorithm) == 0 {
				continue
			}
			for i, b := range best {
				if b.Realm == c.Realm {
					if algorithmRank(c.Algorithm) > algorithmRank(b.Algorithm) {
						best[i] = c
					}
					continue challenges
				}
			}
			if len(best) < maxRealms {
				best = append(best, c)
			}
		}
	}
	return best
}

func algorithmRank(algorithm string) int {
	switch strings.ToUpper(algorithm) {
	case "SHA-512-256":
		return 3
	case "SHA-256":
		return 2
	case "", "MD5":
		return 1
	}
	return 0
}

// splitChallenges splits a header value that holds several challenges:
// "Digest a=b, c=d, Digest e=f".
func splitChallenges(value string) []string {
	var out []string
	for _, element := range message.SplitList(value) {
		scheme, _, ok := strings.Cut(element, " ")
		starts := ok && !strings.ContainsAny(scheme, `="`)
		if starts || len(out) == 0 {
			out = append(out, element)
		} else {
			out[len(out)-1] += ", " + element
		}
	}
	return out
}
