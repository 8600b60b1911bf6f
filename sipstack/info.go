package sipstack

import (
	"strconv"
	"strings"
	"time"

	"dialler/engine"
	"dialler/sipstack/message"

	"github.com/emiago/sipgo/sip"
)

// SendDigit sends one key (0-9, *, #, A-D) of an answered leg in an INFO
// (application/dtmf-relay), after those that were given before it. It is false
// when the leg is not answered, the key is none, or too many keys wait.
func (s *Stack) SendDigit(id engine.LegID, key byte, duration time.Duration) bool {
	l := s.leg(id)
	if l == nil || message.Digit(string(key)) == 0 {
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
