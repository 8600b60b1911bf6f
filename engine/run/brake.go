package run

import (
	"time"

	"dialler/engine/pacing"
)

// pulseEvery is how often a run sends itself a message to measure its mailbox delay.
const pulseEvery = 50 * time.Millisecond

// beat sends the next pulse when it is due.
func (s *Pacer) beat() {
	if p, now := &s.Pace.Pulses, s.boot; !p.OnItsWay && time.Duration(now-p.Sent) >= pulseEvery {
		p.Sent, p.OnItsWay = now, true
		s.emit(SendPulse{now})
	}
}

// brakedNow makes the run check again soon: nothing else may happen that would wake it.
func (s *Pacer) brakedNow() {
	if p, now := &s.Pace.Pulses, s.boot; now >= p.CheckAt {
		p.CheckAt = now.Add(pulseEvery)
		s.later(pulseEvery, &woken{})
	}
}

// felt handles a pulse that arrived.
func (s *Pacer) felt(m *Pulse) {
	if p := &s.Pace.Pulses; m.At == p.Sent {
		p.OnItsWay, p.Took = false, time.Duration(s.boot-m.At)
	}
}

// late is how far the dialler is behind with the calls of this campaign.
func (s *Pacer) late() pacing.Late {
	p, now := &s.Pace.Pulses, s.boot
	l := pacing.Late{Commit: s.proc.CommitLate(), Bot: s.proc.BotLate(s.M.C.Settings.Bot), Mailbox: p.Took}
	if p.OnItsWay {
		l.Mailbox = max(l.Mailbox, time.Duration(now-p.Sent))
	}
	return l
}
