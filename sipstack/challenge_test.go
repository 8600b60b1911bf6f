package sipstack

import (
	"strings"
	"testing"
)

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
	f("md5 other", md5, `Digest realm="proxy", nonce="other"`) // each realm wants its own (RFC 3261 §22.3)
	f("plain", `Digest realm="r",nonce="plain"`)
	f("md5", `Digest realm="r", nonce="x", algorithm=AKAv1-MD5`, md5)
	f("md5", `Digest realm="r", nonce="x", algorithm=SHA-256, qop="auth-int"`, md5) // a body hash is not offered
	f("", `Basic realm="r"`)
	f("", `Digest realm="r"`)
	f("", "")
}

// FuzzChallenges: a challenge that is chosen can be answered, whatever the header holds.
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
