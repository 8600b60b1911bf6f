package message

import (
	"reflect"
	"strings"
	"testing"
	"time"

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
		if got, _ := Q850(parseReason(value)); got != want {
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
		if got := ParseRetryAfter(value); got != want {
			t.Fatalf("%q: %v", value, got)
		}
	}
	f("", 0)
	f("soon", 0)
	f("-5", 0)
	f(" 18000;duration=3600", 5*time.Hour)
	f("120 (I'm in a meeting)", 2*time.Minute)
	f("99999999999999999999", MaxRetryAfter)
	f("99999999", MaxRetryAfter)
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

func TestAddrSpec(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := AddrSpec(in); got != want {
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
		if got := KeepsSession(before, []byte(offer)); got != want {
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
		if d := ParseRetryAfter(s); d < 0 || d > MaxRetryAfter {
			t.Fatal(d)
		}
		for _, e := range SplitList(s) {
			if strings.TrimSpace(e) == "" || len(AddrSpec(e)) > len(e) {
				t.Fatalf("%q", e)
			}
		}
		if _, _, ok := Followable(s); ok && strings.ContainsAny(s[:strings.IndexByte(s+"?", '?')], " \r\n\t<>") {
			t.Fatalf("followed %q", s)
		}
		if uri, replaces, ok := ReferTo(s); ok && strings.ContainsAny(uri+replaces, "\r\n") {
			t.Fatalf("%q %q", uri, replaces)
		}
		if n := deltaSeconds(s); n > MaxSessionSec {
			t.Fatal(n)
		}
		namesLimit(s)
		AnswerInDirection([]byte(s), []byte(s))
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
		if got := Attestation(r); got != want {
			t.Errorf("%q: %q, want %q", headers, got, want)
		}
	}
	f("")
	f("", "P-Asserted-Identity: <sip:+4930123@example.org>", "X-Account: attest")
	f("A", "P-Attestation-Indicator: A")
	f("TN-Validation-Passed-A", "P-Asserted-Identity: "+
		"<sip:+4930123@example.org;verstat=TN-Validation-Passed-A;user=phone>")
	f("No-TN-Validation", "P-Asserted-Identity: \"Acme\" <tel:+4930123;verstat=No-TN-Validation>")
	f("TN-Validation-Failed", "P-Asserted-Identity: <sip:+4930123;verstat=TN-Validation-Failed@example.org>")
	f("B", "X-Carrier-Attestation-Level:  B ")
	f("A", "X-Attest: C", "P-Attestation-Indicator: A")
	f("A"+strings.Repeat("x", 63), "X-Attest: A\x01"+strings.Repeat("x", 500))
}
