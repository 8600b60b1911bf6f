package sim

import (
	"time"

	"dialler/engine/pacing"
)

// Pieces of a campaign's course: as many as courseMost, each as long as all the
// others, and courseLeast at least.
const (
	courseMost  = 240
	courseLeast = 15 * time.Second
)

// CampaignMoment is one piece of a campaign's course.
type CampaignMoment struct {
	From, Until time.Duration
	// Open is for how long the campaign dialled within its window; Busy and
	// Workers are Σ over workers in that time.
	Open, Busy, Workers time.Duration
	// At the end of the piece, since the start.
	Dials  int
	Counts pacing.Counts
	Left   int // contacts that are not final
}

// course is what is kept of a campaign while its world goes on. A nil one keeps
// nothing.
type course struct {
	width  time.Duration
	pieces []CampaignMoment
}

// at gives the piece in which a time lies; pieces that it is the first to reach
// go on as the last one ended.
func (c *course) at(t time.Duration) *CampaignMoment {
	for int(t/c.width) >= courseMost {
		c.halve()
	}
	k := int(t / c.width)
	for len(c.pieces) <= k {
		var next CampaignMoment
		if n := len(c.pieces); n > 0 {
			next.Dials, next.Counts, next.Left = c.pieces[n-1].Dials, c.pieces[n-1].Counts, c.pieces[n-1].Left
		}
		next.From = time.Duration(len(c.pieces)) * c.width
		next.Until = next.From + c.width
		c.pieces = append(c.pieces, next)
	}
	return &c.pieces[k]
}

// halve makes one piece of every two.
func (c *course) halve() {
	c.width *= 2
	half := c.pieces[:0]
	for i := range c.pieces {
		p := c.pieces[i]
		if i%2 == 0 {
			p.Until = p.From + c.width
			half = append(half, p)
			continue
		}
		last := &half[len(half)-1]
		last.Open, last.Busy, last.Workers = last.Open+p.Open, last.Busy+p.Busy, last.Workers+p.Workers
		last.Dials, last.Counts, last.Left = p.Dials, p.Counts, p.Left
	}
	c.pieces = half
}

// pass lets the time until now pass, in which the clock stood as it stands.
func (c *course) pass(k *dialClock, now time.Duration, w *campaignWorld, of *campaignRecord) {
	if c == nil {
		return
	}
	if len(c.pieces) == 0 {
		c.at(0).Left = w.open(of)
	}
	for from := k.at; from < now; {
		p := c.at(from)
		until := min(now, p.Until)
		if k.open {
			t := until - from
			p.Open += t
			p.Busy += time.Duration(k.used) * t
			p.Workers += time.Duration(max(k.seats, k.used)) * t
		}
		from = until
	}
	c.at(now)
}

// stands notes how the campaign stands at the end of what has passed.
func (c *course) stands(w *campaignWorld, of *campaignRecord, counts *pacing.Counts) {
	if c == nil || len(c.pieces) == 0 {
		return
	}
	p := &c.pieces[len(c.pieces)-1]
	p.Dials, p.Counts, p.Left = of.dials, *counts, w.open(of)
}

// moments gives the course until a campaign's end; what came later belongs to its
// last piece.
func (c *course) moments(end time.Duration) []CampaignMoment {
	if c == nil || len(c.pieces) == 0 {
		return nil
	}
	k := min(int((end-1)/c.width), len(c.pieces)-1)
	k = max(k, 0)
	final := c.pieces[len(c.pieces)-1]
	last := &c.pieces[k]
	last.Dials, last.Counts, last.Left = final.Dials, final.Counts, final.Left
	last.Until = max(min(last.Until, end), last.From)
	return c.pieces[:k+1]
}
