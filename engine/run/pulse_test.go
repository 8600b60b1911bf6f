package run

import (
	"testing"
	"time"

	"dialler/engine"
)

// idle is a process with nothing to report.
type idle struct{}

func (idle) Draining() bool                               { return false }
func (idle) DatabaseAway() bool                           { return false }
func (idle) TrunksDown() bool                             { return false }
func (idle) Fenced() bool                                 { return false }
func (idle) CommitLate() time.Duration                    { return 0 }
func (idle) BotLate(engine.BotID) time.Duration           { return 0 }
func (idle) NeedsSeat(engine.PhoneNumber, time.Time) bool { return false }
func (idle) Carrier(engine.TrunkID) engine.Incarnation    { return 0 }
func (idle) Owned(engine.AttemptID) bool                  { return false }

func TestARunFeelsForHowLongItsMessagesWait(t *testing.T) {
	s := New("cmp", Config{})
	s.proc, s.boot = idle{}, engine.BootTime(time.Hour)
	var came []Pulse
	pulses := func(want int) {
		t.Helper()
		for _, e := range s.out {
			if p, ok := e.(SendPulse); ok {
				came = append(came, Pulse(p))
			}
		}
		s.out = nil
		if len(came) != want {
			t.Fatalf("%d pulses, want %d", len(came), want)
		}
	}
	late := func(want time.Duration) {
		t.Helper()
		if got := s.late().Mailbox; got != want {
			t.Fatalf("%v late, want %v", got, want)
		}
	}
	late(0)
	s.beat()
	pulses(1)
	s.boot = s.boot.Add(700 * time.Millisecond)
	late(700 * time.Millisecond)
	s.beat()
	pulses(1) // one is on its way
	s.felt(&came[0])
	late(700 * time.Millisecond)
	s.beat()
	pulses(2)
	s.felt(&came[1])
	late(0)
	s.beat()
	pulses(2) // it is too early for another
	s.boot = s.boot.Add(pulseEvery)
	s.beat()
	pulses(3)
}
