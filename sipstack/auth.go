package sipstack

import (
	"strings"

	"github.com/emiago/sipgo/sip"
	"github.com/icholy/digest"
)

// maxAuthTries bounds how often one request is sent again with credentials:
// once for the far side, once for a proxy before it, once for a stale nonce.
const maxAuthTries = 3

// authenticator holds the credentials of one leg's requests.
type authenticator struct {
	username, password string
	tries              int
	// lines are the credential headers of the present INVITE, index 0 for 401
	// and 1 for 407: an ACK of its 2xx repeats them (RFC 3261 §13.2.2.4).
	lines [2]string
	stale bool // a stale nonce was replaced once
	nonce string
	nc    int // nonce count of the last use of nonce (RFC 7616 §3.4)
}

// answer builds the credentials for a challenge of method and uri. ok is
// false when the challenge is a refusal: no credentials, no algorithm in
// common, or our credentials were turned down.
func (a *authenticator) answer(r *sip.Response, method, uri string) (ok bool) {
	if a.username == "" || a.tries >= maxAuthTries {
		return false
	}
	i, header, name := 0, "www-authenticate", "Authorization"
	if r.StatusCode == 407 {
		i, header, name = 1, "proxy-authenticate", "Proxy-Authorization"
	}
	var values []string
	for _, h := range r.GetHeaders(header) {
		values = append(values, h.Value())
	}
	c := strongestChallenge(values)
	if c == nil {
		return false
	}
	if a.lines[i] != "" {
		// A second challenge after we have answered means that the password
		// is wrong, unless the far side says that only the nonce was too old.
		if !c.Stale || a.stale {
			return false
		}
		a.stale = true
	}
	if c.Nonce == a.nonce {
		a.nc++
	} else {
		a.nonce, a.nc = c.Nonce, 1
	}
	cred, err := digest.Digest(c, digest.Options{
		Method: method, URI: uri, Username: a.username, Password: a.password, Count: a.nc,
	})
	if err != nil {
		return false
	}
	a.lines[i] = name + ": " + cred.String() + "\r\n"
	a.tries++
	return true
}

// strongestChallenge picks the digest challenge with the strongest algorithm
// that we can answer with qop=auth or without qop (RFC 8760 §2.4); nil when
// there is none.
func strongestChallenge(values []string) *digest.Challenge {
	var best *digest.Challenge
	bestRank := 0
	for _, value := range values {
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
			if rank := algorithmRank(c.Algorithm); auth && rank > bestRank {
				best, bestRank = c, rank
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
	for _, element := range splitList(value) {
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
