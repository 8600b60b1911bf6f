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
	Work
	Progress // at the end of the piece
}

// Work is what a campaign did in some time.
type Work struct {
	// Dialling is the time in which the campaign was running within its window.
	Dialling time.Duration
	// Busy is Σ over workers of the time in calls, Workers of what it could be:
	// the seats that the campaign had while it was dialling.
	Busy, Workers time.Duration
}

func (w *Work) add(more Work) {
	w.Dialling, w.Busy, w.Workers = w.Dialling+more.Dialling, w.Busy+more.Busy, w.Workers+more.Workers
}

// Progress is how far a campaign has come since its start.
type Progress struct {
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
			next.Progress = c.pieces[n-1].Progress
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
		last.add(p.Work)
		last.Progress = p.Progress
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
		p.add(k.work(until - from))
		from = until
	}
	c.at(now)
}

// stands notes how the campaign stands at the end of what has passed.
func (c *course) stands(w *campaignWorld, of *campaignRecord, counts *pacing.Counts) {
	if c == nil || len(c.pieces) == 0 {
		return
	}
	c.pieces[len(c.pieces)-1].Progress = Progress{Dials: of.dials, Counts: *counts, Left: w.open(of)}
}

// moments gives the course until a campaign's end; what came later belongs to its
// last piece.
func (c *course) moments(end time.Duration) []CampaignMoment {
	if c == nil || len(c.pieces) == 0 {
		return nil
	}
	k := max(min(int((end-1)/c.width), len(c.pieces)-1), 0)
	last := &c.pieces[k]
	last.Progress = c.pieces[len(c.pieces)-1].Progress
	last.Until = max(min(last.Until, end), last.From)
	return c.pieces[:k+1]
}
