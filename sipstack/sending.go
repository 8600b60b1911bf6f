package sipstack

import (
	"dialler/engine"
	"dialler/sipstack/transport"

	"github.com/emiago/sipgo/sip"
)

// write sends a message of the leg and notes it. The leg is locked.
func (l *leg) write(to transport.Target, b []byte) error {
	err := l.s.net.Write(to, b)
	if err == nil {
		l.ladder.Sent(l.s.clock.Now(), b, to.Addr)
	}
	return err
}

// respond answers a request of the far side in the leg's dialog. The leg is
// locked.
func (l *leg) respond(r *sip.Request, src transport.Target, code int, phrase, headers string, sdp []byte) (data []byte, to transport.Target) {
	data, to = l.s.respond(r, src, code, phrase, headers, sdp)
	l.ladder.Answered(l.s.clock.Now(), r, src.Addr, code, phrase, len(sdp) > 0)
	return data, to
}

// Ladder lists the messages of an attempt's legs that are still known here, in
// the order in which they crossed the socket.
func (s *Stack) Ladder(a engine.AttemptID) []engine.SIPMessage {
	var out []engine.SIPMessage
	for _, l := range s.ofAttempt(a) {
		l.mu.Lock()
		out = append(out, l.ladder.Messages(l.s.clock, l.id)...)
		l.mu.Unlock()
	}
	return out
}
