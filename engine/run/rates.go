package run

import (
	"time"

	"dialler/engine/campaign"
	"dialler/engine/journal"
)

// ratesSpan is the window of the rates that are shown: dials/s, connected/h, ring time.
const ratesSpan = 60 * time.Second

// Rates are the figures of the last five minutes, in buckets of a second.
type Rates struct {
	buckets  [300]second
	lastDial time.Time
	since    time.Time // the first dial after a minute without one
}

type second struct {
	unix             int64
	dials, connected int
	rings            int
	ringTime         time.Duration
}

func (l *Rates) at(t time.Time) *second {
	s := t.Unix()
	b := &l.buckets[s%int64(len(l.buckets))]
	if b.unix != s {
		*b = second{unix: s}
	}
	return b
}

// Dialled counts an INVITE that left.
func (l *Rates) Dialled(t time.Time) {
	l.at(t).dials++
	if t.Sub(l.lastDial) > ratesSpan {
		l.since = t
	}
	if t.After(l.lastDial) {
		l.lastDial = t
	}
}

// Served counts a person who was connected to a bot.
func (l *Rates) Served(t time.Time) { l.at(t).connected++ }

// Note takes the ring times: for an answered call when it is answered, for other calls that rang
// when they end.
func (l *Rates) Note(e *journal.Event) {
	if e.Type == journal.AttemptAnswered || e.Type == journal.AttemptEnded && !e.Data.Answered && e.Data.RingMS > 0 {
		b := l.at(e.At)
		b.rings++
		b.ringTime += time.Duration(e.Data.RingMS) * time.Millisecond
	}
}

// LastDial is when the last INVITE left.
func (l *Rates) LastDial() time.Time { return l.lastDial }

// Dials counts the dials within a span of at most five minutes.
func (l *Rates) Dials(now time.Time, span time.Duration) int { return l.sum(now, span).dials }

func (l *Rates) sum(now time.Time, span time.Duration) (s second) {
	oldest := now.Add(-span).Unix()
	for i := range l.buckets {
		if b := &l.buckets[i]; b.unix > oldest && b.unix <= now.Unix() {
			s.dials += b.dials
			s.connected += b.connected
			s.rings += b.rings
			s.ringTime += b.ringTime
		}
	}
	return s
}

// Show fills in the rates, over the time since dialling began, a minute at most. Rates that mean
// nothing while nothing is dialled are then left out (spec: "display -- when idle").
func (l *Rates) Show(v *campaign.Live, now time.Time) {
	s := l.sum(now, ratesSpan)
	if !l.lastDial.IsZero() {
		t := l.lastDial
		v.LastDialAt = &t
		if now.Sub(t) <= campaign.IdleAfter {
			passed := min(max(now.Sub(l.since), time.Second), ratesSpan).Seconds()
			dials, connected := float64(s.dials)/passed, float64(s.connected)*3600/passed
			v.DialsPerSec, v.ConnectedPerHour = &dials, &connected
		}
	}
	if s.rings > 0 {
		mean := (s.ringTime / time.Duration(s.rings)).Seconds()
		v.AvgRingSeconds = &mean
	}
}

// Parts implements snapshot.Parts.
func (l *Rates) Parts() []any { return []any{&l.buckets, &l.lastDial, &l.since} }

func (s *second) Parts() []any {
	return []any{&s.unix, &s.dials, &s.connected, &s.rings, &s.ringTime}
}
