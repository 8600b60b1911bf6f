package sipstack_test

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/sipstack"

	"github.com/emiago/sipgo/sip"
)

// A message that does not answer our OPTIONS (RFC 3261 §7.1, §17.1.3) does not show that the trunk
// is alive.
func TestAnAnswerOfAnotherTransactionOrVersionIsNoSignOfLife(t *testing.T) {
	for _, change := range []struct{ what, from, to string }{
		{"branch", "branch=", "branch=x"},
		{"version", "SIP/2.0 200", "SIP/9.9 200"},
		{"code", "SIP/2.0 200", "SIP/2.0 999"},
		{"Call-ID", "Call-ID: ", "Call-ID: x"},
	} {
		t.Run(change.what, func(t *testing.T) {
			s := newStack(t, sipstack.Config{Timers: sipstack.Timers{T1: 5 * time.Millisecond}})
			u := newUAS(t, func(u *uas, m sip.Message, from netip.AddrPort) {
				if r, ok := m.(*sip.Request); ok {
					text := "SIP/2.0 200 OK\r\n"
					for _, name := range []string{"Via", "From", "To", "Call-ID", "CSeq"} {
						text += name + ": " + r.GetHeader(name).Value() + "\r\n"
					}
					u.send(from, strings.Replace(text, change.from, change.to, 1)+"Content-Length: 0\r\n\r\n")
				}
			})
			setTrunk(s, u.port(), func(c *sipstack.TrunkConfig) { c.OptionsInterval = time.Hour })
			eventually(t, "it stays unproven", func() bool {
				h := s.Health()[0]
				if h.Life != engine.TrunkUnproven {
					t.Fatalf("%+v", h)
				}
				return h.Reason == "no reply to OPTIONS"
			})
		})
	}
}
