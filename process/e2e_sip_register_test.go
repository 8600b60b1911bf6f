package process

import (
	"testing"
	"time"

	"dialler/sipstack"
)

var asRegistered = map[string]any{"kind": "registered", "username": alice, "password": alicesPassword}

// registered waits until the registrar has our address for longer than the first 2 s that some of
// its scenarios grant.
func registered(c *sipCall) {
	c.t.Helper()
	eventually(c.t, "the trunk is registered", func() bool {
		for _, r := range c.p.sip.Registrations() {
			if r.Registered && time.Until(r.Until) > time.Minute {
				return true
			}
		}
		return false
	})
}

func TestATrunkRegistersAndCallsWhileItIsRegistered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 200*time.Millisecond)
	var cases []sipCase
	for _, file := range []string{"register", "register-423", "register-refresh", "register-others"} {
		cases = append(cases, sipCase{file: file, trunk: asRegistered, requests: "INVITE ACK BYE", want: servedRow,
			before: registered})
	}
	w.run(cases)
}

func TestATrunkThatMayNotRegisterTakesNoCall(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{timers: sipstack.Timers{RegisterRetry: 100 * time.Millisecond}}, 0)
	s := play(t, &sipCase{file: "register-403"})
	w.trunk("refused", "127.0.0.1", s.port, asRegistered)
	eventually(t, "the registrar's refusal is shown", func() bool {
		for _, r := range w.p.sip.Registrations() {
			if !r.Registered && r.Code == 403 {
				return true
			}
		}
		return false
	})
	eventually(t, "it takes no call", func() bool {
		r := w.crm("POST", "/api/v1/sip/dialout", map[string]any{"bot_id": ourBot, "to_number": newNumber()})
		return r.status == 503 && r.code() == "no_capacity"
	})
	s.satisfied() // it received two requests
	if n := w.rows("attempts"); n != 0 {
		t.Errorf("%d attempts", n)
	}
}
