package sipstack

import (
	"strings"
	"testing"

	"github.com/emiago/sipgo/sip"
)

// FuzzChallenge: whatever a far side asks to be answered, our credentials are
// a header line for each realm and nothing else, they tell the password to
// nobody, and there is an end of asking.
func FuzzChallenge(f *testing.F) {
	for _, s := range []string{
		`Digest realm="r", nonce="n", qop="auth,auth-int", algorithm=SHA-256, opaque="o"`,
		`Digest realm="a\"b", nonce="n\\", algorithm=MD5-sess`, `Digest realm="r",nonce="n", Digest realm="s",nonce="n",stale=true, Basic realm="x"`,
		"Digest realm=\"r\r\nX: y\", nonce=\"n\", opaque=\"\x00\"", `Digest nonce=n,qop=auth,realm=`, `Digest realm="r", nonce="n", domain="sip:a b", charset=UTF-8, userhash=true`,
	} {
		f.Add(s, `Digest realm="p", nonce="m"`, true)
		f.Add(s, s, false)
	}
	f.Fuzz(func(t *testing.T, first, second string, proxy bool) {
		if len(first)+len(second) > 8192 {
			return
		}
		a := authenticator{username: "u", password: "geheim-4711"}
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
			if !a.answer(r, "INVITE", "sip:x@y") {
				break
			}
			for kind, lines := range a.lines {
				if lines == "" {
					continue
				}
				for line := range strings.SplitSeq(strings.TrimSuffix(lines, "\r\n"), "\r\n") {
					if !strings.HasPrefix(line, authHeaders[kind].credentials+": Digest ") || strings.ContainsAny(line, "\r\n\x00") {
						t.Fatalf("%q and %q are answered with %q", first, second, lines)
					}
				}
				if strings.Count(lines, "\r\n") > maxRealms || strings.Contains(lines, a.password) && !strings.Contains(first+second, a.password) {
					t.Fatalf("%q and %q are answered with %q", first, second, lines)
				}
			}
		}
	})
}
