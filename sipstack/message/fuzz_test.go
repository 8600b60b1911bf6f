package message

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/emiago/sipgo/sip"
)

// FuzzResponseHeaders checks that whatever is read from a response is bounded and could be put into
// a header of ours, whatever its headers and body contain.
func FuzzResponseHeaders(f *testing.F) {
	for _, s := range [][3]string{
		{"Contact", "<sip:a@b;transport=tcp>;q=0.7, \"x,y\" <sip:c@d>;q=1, sip:e@f;q=2", "v=0\r\n"},
		{"Session-Expires", "4294967295;refresher=uas;refresher=uac", ""},
		{"Content-Type", "multipart/mixed;boundary=x", "--x\r\nContent-Type: application/sdp\r\n\r\nv=0\r\n--x--\r\n"},
		{"P-Asserted-Identity", "<sip:+1@h;verstat=TN-Validation-Passed>", ""},
		{"RSeq", "2147483648", ""}, {"Min-SE", "90;x", ""}, {"Reason", "Q.850;cause=127;text=\"\\\"\"", ""},
		{"Record-Route", "<sip:p1;lr>,<sip:p2>", ""}, {"Warning", "399 h \"call limit exceeded\"", ""},
		{"Min-Expires", "-1", ""}, {"X-My-Attest", strings.Repeat("é", 40), ""},
	} {
		f.Add(s[0], s[1], []byte(s[2]))
	}
	f.Fuzz(func(t *testing.T, name, value string, body []byte) {
		if len(name)+len(value) > 65535 {
			return
		}
		r := sip.NewResponse(503, "Service Unavailable")
		r.AppendHeader(sip.NewHeader("Require", "100rel"))
		r.AppendHeader(sip.NewHeader(name, value))
		r.SetBody(body)
		if uris := ContactsByQ(r); len(uris) > MaxContacts {
			t.Fatalf("%d Contacts", len(uris))
		}
		if sec, refresher := SessionExpires(r); sec > MaxSessionSec ||
			!slices.Contains([]string{"", "uac", "uas"}, refresher) {
			t.Fatalf("%d s, refresher %q", sec, refresher)
		}
		if n := RSeqOf(r); n > 1<<31-1 {
			t.Fatalf("RSeq %d", n)
		}
		if a := Attestation(r); len(a) > maxAttestation || Clean(a) != a || utf8.ValidString(value) &&
			!utf8.ValidString(a) {
			t.Fatalf("%q says %q", value, a)
		}
		if n := MinSEOf(r); n > MaxSessionSec {
			t.Fatal(n)
		}
		if n, ok := ParseSeconds(value); ok && n < 0 {
			t.Fatal(n)
		}
		if sdp := SDPOf(r); len(sdp) > len(body) {
			t.Fatalf("%d bytes of SDP of %d", len(sdp), len(body))
		}
		e := Refusal(r)
		if cause := e.Q850; cause < 0 || cause > 127 || e.RetryAfter < 0 || e.RetryAfter > MaxRetryAfter {
			t.Fatalf("%+v", e)
		}
		for _, route := range ListOf(r, "record-route") {
			if strings.TrimSpace(route) == "" {
				t.Fatalf("%q has an empty route", value)
			}
		}
		r.SetBody(nil)
		q := sip.NewRequest(sip.INFO, sip.Uri{Scheme: "sip", Host: "h"})
		q.AppendHeader(sip.NewHeader("Content-Type", value))
		q.SetBody(body)
		if d := InfoDigit(q); d != 0 && Digit(string(d)) != d {
			t.Fatalf("the digit %q", d)
		}
	})
}
