package message

import (
	"bytes"
	"io"
	"mime"
	"mime/multipart"
	"strings"

	"github.com/emiago/sipgo/sip"
)

// maxParts bounds how many parts of a multipart body are read.
const maxParts = 8

// sdpPart finds the SDP in a multipart body (RFC 5621 §3), in which gateways send it beside the
// ISUP of the far network. It returns nil when there is none.
func sdpPart(m sip.Message, body []byte) []byte {
	_, params, err := mime.ParseMediaType(HeaderValue(m, "content-type", "c"))
	if err != nil || params["boundary"] == "" {
		return nil
	}
	parts := multipart.NewReader(bytes.NewReader(body), params["boundary"])
	for range maxParts {
		p, err := parts.NextRawPart()
		if err != nil {
			return nil
		}
		if !strings.HasPrefix(strings.ToLower(strings.TrimSpace(p.Header.Get("Content-Type"))), "application/sdp") {
			continue
		}
		sdp, err := io.ReadAll(p)
		if err != nil || len(sdp) == 0 {
			return nil
		}
		return sdp
	}
	return nil
}

// SDPOf returns the body of a message if it is SDP, otherwise nil.
func SDPOf(m sip.Message) []byte {
	body := m.Body()
	if len(body) == 0 {
		return nil
	}
	switch ct := contentType(m); {
	case strings.HasPrefix(ct, "application/sdp"):
		return body
	case strings.HasPrefix(ct, "multipart/"):
		return sdpPart(m, body)
	}
	return nil
}

// contentType is in lower case and includes its parameters.
func contentType(m sip.Message) string {
	for _, name := range [...]string{"content-type", "c"} {
		if hs := m.GetHeaders(name); len(hs) > 0 {
			return strings.ToLower(strings.TrimSpace(hs[0].Value()))
		}
	}
	return ""
}
