package actors

import (
	"context"
	"time"

	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/tally"
)

// liveSpan is the window of the live rates: dials/s, connected/h, ring time.
const liveSpan = 60 * time.Second

// idleAfter is when a dialler that places no call is called idle.
const idleAfter = 30 * time.Second

// liveRates are the figures of the last minute, kept in buckets of a second.
type liveRates struct {
	buckets   [60]liveBucket
	lastDial  time.Time
	exhausted bool // a contact used up its attempts in this run
}

type liveBucket struct {
	second           int64
	dials, connected int
	rings            int
	ringTime         time.Duration
}

func (l *liveRates) at(t time.Time) *liveBucket {
	s := t.Unix()
	b := &l.buckets[s%60]
	if b.second != s {
		*b = liveBucket{second: s}
	}
	return b
}

func (l *liveRates) dialled(t time.Time) {
	l.at(t).dials++
	l.lastDial = t
}

func (l *liveRates) moved(m *lineMoved) {
	if m.Phase == attempt.PhaseServed {
		l.at(m.At).connected++
	}
}

func (l *liveRates) note(e *journal.Event) {
	if e.Type != journal.AttemptEnded {
		return
	}
	if e.Data.RingMS > 0 {
		b := l.at(e.At)
		b.rings++
		b.ringTime += time.Duration(e.Data.RingMS) * time.Millisecond
	}
	if e.Data.Reason == contact.ReasonExhausted {
		l.exhausted = true
	}
}

func (l *liveRates) sum(now time.Time) (s liveBucket) {
	oldest := now.Add(-liveSpan).Unix()
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

// liveView is what the campaign does now, from the run's own state.
func (r *run) liveView() *campaign.Live {
	now := r.now
	if r.m.C.State != campaign.Running {
		r.decide() // the pump does not; what held the last dial back is not what does now
	}
	v := &campaign.Live{
		Dialling: r.phases[phaseIndex(attempt.PhaseDialling)], Ringing: r.phases[phaseIndex(attempt.PhaseRinging)],
		Waiting: len(r.waiting), InProgress: r.phases[phaseIndex(attempt.PhaseServed)],
		Seats: r.seatCap(), FreeSeats: r.seatCap() - r.busy, At: now,
		Constraint: r.pace.last.Constraint, Explanation: r.pace.explain(), Credit: float64(r.pace.last.Why.Credit),
	}
	s := r.live.sum(now)
	if s.dials > 0 {
		rate := float64(s.dials) / liveSpan.Seconds()
		v.DialsPerSec = &rate
	}
	if s.connected > 0 {
		rate := float64(s.connected) * 3600 / liveSpan.Seconds()
		v.ConnectedPerHour = &rate
	}
	if s.rings > 0 {
		mean := (s.ringTime / time.Duration(s.rings)).Seconds()
		v.AvgRingSeconds = &mean
	}
	if !r.live.lastDial.IsZero() {
		t := r.live.lastDial
		v.LastDialAt = &t
	}
	switch {
	case r.m.C.State == campaign.Running && !r.windowOpen():
		v.Indicator = "outside_window"
	case r.live.lastDial.IsZero() || now.Sub(r.live.lastDial) > idleAfter:
		v.Indicator = "idle"
	default:
		v.Indicator = "live"
	}
	return v
}

func (r *run) completionReason() campaign.CompletionReason {
	return campaign.Complete(r.tally.C, r.live.exhausted)
}

// storeAction carries out what only the database can: reset, restore, remove.
func (r *run) storeAction(e campaign.Effect) {
	d, self, id, n, now := r.d, r.self, r.id, r.m.C.Run, r.now
	r.queue.clear()
	r.storing = true
	r.whenAtRest(func() {
		r.afterWrites(func() {
			// Behind everything that the contacts of the run before still had to say.
			ev := r.tell(journal.ContactsReset, r.now)
			if _, ok := e.(campaign.RestoreContacts); ok {
				ev.Type = journal.ContactsRestored
			}
			go func() {
				ctx, cancel := context.WithTimeout(d.ctx, 6*d.cfg.CommitTimeout)
				defer cancel()
				var err error
				switch e := e.(type) {
				case campaign.ResetContacts:
					err = d.store.ResetContacts(ctx, id, n, e.Unreached, now, ev)
				case campaign.RestoreContacts:
					err = d.store.RestoreContacts(ctx, id, n, ev)
				case campaign.Remove:
					err = d.store.RemoveCampaign(ctx, id, e.Who)
				}
				_, removed := e.(campaign.Remove)
				m := &resetDone{err: err, removed: removed}
				if err == nil && !removed {
					m.counters, m.err = d.store.Counters(ctx, id, n)
				}
				d.root.Send(self, m)
			}()
		})
	})
}

// resetDone answers whoever waits for the contacts to be prepared, restored or
// removed.
func (r *run) resetDone(m *resetDone) {
	waiting := r.storingFor
	r.storing, r.storingFor = false, nil
	var d campaign.Detail
	var err error
	switch {
	case m.err != nil:
		r.d.log.Error().Err(m.err).Str("campaign_id", string(r.id)).Msg("contacts not prepared for the run")
		err = unavailable(m.err)
	case m.removed:
		d = campaign.Detail{Campaign: r.m.C}
		r.leave()
	default:
		r.tally = tally.From(m.counters)
		r.lookAgain()
		d = r.detail()
	}
	for _, to := range waiting {
		reply(r.d, to, d, err)
	}
	r.letGo(m.removed)
}
