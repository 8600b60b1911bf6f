package forecast

import (
	"time"

	"dialler/engine/sim"
)

// The pieces of a campaign's course: at most courseMost, all of the same length, which is at least
// courseLeast.
const (
	courseMost  = 240
	courseLeast = 15 * time.Second
)

// moment is one piece of a campaign's course.
type moment struct {
	From, Until time.Duration
	sim.Work
	sim.Progress // at the end of the piece
}

// course records a campaign while its world runs.
type course struct {
	width  time.Duration
	pieces []moment
}

// newCourse begins a course with the given number of contacts.
func newCourse(contacts int) *course {
	c := &course{width: courseLeast}
	c.at(0).Left = contacts
	return c
}

// at returns the piece that contains a time; new pieces continue from the end of the last one.
func (c *course) at(t time.Duration) *moment {
	for int(t/c.width) >= courseMost {
		c.halve()
	}
	k := int(t / c.width)
	for len(c.pieces) <= k {
		var next moment
		if n := len(c.pieces); n > 0 {
			next.Progress = c.pieces[n-1].Progress
		}
		next.From = time.Duration(len(c.pieces)) * c.width
		next.Until = next.From + c.width
		c.pieces = append(c.pieces, next)
	}
	return &c.pieces[k]
}

// halve merges each pair of pieces.
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
		last.Add(p.Work)
		last.Progress = p.Progress
	}
	c.pieces = half
}

// watch records how the campaign proceeded.
func (c *course) watch(s *sim.Stretch) {
	for from := s.From; from < s.Until; {
		p := c.at(from)
		until := min(s.Until, p.Until)
		p.Add(s.Pace.Work(until - from))
		from = until
	}
	c.at(s.Until)
	if s.Progress != nil {
		c.pieces[len(c.pieces)-1].Progress = *s.Progress
	}
}

// moments returns the course until a campaign's end; later events belong to its last piece.
func (c *course) moments(end time.Duration) []moment {
	k := max(min(int((end-1)/c.width), len(c.pieces)-1), 0)
	last := &c.pieces[k]
	last.Progress = c.pieces[len(c.pieces)-1].Progress
	last.Until = max(min(last.Until, end), last.From)
	return c.pieces[:k+1]
}
