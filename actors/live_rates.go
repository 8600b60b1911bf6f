package actors

import (
	"time"

	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/journal"
)

// liveSpan is the window of the live rates: dials/s, connected/h, ring time.
const liveSpan = 60 * time.Second

// liveRates are the figures of the last minutes, kept in buckets of a second.
type liveRates struct {
	buckets  [300]liveBucket
	lastDial time.Time
}

type liveBucket struct {
	second           int64
	dials, connected int
	rings            int
	ringTime         time.Duration
}

func (l *liveRates) at(t time.Time) *liveBucket {
	s := t.Unix()
	b := &l.buckets[s%int64(len(l.buckets))]
	if b.second != s {
		*b = liveBucket{second: s}
	}
	return b
}

// dialled: an INVITE left.
func (l *liveRates) dialled(t time.Time) {
	l.at(t).dials++
	if t.After(l.lastDial) {
		l.lastDial = t
	}
}

func (l *liveRates) moved(m *lineMoved) {
	if m.Phase == attempt.PhaseServed {
		l.at(m.At).connected++
	}
}

// note takes the ring times: of an answered call when it is answered, of the
// others that rang when they end.
func (l *liveRates) note(e *journal.Event) {
	if e.Type == journal.AttemptAnswered || e.Type == journal.AttemptEnded && !e.Data.Answered && e.Data.RingMS > 0 {
		b := l.at(e.At)
		b.rings++
		b.ringTime += time.Duration(e.Data.RingMS) * time.Millisecond
	}
}

func (l *liveRates) sum(now time.Time, span time.Duration) (s liveBucket) {
	oldest := now.Add(-span).Unix()
	for i := range l.buckets {
		if b := &l.buckets[i]; b.second > oldest && b.second <= now.Unix() {
			s.dials += b.dials
			s.connected += b.connected
			s.rings += b.rings
			s.ringTime += b.ringTime
		}
	}
	return s
}

// show fills in the rates. Those that say nothing while nothing is dialled are
// left out then (spec: "display -- when idle").
func (l *liveRates) show(v *campaign.Live, now time.Time) {
	s := l.sum(now, liveSpan)
	if !l.lastDial.IsZero() {
		t := l.lastDial
		v.LastDialAt = &t
		if now.Sub(t) <= campaign.IdleAfter {
			dials, connected := float64(s.dials)/liveSpan.Seconds(), float64(s.connected)*3600/liveSpan.Seconds()
			v.DialsPerSec, v.ConnectedPerHour = &dials, &connected
		}
	}
	if s.rings > 0 {
		mean := (s.ringTime / time.Duration(s.rings)).Seconds()
		v.AvgRingSeconds = &mean
	}
}
