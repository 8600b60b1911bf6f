package cadence

import (
	"time"

	"dialler/engine"
	"dialler/engine/window"
)

// Cadence is a table of steps by class of outcome. The zero value has none: Retry Delay alone.
type Cadence struct {
	Rules []Rule // at most one for each class, in the order of Classes
	// PerDay is the most attempts on one calling day, 0 = no limit; callbacks and an operator's
	// dials are made beyond it.
	PerDay int
	// NextNumber is after how many unanswered attempts in a row, to one number of a person who has
	// several, the next number is tried; 0 = NextNumberDefault.
	NextNumber int
}

// NextNumberDefault is how many unanswered attempts there are to one number of several without a
// cadence, and with one that does not say.
const NextNumberDefault = 2

// NumberAfter is after how many unanswered attempts in a row the person's next number is tried.
func (c *Cadence) NumberAfter() int {
	if c == nil || c.NextNumber == 0 {
		return NextNumberDefault
	}
	return c.NextNumber
}

// Rule says when an attempt follows one of its class.
type Rule struct {
	Class Class
	Steps []Step // the nth is for the nth attempt of the class; the last also for those after it
	Most  int    // attempts of the class after which none follows, 0 = no limit
}

// Step is one wait.
type Step struct {
	Kind  Kind
	Delay time.Duration // of After, from the end of the attempt
}

// Kind of a step.
type Kind uint8

const (
	// After waits for a while.
	After Kind = iota
	// AnotherPart waits for a part of the day in which the contact was not tried yet; once it was
	// tried in all that the window has, for another than the last. Retry Delay passes at least.
	AnotherPart
	// NextDay waits for the opening of the window on the next calling day.
	NextDay
)

// Named is a cadence under its name, as campaigns share it.
type Named struct {
	ID   engine.CadenceID
	Name string
	Cadence
	Version              int64 // for edits; the first is 1
	CreatedAt, UpdatedAt time.Time
}

// Find is the cadence with an identifier, nil if there is none.
func Find(list []Named, id engine.CadenceID) *Named {
	for i := range list {
		if list[i].ID == id {
			return &list[i]
		}
	}
	return nil
}

// Table is the table of a named cadence, nil for none.
func (n *Named) Table() *Cadence {
	if n == nil {
		return nil
	}
	return &n.Cadence
}

// Ended is an attempt that another one follows.
type Ended struct {
	Class   Class
	Tries   Tries // the attempt included
	Dialled time.Time
	At      time.Time     // of the end
	Delay   time.Duration // Retry Delay
	Least   time.Duration // wait requested by the network
}

// rule is the table's row for a class, nil if there is none.
func (c *Cadence) rule(of Class) *Rule {
	for i := range c.Rules {
		if c.Rules[i].Class == of {
			return &c.Rules[i]
		}
	}
	return nil
}

// Spent says that no attempt follows one of the class: there were as many as the table allows.
func (c *Cadence) Spent(of Class, t Tries) bool {
	r := c.rule(of)
	return r != nil && r.Most > 0 && t.Count(of) >= r.Most
}

// Step is what the table says after the nth attempt of a class; ok is false if it says nothing, and
// Retry Delay applies.
func (c *Cadence) Step(of Class, n int) (s Step, ok bool) {
	r := c.rule(of)
	if r == nil || len(r.Steps) == 0 {
		return s, false
	}
	return r.Steps[min(max(n, 1), len(r.Steps))-1], true
}

// After says which rule an attempt of a class was followed by, the nth of the class; "" if Retry Delay
// was.
func (c *Cadence) After(of Class, n int) string {
	s, ok := c.Step(of, n)
	if !ok {
		return ""
	}
	return string(of) + ": " + s.String()
}

// Next is when the next attempt follows one that ended, in the window, which may not open again
// during the run; apart from the most attempts on a day.
func (c *Cadence) Next(e Ended, w *window.Window) time.Time {
	least := e.At.Add(e.Least)
	at := e.At.Add(e.Delay)
	if s, ok := c.Step(e.Class, e.Tries.Count(e.Class)); ok {
		switch s.Kind {
		case After:
			at = e.At.Add(s.Delay)
		case AnotherPart:
			at = anotherPart(e, at, w)
		case NextDay:
			at = nextDay(e.Dialled, w)
		}
	}
	return opening(later(at, least), w)
}

// Allowed is the first time from t on, in the window, that is on a calling day with attempts left.
func (c *Cadence) Allowed(t time.Time, tries Tries, w *window.Window) time.Time {
	if c.PerDay == 0 {
		return t
	}
	if at := opening(t, w); tries.On(w.CallingDay(at)) < c.PerDay {
		return at
	}
	return nextDay(t, w)
}

// anotherPart looks for the part of the day, from a time on, over two calling days: each has every
// part that the window has.
func anotherPart(e Ended, from time.Time, w *window.Window) time.Time {
	last := partOf(w.Local(e.Dialled))
	for _, other := range []func(Part) bool{
		func(p Part) bool { return !e.Tries.tried(p) },
		func(p Part) bool { return p != last },
	} {
		at := opening(from, w)
		for range 2 * len(partEnds) {
			if local := w.Local(at); other(partOf(local)) {
				return at
			}
			at = opening(nextPart(w.Local(at)), w)
		}
	}
	return later(nextDay(e.Dialled, w), from)
}

// nextDay is the opening of the next calling day; a day later if the window never opens again.
func nextDay(t time.Time, w *window.Window) time.Time {
	if at, ok := w.NextDay(t); ok {
		return at
	}
	return t.AddDate(0, 0, 1)
}

// opening is the next opening of the window, t itself if it never opens again.
func opening(t time.Time, w *window.Window) time.Time {
	if at, ok := w.NextOpening(t); ok {
		return at
	}
	return t
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
