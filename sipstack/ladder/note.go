package ladder

import (
	"strings"

	"dialler/sipstack/message"

	"github.com/emiago/sipgo/sip"
)

// noteOf returns the contents of a message that explain it.
func noteOf(m sip.Message) string {
	sdp := len(m.Body()) > 0
	var parts []string
	for _, h := range message.HeadersOf(m) {
		name := h.Name()
		title := noted(name)
		switch {
		case title == "":
		case title == "challenge":
			parts = append(parts, title)
		case title == "Content-Type":
			if ct, _, _ := strings.Cut(strings.ToLower(h.Value()), ";"); sdp && ct != "application/sdp" {
				sdp = false
				parts = append(parts, "body "+message.Clean(message.Truncate(ct, 40)))
			}
		default:
			parts = append(parts, title+": "+message.Clean(message.Truncate(h.Value(), 60)))
		}
	}
	switch {
	case sdp && len(parts) == 0:
		return "SDP"
	case sdp:
		parts = append([]string{"SDP"}, parts...)
	case len(parts) == 0:
		return ""
	}
	return message.Truncate(strings.Join(parts, ", "), maxNote)
}

// noted returns the title of a header that goes into a note, "" for others. The length is checked
// first, because this runs for every header of every message.
func noted(name string) string {
	for _, title := range notedByLength[min(len(name), len(notedByLength)-1)] {
		if strings.EqualFold(name, title) {
			if strings.HasSuffix(title, "uthenticate") {
				return "challenge"
			}
			if title == "c" {
				return "Content-Type"
			}
			return title
		}
	}
	return ""
}

// notedByLength are the explanatory headers by name length; the last entry is for all longer ones.
var notedByLength = func() (t [20][]string) {
	for _, n := range [...]string{
		"c", "Content-Type", "Reason", "Retry-After", "Warning", "Require", "Unsupported", "Session-Expires",
		"Min-SE", "Min-Expires", "WWW-Authenticate", "Proxy-Authenticate",
	} {
		t[len(n)] = append(t[len(n)], n)
	}
	return t
}()
