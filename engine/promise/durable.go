package promise

import (
	"maps"
	"slices"

	"dialler/engine"
)

// intentFirst checks that an INVITE leaves after its intent is durable. It returns the attempt, nil
// if there is none.
func (j *Judge) intentFirst(f Invited) *dial {
	id, n, _ := f.Leg.Attempt()
	d := j.attempts[id]
	if d == nil || d.legs < n {
		j.broke(f.Campaign, "an INVITE left before its intent was durable: leg %s", f.Leg)
		return nil
	}
	return d
}

func (j *Judge) legStored(f LegStored) {
	id, n, _ := f.Leg.Attempt()
	d := j.attempts[id]
	if d == nil {
		return
	}
	d.legs = max(d.legs, n)
	if f.Answer {
		if d.answered == nil {
			d.answered = map[engine.LegID]bool{}
		}
		d.answered[f.Leg] = true
	}
	if f.Over {
		if d.over == nil {
			d.over = map[engine.LegID]bool{}
		}
		d.over[f.Leg] = true
	}
}

// answerFirst checks that an ACK leaves after the answer is durable. Retransmissions do not count.
func (j *Judge) answerFirst(f Acknowledged) {
	id, _, _ := f.Leg.Attempt()
	d := j.attempts[id]
	switch {
	case d == nil || !d.answered[f.Leg] && !d.acked[f.Leg]:
		j.broke(j.campaignOf(id), "an ACK left before its answer was durable: leg %s", f.Leg)
	case d.acked == nil:
		d.acked = map[engine.LegID]bool{}
		fallthrough
	default:
		d.acked[f.Leg] = true
	}
}

// ended checks that an attempt ends once, with an outcome.
func (j *Judge) ended(f Ended) {
	d := j.attempts[f.Attempt]
	if d == nil || d.ended {
		return
	}
	d.ended = true
	d.lost = f.Outcome == engine.OutcomeLost || d.lost
	if c := j.campaigns[d.Campaign]; c != nil && c.live[d.Contact] == f.Attempt {
		delete(c.live, d.Contact)
	}
	if f.Outcome == "" {
		j.broke(d.Campaign, "attempt %s ended without an outcome", f.Attempt)
	}
	if f.Consumed && d.Inbound {
		j.broke(d.Campaign, "attempt %s came in and was consumed", f.Attempt)
	}
	if f.Consumed {
		j.used(d)
	}
}

// End says that nothing more happens, and checks that every attempt that began has ended, and so
// has every leg.
func (j *Judge) End() {
	for _, id := range slices.Sorted(maps.Keys(j.attempts)) {
		d := j.attempts[id]
		if !d.ended {
			j.broke(d.Campaign, "attempt %s began and never ended", id)
			continue
		}
		for n := 1; n <= d.legs; n++ {
			if l := id.Leg(n); !d.over[l] && !(j.Watched && d.lost) {
				j.broke(d.Campaign, "leg %s has no end", l)
			}
		}
	}
}
