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
func (l *leg) failOver(r *sip.Response) bool {
	if r.StatusCode != 503 || (l.redirected != nil && (l.redirected.followed > 0 || l.redirected.failed >= maxFailOvers)) {
		return false
	}
	refused := message.Refusal(r)
	if refused.LimitReached {
		return false
	}
	l.s.net.Marks.Fail(l.to, refused.RetryAfter)
	here := l.to.Addr
	for len(l.spare) > 0 {
		to := l.spare[0]
		l.spare = l.spare[1:]
		if to.Addr == here {
			continue // UDP, where the length of the INVITE led to TCP first
		}
		if l.redirected == nil {
			l.redirected = &redirects{tried: []string{strings.ToLower(l.toURI)}}
		}
		l.redirected.failed++
		return l.inviteAt(l.requestURI(), to, refused)
	}
	return false
}
