package carrier

import (
	"bytes"
	"crypto/md5" //nolint:gosec // RFC 3261 §22.4 demands it
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Credentials of digest authentication (RFC 3261 §22, RFC 8760).
type Credentials struct {
	Username string `json:"username"`
	Password string `json:"password"`
	Realm    string `json:"realm,omitempty"` // default "carrier"
	// Algorithms are offered in this order, one challenge each: "MD5",
	// "SHA-256" (default MD5).
	Algorithms []string `json:"algorithms,omitempty"`
	// WWW challenges with 401 WWW-Authenticate instead of 407.
	WWW bool `json:"www,omitempty"`
	// Stale answers the first valid credentials of every call with stale=true and a new nonce.
	Stale bool `json:"stale,omitempty"`
	// ByeToo demands credentials for BYE and re-INVITE as well.
	ByeToo bool `json:"bye_too,omitempty"`
}

type verdict int

const (
	authMissing verdict = iota
	authGranted
	authWrong
	authStale    // correct, but with a stale nonce
	authReplayed // its nonce count did not increase
)

func (c *Credentials) validate() error {
	if c == nil {
		return nil
	}
	if c.Username == "" || c.Password == "" {
		return errors.New("credentials: give username and password")
	}
	for _, a := range c.Algorithms {
		if a != "MD5" && a != "SHA-256" {
			return fmt.Errorf("credentials: algorithm %q is unknown; use MD5 or SHA-256", a)
		}
	}
	return nil
}

func (c *Credentials) code() int {
	if c.WWW {
		return 401
	}
	return 407
}

func (c *Credentials) realm() string {
	if c.Realm == "" {
		return "carrier"
	}
	return c.Realm
}

// challengeHeaders returns one line per algorithm (RFC 8760 §2.4).
func challengeHeaders(cred *Credentials, nonce string, stale bool) string {
	name := "Proxy-Authenticate"
	if cred.WWW {
		name = "WWW-Authenticate"
	}
	algorithms := cred.Algorithms
	if len(algorithms) == 0 {
		algorithms = []string{"MD5"}
	}
	var b strings.Builder
	for _, a := range algorithms {
		b.WriteString(name + `: Digest realm="` + cred.realm() + `", nonce="` + nonce + `", algorithm=` + a + `, qop="auth"`)
		if stale {
			b.WriteString(", stale=true")
		}
		b.WriteString("\r\n")
	}
	return b.String()
}

// verify computes the digest (RFC 2617 §3.2.2, RFC 7616 §3.4.1).
func verify(cred *Credentials, m *message, nonce string, used uint64) verdict {
	if len(m.auth) == 0 {
		return authMissing
	}
	p := digestParams(m.auth)
	if p["nonce"] != nonce {
		return authStale
	}
	sum := func(s string) string {
		if strings.EqualFold(p["algorithm"], "SHA-256") {
			h := sha256.Sum256([]byte(s))
			return hex.EncodeToString(h[:])
		}
		h := md5.Sum([]byte(s)) //nolint:gosec // see above
		return hex.EncodeToString(h[:])
	}
	ha1 := sum(cred.Username + ":" + cred.realm() + ":" + cred.Password)
	ha2 := sum(m.method + ":" + p["uri"])
	want := sum(ha1 + ":" + nonce + ":" + p["nc"] + ":" + p["cnonce"] + ":" + p["qop"] + ":" + ha2)
	if p["qop"] == "" {
		want = sum(ha1 + ":" + nonce + ":" + ha2)
	}
	if p["username"] != cred.Username || p["realm"] != cred.realm() ||
		subtle.ConstantTimeCompare([]byte(want), []byte(p["response"])) != 1 {
		return authWrong
	}
	if p["qop"] != "" {
		nc, err := strconv.ParseUint(p["nc"], 16, 32)
		if err != nil || len(p["nc"]) != 8 || nc <= used {
			return authReplayed
		}
	}
	return authGranted
}

// digestParams parses the parameters of an Authorization value.
func digestParams(b []byte) map[string]string {
	if scheme, rest, ok := bytes.Cut(b, []byte(" ")); ok && bytes.EqualFold(scheme, []byte("Digest")) {
		b = rest
	}
	out := map[string]string{}
	for _, one := range splitList(nil, b) {
		key, value, _ := bytes.Cut(one, []byte("="))
		out[strings.ToLower(string(bytes.TrimSpace(key)))] = string(bytes.Trim(bytes.TrimSpace(value), `"`))
	}
	return out
}
