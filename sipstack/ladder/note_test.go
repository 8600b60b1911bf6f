package ladder

import (
	"strings"
	"testing"

	"github.com/emiago/sipgo/sip"
)

// FuzzNote checks that the ladder keeps a bounded amount of a message, whatever its headers and its
// body contain.
func FuzzNote(f *testing.F) {
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
		if note := noteOf(r); len(note) > maxNote {
			t.Fatalf("a note of %d bytes", len(note))
		}
	})
}
