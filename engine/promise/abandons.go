package promise

import (
	"fmt"
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/pacing"
)

// ledger counts live answers since a time, except excused ones.
type ledger struct {
	since string
	pacing.Counts
}

// abandons records when numbers were abandoned.
type abandons struct {
	last map[engine.PhoneNumber]time.Time
}

// liveAnswer checks that nobody is abandoned beyond the cap of a run, a day and a period of 30
// days, except where the line is excused. Causes in Excuses do not count at all. Hybrid pacing
// promises less.
func (j *Judge) liveAnswer(f LiveAnswer) {
	d := j.attempts[f.Attempt]
	if d != nil && f.Cause == engine.AbandonCapacityLoss {
		d.lost = true
	}
	if d == nil || d.counted || d.Campaign == "" { // calls outside campaigns have no cap
		return
	}
	d.counted = true
	c := j.course(d.Campaign)
	if f.Abandoned {
		j.abandonedOnce(d, f.Cause)
		if slices.Contains(j.Excuses, f.Cause) {
			return
		}
	}
	s, wall := &c.row.Settings, j.wall()
	since := [3]string{fmt.Sprint(d.Run), campaign.DayStart(&c.row, wall).Round(0).String(),
		campaign.PeriodStart(&c.row, wall).Round(0).String()}
	limit := c.limit()
	for i := range c.ledgers {
		l := &c.ledgers[i]
		if l.since != since[i] {
			*l = ledger{since: since[i]}
		}
		l.Live++
		if f.Abandoned {
			l.Abandoned++
		}
		if i == 0 {
			rate, _ := l.Rate()
			j.Peak.Abandons = max(j.Peak.Abandons, rate)
		}
		if f.Abandoned && !d.excused && c.row.ID != "" && s.PacingMode != campaign.PacingHybrid && !l.Within(limit, 0) {
			j.broke(d.Campaign, "%d abandoned of %d live answers since %s: over the cap of %d ppm", l.Abandoned, l.Live,
				l.since, limit)
		}
	}
}

// abandonedOnce checks that abandoned numbers are dialled with a seat for 72 hours. One hour is
// allowed for clock steps.
func (j *Judge) abandonedOnce(d *dial, cause engine.AbandonCause) {
	if j.abandons.last == nil {
		j.abandons.last = map[engine.PhoneNumber]time.Time{}
	}
	before, ok := j.abandons.last[d.To]
	if ok && cause == engine.AbandonNoSeat && !d.excused && before.Before(d.reserved) &&
		d.reserved.Sub(before) < pacing.SeatedAfterAbandon-time.Hour {
		j.broke(d.Campaign, "%s was abandoned at %s and again without a seat, attempt %s", d.To, before, d.Attempt)
	}
	j.abandons.last[d.To] = j.at
}

// limit is the cap in ppm; it is 0 for a campaign that only dials with a seat.
func (c *course) limit() int {
	if c.row.Settings.PacingMode == campaign.PacingProgressive {
		return 0
	}
	return c.row.Settings.AbandonCapPPM
}
