package leg

import (
	"strings"

	"dialler/sipstack/message"

	"github.com/emiago/sipgo/sip"
)

// capabilities are the header lines of a response to OPTIONS, apart from Allow.
const capabilities = "Accept: application/sdp, application/dtmf-relay, application/dtmf\r\nSupported: 100rel, timer\r\n"

// notSupported is the refusal of a method that we do not support.
func notSupported(m sip.RequestMethod) (code int, phrase, headers string) {
	switch m {
	case sip.SUBSCRIBE:
		return 489, "Bad Event", "Allow-Events: refer\r\n"
	case sip.REGISTER, sip.NOTIFY, sip.REFER, sip.MESSAGE, sip.PUBLISH:
		return 405, "Method Not Allowed", ""
	default:
		return 501, "Not Implemented", ""
	}
}

// unsupported lists the option tags that a request requires and we do not support.
func unsupported(r *sip.Request, timer bool) string {
	if r.Method == sip.CANCEL || r.Method == sip.ACK {
		return ""
	}
	var out []string
	for _, h := range r.GetHeaders("require") {
		for _, tag := range message.SplitList(h.Value()) {
			if !strings.EqualFold(tag, "100rel") && (!timer || !strings.EqualFold(tag, "timer")) {
				out = append(out, message.Clean(tag))
			}
		}
	}
	return strings.Join(out, ", ")
}

const declined = "Decline"
