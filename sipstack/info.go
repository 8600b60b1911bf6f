package sipstack

import (
	"strconv"
	"strings"
	"time"

	"dialler/engine"

	"github.com/emiago/sipgo/sip"
)

// infoDigit reads a digit from an INFO body: application/dtmf-relay
// ("Signal=5") or application/dtmf ("5"); 0 when there is none.
func infoDigit(r *sip.Request) byte {
	body := strings.TrimSpace(string(r.Body()))
	switch ct := contentType(r); {
	case strings.HasPrefix(ct, "application/dtmf-relay"):
		for line := range strings.Lines(body) {
			name, value, _ := strings.Cut(line, "=")
			if strings.EqualFold(strings.TrimSpace(name), "Signal") {
				return digit(strings.TrimSpace(value))
			}
		}
	case strings.HasPrefix(ct, "application/dtmf"):
		return digit(body)
	}
	return 0
}

// digit gives one of 0-9*#A-D, 0 when the text is none; 10 and 11 stand for
// star and pound in some gateways.
func digit(s string) byte {
	switch s {
	case "10":
		return '*'
	case "11":
		return '#'
	}
	if len(s) == 1 && strings.Contains("0123456789*#ABCD", strings.ToUpper(s)) {
		return strings.ToUpper(s)[0]
	}
	return 0
}

// SendDigit sends one key (0-9, *, #, A-D) of an answered leg in an INFO
// (application/dtmf-relay), after those that were given before it. It is false
// when the leg is not answered, the key is none, or too many keys wait.
func (s *Stack) SendDigit(id engine.LegID, key byte, duration time.Duration) bool {
	l := s.leg(id)
	if l == nil || digit(string(key)) == 0 {
		return false
	}
	l.mu.Lock()
	defer l.unlock()
	if l.phase != phaseConfirmed {
		return false
	}
	ms := min(max(duration.Milliseconds(), 40), 8000)
	return l.sendInTurn(&clientTx{method: sip.INFO, dlg: l.dlg, headers: "Content-Type: application/dtmf-relay\r\n",
		body: []byte("Signal=" + strings.ToUpper(string(key)) + "\r\nDuration=" + strconv.FormatInt(ms, 10) + "\r\n")})
}
