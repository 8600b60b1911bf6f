package chaos

import (
	"cmp"
	"slices"
	"time"

	"dialler/bench/carrier"
	"dialler/engine"
	"dialler/engine/attempt"
)

// span is when something was in use.
type span struct{ from, to time.Time }

// Someone lets go of a cap when it hears that the call is over; whoever counts at
// the far side may hear that a moment later than its own end, or read it later, on
// a machine that is busy.
const letGo = 250 * time.Millisecond

// mostAtOnce is the highest number of spans at a time, each counted shorter by
// grain at its end.
func mostAtOnce(spans []span, grain time.Duration) (most int, at time.Time) {
	type edge struct {
		at   time.Time
		step int
	}
	var edges []edge
	for _, s := range spans {
		if to := s.to.Add(-grain); to.After(s.from) {
			edges = append(edges, edge{s.from, 1}, edge{to, -1})
		}
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.step, b.step)) })
	n := 0
	for _, e := range edges {
		if n += e.step; n > most {
			most, at = n, e.at
		}
	}
	return most, at
}

// cpsWindow is over what calls a second are counted: a second, less what the
// network may delay one INVITE more than another.
const cpsWindow = time.Second - 50*time.Millisecond

// mostWithin is the highest number of moments within a window.
func mostWithin(at []time.Time, window time.Duration) (most int) {
	slices.SortFunc(at, time.Time.Compare)
	first := 0
	for i := range at {
		for at[i].Sub(at[first]) >= window {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// judgeCaps: what all nodes share was never used by more than it has room for, as
// carrier and bot saw it.
func (k *cluster) judgeCaps(calls carrier.Rows, attempts []attempt.Attempt) {
	var channels []span
	var invites []time.Time
	from := map[engine.PhoneNumber][]span{}
	now := time.Now()
	for i := range calls {
		c := &calls[i]
		s := span{c.InviteAt, c.EndedAt}
		if c.EndedAt.IsZero() {
			s.to = now
		}
		channels, from[c.From], invites = append(channels, s), append(from[c.From], s), append(invites, leftAt(c))
	}
	var at time.Time
	if k.rep.Channels, at = mostAtOnce(channels, 0); k.rep.Channels > clusterChannels {
		k.rep.fail("the trunk had %d calls at %s, it has %d channels", k.rep.Channels, at.Format(time.TimeOnly), clusterChannels)
	}
	if k.rep.PeakCPS = mostWithin(invites, cpsWindow); k.rep.PeakCPS > clusterCPS {
		k.rep.fail("%d INVITEs left within %v, the trunk takes %d a second", k.rep.PeakCPS, cpsWindow, clusterCPS)
	}
	for i, room := range clusterNumberCaps {
		if n, at := mostAtOnce(from[engine.PhoneNumber(ownNumbers[i])], 0); room > 0 && n > room {
			k.rep.fail("caller's number %d had %d calls at %s, it may have %d", i+1, n, at.Format(time.TimeOnly), room)
		}
	}
	if k.rep.Seats, at = mostAtOnce(k.seatsUsed(attempts), letGo); k.rep.Seats > clusterSeats {
		k.rep.fail("the bot had %d conversations at %s, it has %d seats", k.rep.Seats, at.Format(time.TimeOnly), clusterSeats)
	}
}

// seatsUsed are the conversations at the bot. One of a node that stands still goes
// on until the node does: nobody else can end its socket. It counts until its call
// was closed.
func (k *cluster) seatsUsed(attempts []attempt.Attempt) (used []span) {
	closed := map[engine.CallID]time.Time{}
	for i := range attempts {
		if a := &attempts[i]; a.EndedAt != nil && (a.Outcome == engine.OutcomeLost || a.Cause == engine.AbandonCapacityLoss) {
			closed[a.ID.Call()] = *a.EndedAt
		}
	}
	for _, s := range k.bot.Sessions() {
		to := s.EndedAt
		if to.IsZero() {
			to = time.Now()
		}
		if end, ok := closed[s.CallID]; ok && end.Before(to) {
			to = end
		}
		if s.CallID != "" {
			used = append(used, span{s.OpenedAt, to})
		}
	}
	return used
}
