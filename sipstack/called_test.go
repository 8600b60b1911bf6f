package sipstack_test

import (
	"testing"

	"dialler/engine"
	"dialler/sipstack"

	"github.com/emiago/sipgo/sip"
)

// Whoever places it, a second call to a number does not leave while the first is live; the next leg
// of the same attempt, and a transfer to the number, do.
func TestNoSecondCallLeavesWhileTheFirstLives(t *testing.T) {
	u := script{sip.INVITE: answers("200 OK"), sip.BYE: answers("200 OK")}.start(t)
	s := newStack(t, sipstack.Config{Timers: wide, OneCall: true})
	setTrunk(s, u.port(), nil)
	l := listen(t, confirming(s, false))
	a, leg := newLeg()
	cmd := placeCommand(a, leg)
	s.PlaceLeg(cmd, l.sink)
	l.kind(leg, engine.LegAnswered)
	if !s.Calling(cmd.To) || s.Calling("+4940") {
		t.Error("it is not known who is called")
	}
	b, other := newLeg()
	s.PlaceLeg(placeCommand(b, other), l.sink)
	if e := l.expect(other, "not_sent")[0]; e.NotSent != engine.NotSentHeld {
		t.Errorf("%+v", e)
	}
	s.PlaceLeg(placeCommand(a, a.Leg(2)), l.sink)
	l.kind(a.Leg(2), engine.LegAnswered)
	s.HangUpLeg(a.Leg(2), engine.HangUpCause{Q850: 16})
	l.end(a.Leg(2))
	if !s.Calling(cmd.To) {
		t.Error("its second leg was not the only one")
	}
	s.HangUpLeg(leg, engine.HangUpCause{Q850: 16})
	l.end(leg)
	if s.Calling(cmd.To) {
		t.Error("nobody is called")
	}
	s.PlaceLeg(placeCommand(b, b.Leg(1)), l.sink) // known: not sent
	c, third := newLeg()
	s.PlaceLeg(placeCommand(c, third), l.sink)
	l.kind(third, engine.LegAnswered)
}
