package sipstack

import (
	"strings"

	"dialler/sipstack/message"

	"github.com/emiago/sipgo/sip"
)

// failOver sends the INVITE to the next address of the trunk's name after a
// 503: a final refusal, so that nothing rings (RFC 3263 §4.3). A 503 that names
// a limit on calls speaks for the carrier, not for the one server. False: the
// response is the leg's end.
func (v *invitation) failOver(r *sip.Response) bool {
	if r.StatusCode != 503 || (v.redirected != nil && (v.redirected.followed > 0 || v.redirected.failed >= maxFailOvers)) {
		return false
	}
	refused := message.Refusal(r)
	if refused.LimitReached {
		return false
	}
	v.leg.s.net.Marks.Fail(v.to, refused.RetryAfter)
	here := v.to.Addr
	for len(v.spare) > 0 {
		to := v.spare[0]
		v.spare = v.spare[1:]
		if to.Addr == here {
			continue // UDP, where the length of the INVITE led to TCP first
		}
		if v.redirected == nil {
			v.redirected = &redirects{tried: []string{strings.ToLower(v.leg.parties.toURI)}}
		}
		v.redirected.failed++
		return v.inviteAt(v.requestURI(), to, refused)
	}
	return false
}
