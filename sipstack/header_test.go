package sipstack

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"dialler/engine"

	"github.com/emiago/sipgo/sip"
)

func TestParseReason(t *testing.T) {
	f := func(value string, want ...reason) {
		t.Helper()
		if got := parseReason(value); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: %+v", value, got)
		}
	}
	f("")
	f("Q.850;cause=16", reason{"Q.850", 16, ""})
	f(`Q.850 ;cause=17 ;text="User busy, really; \"yes\""`, reason{"Q.850", 17, `User busy, really; "yes"`})
	f(`SIP;cause=480, Q.850;cause=18`, reason{"SIP", 480, ""}, reason{"Q.850", 18, ""})
	f("Q.850;cause=sixteen", reason{"Q.850", 0, ""})
	f(`Q.850;cause=-3;text="`, reason{"Q.850", 0, `"`})
}

func TestQ850IsTheFirstUsableCause(t *testing.T) {
	f := func(value string, want int) {
		t.Helper()
		if got, _ := q850(parseReason(value)); got != want {
			t.Fatalf("%q: %d", value, got)
		}
	}
	f("SIP;cause=480", 0)
	f("SIP;cause=480, q.850;cause=31", 31)
	f("Q.850;cause=0, Q.850;cause=128", 0)
}

func TestParseRetryAfter(t *testing.T) {
	f := func(value string, want time.Duration) {
		t.Helper()
		if got := parseRetryAfter(value); got != want {
			t.Fatalf("%q: %v", value, got)
		}
	}
	f("", 0)
	f("soon", 0)
	f("-5", 0)
	f(" 18000;duration=3600", 5*time.Hour)
	f("120 (I'm in a meeting)", 2*time.Minute)
	f("99999999999999999999", maxRetryAfter)
	f("99999999", maxRetryAfter)
}

func TestNamesLimit(t *testing.T) {
	f := func(text string, want bool) {
		t.Helper()
		if got := namesLimit(text); got != want {
			t.Fatalf("%q: %v", text, got)
		}
	}
	f("Service Unavailable", false)
	f("Temporarily unavailable, ask the operator", false)
	f("Retry limit", false)
	f("CPS limit", true)
	f("Call rate exceeded", true)
	f("Concurrent call cap", true)
	f("No channels available", true)
	f("Too many calls", true)
	f("Maximum sessions", true)
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
	f("md5 other", md5, `Digest realm="proxy", nonce="other"`) // each realm wants its own (RFC 3261 §22.3)
	f("plain", `Digest realm="r",nonce="plain"`)
	f("md5", `Digest realm="r", nonce="x", algorithm=AKAv1-MD5`, md5)
	f("md5", `Digest realm="r", nonce="x", algorithm=SHA-256, qop="auth-int"`, md5) // a body hash is not offered
	f("", `Basic realm="r"`)
	f("", `Digest realm="r"`)
	f("", "")
}

func TestAddrSpec(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := addrSpec(in); got != want {
			t.Fatalf("%q: %q", in, got)
		}
	}
	f("<sip:a@b;transport=tcp>;expires=3", "sip:a@b;transport=tcp")
	f(`"x <y>" <sip:a@b>`, "sip:a@b")
	f("sip:a@b;tag=1", "sip:a@b")
	f("<sip:a@b", "")
	f("", "")
}

func TestHoldKeepsTheSession(t *testing.T) {
	before := []byte("v=0\r\nc=IN IP4 1.2.3.4\r\nm=audio 4000 RTP/AVP 0\r\n")
	f := func(offer string, want bool) {
		t.Helper()
		if got := keepsSession(before, []byte(offer)); got != want {
			t.Fatalf("%q: %v", offer, got)
		}
	}
	f("v=0\r\nc=IN IP4 1.2.3.4\r\nm=audio 4000 RTP/AVP 0\r\na=sendonly\r\n", true)
	f("v=0\nm=audio 4000 RTP/AVP 0\nc=IN IP4 1.2.3.4\n", true)
	f("v=0\r\nc=IN IP4 0.0.0.0\r\nm=audio 4000 RTP/AVP 0\r\n", true)
	f("v=0\r\nc=IN IP4 1.2.3.5\r\nm=audio 4000 RTP/AVP 0\r\n", false)
	f("v=0\r\nc=IN IP4 1.2.3.4\r\nm=audio 4002 RTP/AVP 0\r\n", false)
	f("v=0\r\nc=IN IP4 1.2.3.4\r\nm=audio 4000 RTP/AVP 8\r\n", false)
}

func TestCancelBeforeTheInviteIsWritten(t *testing.T) {
	s, err := New(Config{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	s.SetTrunk(TrunkConfig{ID: "t", Host: "127.0.0.1", Port: 9, OptionsInterval: -1})
	var got []engine.LegEvent
	l := s.newLeg("leg", "attempt", s.trunk("t"), func(e engine.LegEvent) { got = append(got, e) })
	l.sendBy = BootNow().Add(time.Minute)
	s.add(l)
	if out := s.CancelLeg("leg"); out != engine.CancelNotSent {
		t.Fatal(out)
	}
	l.mu.Lock()
	l.begin(s.trunk("t").targets())
	l.unlock()
	if len(got) != 1 || got[0].NotSent != engine.NotSentCancelled || s.Stats().InvitesSent != 0 {
		t.Fatalf("%+v", got)
	}
	if out := s.CancelLeg("leg"); out != engine.CancelNotSent {
		t.Fatal(out)
	}
}

func FuzzHeaderValues(f *testing.F) {
	for _, s := range []string{
		`Q.850;cause=16;text="a,b\"c"`, "120 (x);duration=1", `"A, B" <sip:a@b;lr>;q=1, <sip:c@d>`,
		`Digest realm="r", nonce="n", qop="auth", Digest realm="s"`, `"\`, `<`, `,;,`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range parseReason(s) {
			if r.cause < 0 || r.cause > 999 {
				t.Fatalf("%+v", r)
			}
		}
		if d := parseRetryAfter(s); d < 0 || d > maxRetryAfter {
			t.Fatal(d)
		}
		for _, e := range splitList(s) {
			if strings.TrimSpace(e) == "" || len(addrSpec(e)) > len(e) {
				t.Fatalf("%q", e)
			}
		}
		for _, c := range strongestChallenges([]string{s}) {
			if c.Nonce == "" {
				t.Fatalf("%+v", c)
			}
		}
		if _, _, ok := followable(s); ok && strings.ContainsAny(s[:strings.IndexByte(s+"?", '?')], " \r\n\t<>") {
			t.Fatalf("followed %q", s)
		}
		if uri, replaces, ok := referTo(s); ok && strings.ContainsAny(uri+replaces, "\r\n") {
			t.Fatalf("%q %q", uri, replaces)
		}
		if n := deltaSeconds(s); n > maxSessionSec {
			t.Fatal(n)
		}
		namesLimit(s)
		answerInDirection([]byte(s), []byte(s))
	})
}

func TestTheNetworksWordOnTheCallerIDIsRead(t *testing.T) {
	f := func(want string, headers ...string) {
		t.Helper()
		r := sip.NewResponse(180, "Ringing")
		for _, h := range headers {
			name, value, _ := strings.Cut(h, ": ")
			r.AppendHeader(sip.NewHeader(name, value))
		}
		if got := attestation(r); got != want {
			t.Errorf("%q: %q, want %q", headers, got, want)
		}
	}
	f("")
	f("", "P-Asserted-Identity: <sip:+4930123@example.org>", "X-Account: attest")
	f("A", "P-Attestation-Indicator: A")
	f("TN-Validation-Passed-A", "P-Asserted-Identity: <sip:+4930123@example.org;verstat=TN-Validation-Passed-A;user=phone>")
	f("No-TN-Validation", "P-Asserted-Identity: \"Acme\" <tel:+4930123;verstat=No-TN-Validation>")
	f("TN-Validation-Failed", "P-Asserted-Identity: <sip:+4930123;verstat=TN-Validation-Failed@example.org>")
	f("B", "X-Carrier-Attestation-Level:  B ")
	f("A", "X-Attest: C", "P-Attestation-Indicator: A")
	f("A"+strings.Repeat("x", 63), "X-Attest: A\x01"+strings.Repeat("x", 500))
}
