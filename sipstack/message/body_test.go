package message

import (
	"strings"
	"testing"

	"github.com/emiago/sipgo/sip"
)

func TestTheSDPOfAMultipartBodyIsFound(t *testing.T) {
	message := func(contentType, body string) sip.Message {
		t.Helper()
		r := sip.NewResponse(200, "OK")
		r.AppendHeader(sip.NewHeader("Content-Type", contentType))
		r.SetBody([]byte(strings.ReplaceAll(body, "\n", "\r\n")))
		return r
	}
	const isup = "--Xy\nContent-Type: application/isup\nContent-Disposition: signal\n\n\x01\x02\n"
	const sdp = "--Xy\ncontent-type: Application/SDP\n\nv=0\nm=audio 4000 RTP/AVP 0\n\n--Xy--\n"
	const found = "v=0\r\nm=audio 4000 RTP/AVP 0\r\n"
	for _, c := range []struct{ contentType, body, want string }{
		{`multipart/mixed;boundary=Xy`, isup + sdp, found},
		{`Multipart/Mixed; boundary="Xy"`, sdp, found},
		{`multipart/mixed;boundary=Xy`, "a preamble\n" + isup + sdp + "an epilogue", found},
		{`multipart/mixed;boundary=xy`, isup + sdp, ""}, // it is case-sensitive
		{`multipart/mixed`, sdp, ""},
		{`multipart/mixed;boundary=Xy`, isup + "--Xy--\n", ""},
		{`multipart/mixed;boundary=Xy`, strings.Repeat(isup, maxParts) + sdp, ""},
		{`multipart/mixed;boundary=Xy`, "", ""},
	} {
		if got := string(SDPOf(message(c.contentType, c.body))); got != c.want {
			t.Errorf("%s %q: got %q, want %q", c.contentType, c.body, got, c.want)
		}
	}
}
