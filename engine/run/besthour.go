package run

import (
	"cmp"
	"time"

	"dialler/engine"
	"dialler/engine/besthour"
	"dialler/engine/contact"
	"dialler/engine/number"
	"dialler/engine/window"
)

// With the option Best hour the look-ahead is lookAheadTimes as large, to choose from.
const lookAheadTimes = 2

// rankedFor is how long a ranking holds: zones change the hour at a quarter of it.
const rankedFor = 15 * time.Minute

// lane is the contacts among which the best hour decides: those that class, attempt number and
// priority leave equal.
type lane struct{ Class, Attempt, Precedence int }

func laneOf(c *contact.Contact) lane {
	l := lane{Class: int(c.DueClass), Precedence: c.Precedence}
	if c.DueClass == contact.DueRetry {
		l.Attempt = c.Used
	}
	return l
}

// ranking orders the first attempts and the retries of the look-ahead by what each gains by being
// dialled now. Every besthour.ControlShare-th pick is the control's, in the order without the
// option, so that both are dialled at the same times in proportion to their numbers.
type ranking struct {
	of     rankingOf
	table  besthour.Table
	window window.Window
	at     time.Time
	picks  int
	// passed counts the contacts of a lane that were taken for their gain.
	passed map[lane]int

	control *queueHeap // in the order without the option
	gain    *queueHeap // the others, by lane and gain
	waited  *queueHeap // the same, by lane and for how long they have been there
}

// rankingOf is what a ranking was made of; when it changes, another is made.
type rankingOf struct {
	Campaign engine.CampaignID
	Version  int64 // of its settings
	Through  int64 // of the table, in Unix time
	Period   int64 // number of the piece of time
	Limit    int   // nobody is passed over by more of their lane, apart from those who have been there as long
}

func newRanking(of rankingOf, table besthour.Table, w window.Window, at time.Time) *ranking {
	inLane := func(x, y *queuedContact, then int) bool {
		a, b := laneOf(&x.row), laneOf(&y.row)
		if d := cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(a.Attempt, b.Attempt),
			cmp.Compare(a.Precedence, b.Precedence), then); d != 0 {
			return d < 0
		}
		return contact.Order{}.Before(&x.row, &y.row)
	}
	return &ranking{of: of, table: table, window: w, at: at, passed: map[lane]int{},
		control: &queueHeap{slot: 2, before: func(x, y *queuedContact) bool { return inLane(x, y, 0) }},
		gain:    &queueHeap{slot: 2, before: func(x, y *queuedContact) bool { return inLane(x, y, y.gain-x.gain) }},
		waited:  &queueHeap{slot: 3, before: func(x, y *queuedContact) bool { return inLane(x, y, x.joined-y.joined) }}}
}

// ranks says whether the best hour decides about a contact: callbacks and triggers have their order.
func (r *ranking) ranks(e *queuedContact) bool {
	return r != nil && !e.seatedOnly && (e.row.DueClass == contact.DueFirst || e.retry())
}

// place says where a contact stands: whether it is of the control, and what it gains.
func (r *ranking) place(e *queuedContact) {
	e.control = besthour.Control(r.of.Campaign, e.row.ID)
	if e.control {
		return
	}
	if e.home == nil {
		p := number.HomeOf(e.row.NextNumber())
		e.home = &p
	}
	local := r.window
	if local.ContactZone {
		local = local.For(*e.home)
	}
	e.gain = r.table.Gain(*e.home, besthour.SlotAt(*e.home, r.at, r.window.Zone), e.row.Tries, local.Local(r.at))
}

// instead is who is taken when e is the first in the order without the option.
func (r *ranking) instead(o contact.Order, e *queuedContact) *queuedContact {
	if !r.ranks(e) || o.Promoted(&e.row) {
		return e
	}
	in := laneOf(&e.row)
	control, best := r.control.firstOf(in), r.gain.firstOf(in)
	switch longest := r.waited.firstOf(in); {
	case best == nil || control != nil && r.picks%besthour.ControlShare == 0:
		return control
	case r.passed[in]-longest.joined >= r.of.Limit:
		return longest
	}
	return best
}

// took counts a contact that is taken because it is its turn.
func (r *ranking) took(e *queuedContact) {
	if !r.ranks(e) {
		return
	}
	r.picks++
	if !e.control {
		r.passed[laneOf(&e.row)]++
	}
}

// firstOf is the first of a heap that is ordered by lane, nil if it is of another.
func (h *queueHeap) firstOf(in lane) *queuedContact {
	if len(h.list) == 0 || laneOf(&h.list[0].row) != in {
		return nil
	}
	return h.list[0]
}

// rank orders the look-ahead by the best hour, if the campaign has the option.
func (s *Dialler) rank() {
	c := &s.M.C
	if !c.Settings.BestHour {
		s.Queue.rank(nil)
		return
	}
	of := rankingOf{Campaign: c.ID, Version: c.Version, Through: s.Hours.Through.Unix(),
		Period: s.now.Unix() / int64(rankedFor/time.Second), Limit: s.lookAhead()}
	if r := s.Queue.ranking; r == nil || r.of != of {
		s.Queue.rank(newRanking(of, s.Hours, c.Settings.Window, s.now))
	}
}

// lookAhead is how many due contacts the run holds.
func (s *Record) lookAhead() int {
	if s.M.C.Settings.BestHour {
		return lookAheadTimes * s.Config.LookAhead
	}
	return s.Config.LookAhead
}
