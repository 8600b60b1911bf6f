package auth

import (
	"strings"
	"testing"

	"github.com/emiago/sipgo/sip"
)

// FuzzChallenge checks that, whatever a far side challenges us with, our credentials are one header
// line per realm and nothing else, they do not reveal the password, and the challenges come to an
// end.
func FuzzChallenge(f *testing.F) {
	for _, s := range []string{
		`Digest realm="r", nonce="n", qop="auth,auth-int", algorithm=SHA-256, opaque="o"`,
		`Digest realm="a\"b", nonce="n\\", algorithm=MD5-sess`,
		`Digest realm="r",nonce="n", Digest realm="s",nonce="n",stale=true, Basic realm="x"`,
		"Digest realm=\"r\r\nX: y\", nonce=\"n\", opaque=\"\x00\"", `Digest nonce=n,qop=auth,realm=`,
		`Digest realm="r", nonce="n", domain="sip:a b", charset=UTF-8, userhash=true`,
	} {
		f.Add(s, `Digest realm="p", nonce="m"`, true)
		f.Add(s, s, false)
	}
	f.Fuzz(func(t *testing.T, first, second string, proxy bool) {
		if len(first)+len(second) > 8192 {
			return
		}
		a := Credentials{username: "u", password: "geheim-4711"}
		code := 401
		if proxy {
			code = 407
		}
		for answered := 0; ; answered++ {
			if answered > maxAuthTries {
				t.Fatal("asked again and again, and answered")
			}
			r := sip.NewResponse(code, "Who")
			r.AppendHeader(sip.NewHeader("WWW-Authenticate", first))
			r.AppendHeader(sip.NewHeader("Proxy-Authenticate", second))
			if !a.Answer(r, "INVITE", "sip:x@y") {
				break
			}
			for kind, lines := range a.lines {
				if lines == "" {
					continue
				}
				for line := range strings.SplitSeq(strings.TrimSuffix(lines, "\r\n"), "\r\n") {
					if !strings.HasPrefix(line, authHeaders[kind].credentials+": Digest ") ||
						strings.ContainsAny(line, "\r\n\x00") {
						t.Fatalf("%q and %q are answered with %q", first, second, lines)
					}
				}
				if strings.Count(lines, "\r\n") > maxRealms || strings.Contains(lines, a.password) &&
					!strings.Contains(first+second, a.password) {
					t.Fatalf("%q and %q are answered with %q", first, second, lines)
				}
			}
		}
	})
}

func TestStrongestChallengeWins(t *testing.T) {
	f := func(want string, values ...string) {
		t.Helper()
		var got []string
		for _, c := range strongestChallenges(values) {
			got = append(got, c.Nonce)
		}
		if strings.Join(got, " ") != want {
			t.Fatalf("%q: %q, want %q", values, got, want)
		}
	}
	md5 := `Digest realm="r", nonce="md5", algorithm=MD5, qop="auth, auth-int"`
	sha := `Digest realm="r", nonce="sha", algorithm=SHA-256, qop="auth"`
	f("md5", md5)
	f("sha", md5, sha)
	f("sha", sha, md5)
	f("sha", md5+", "+sha)
	f("md5 other", md5, `Digest realm="proxy", nonce="other"`) // each realm needs its own (RFC 3261 §22.3)
	f("plain", `Digest realm="r",nonce="plain"`)
	f("md5", `Digest realm="r", nonce="x", algorithm=AKAv1-MD5`, md5)
	f("md5", `Digest realm="r", nonce="x", algorithm=SHA-256, qop="auth-int"`, md5) // a body hash is not offered
	f("", `Basic realm="r"`)
	f("", `Digest realm="r"`)
	f("", "")
}

// FuzzChallenges checks that a chosen challenge can be answered, whatever the header contains.
func FuzzChallenges(f *testing.F) {
	for _, s := range []string{
		`Q.850;cause=16;text="a,b\"c"`, "120 (x);duration=1", `"A, B" <sip:a@b;lr>;q=1, <sip:c@d>`,
		`Digest realm="r", nonce="n", qop="auth", Digest realm="s"`, `"\`, `<`, `,;,`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, c := range strongestChallenges([]string{s}) {
			if c.Nonce == "" {
				t.Fatalf("%+v", c)
			}
		}
	})
}
