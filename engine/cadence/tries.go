package cadence

import (
	"math/bits"
	"time"

	"dialler/engine"
	"dialler/engine/window"
)

// Class groups outcomes that call for the same patience.
type Class string

// Classes of outcomes.
const (
	Busy       Class = "busy"
	NoAnswer   Class = "no_answer"
	Machine    Class = "machine"    // machine and fax
	Congestion Class = "congestion" // the network or a carrier had no way: congestion, throttled, trunk_error
	Rejected   Class = "rejected"   // rejected and invalid_number
	Connected  Class = "connected"  // somebody took the call; its result, its length or a list has it redialled
	Failed     Class = "failed"     // a fault on our side, and whatever else ended an attempt
)

// Classes lists every class, in the order in which a table is printed. Tries counts by the index and
// has no room for another.
var Classes = [...]Class{Busy, NoAnswer, Machine, Congestion, Rejected, Connected, Failed}

// Of is the class of an outcome.
func Of(o engine.Outcome) Class {
	switch o {
	case engine.OutcomeBusy:
		return Busy
	case engine.OutcomeNoAnswer:
		return NoAnswer
	case engine.OutcomeMachine, engine.OutcomeFax:
		return Machine
	case engine.OutcomeCongestion, engine.OutcomeThrottled, engine.OutcomeTrunkError:
		return Congestion
	case engine.OutcomeRejected, engine.OutcomeInvalidNumber:
		return Rejected
	case engine.OutcomeCompleted, engine.OutcomeConnectedNoResult, engine.OutcomeCallerHungUp, engine.OutcomeAbandoned:
		return Connected
	case engine.OutcomeBlocked, engine.OutcomeMediaError, engine.OutcomeCancelled, engine.OutcomeExcluded,
		engine.OutcomeLost, engine.OutcomeSystemError:
	}
	return Failed
}

func (c Class) index() int {
	for i, other := range Classes {
		if other == c {
			return i
		}
	}
	return -1
}

// Part of the day, by the clock on the wall.
type Part uint8

// Parts of the day.
const (
	Morning   Part = iota // until 12:00
	Afternoon             // until 17:00
	Evening
)

// partEnds are the hours at which the parts end.
var partEnds = [...]int{12, 17, 24}

// Parts is how many parts a day has.
const Parts = len(partEnds)

func partOf(local time.Time) Part {
	for p, end := range partEnds {
		if local.Hour() < end {
			return Part(p) //nolint:gosec // one of three
		}
	}
	return Evening
}

// nextPart is when the part of the day that t is in ends.
func nextPart(local time.Time) time.Time {
	y, m, d := local.Date()
	for _, end := range partEnds {
		if at := time.Date(y, m, d, end, 0, 0, 0, local.Location()); at.After(local) {
			return at
		}
	}
	return time.Date(y, m, d+1, partEnds[0], 0, 0, 0, local.Location())
}

// Tries are a contact's consumed attempts since it was given its attempts, as far as a cadence asks
// about them: how many of each class, in which parts of the day, and how many on the last calling
// day. They are one number, because every contact of a campaign has them: from the lowest bit 5 for
// each class, 3 for the parts, 6 for the attempts of the last day, 16 for that day (since
// 1970-01-01). Counts stop at what their bits hold.
type Tries int64

const (
	classBits = 5
	partsAt   = classBits * len(Classes)
	todayAt   = partsAt + len(partEnds)
	todayBits = 6
	dayAt     = todayAt + todayBits
	dayBits   = 16
)

// CountCap is the most attempts of a class that Tries can tell apart.
const CountCap = 1<<classBits - 1

func (t Tries) field(at, bits int) int { return int(t >> at & (1<<bits - 1)) }

func (t Tries) with(at, bits, n int) Tries {
	mask := Tries(1<<bits-1) << at
	return t&^mask | Tries(min(n, 1<<bits-1))<<at&mask
}

// Count is how many attempts were of the class.
func (t Tries) Count(c Class) int {
	i := c.index()
	if i < 0 {
		return 0
	}
	return t.field(i*classBits, classBits)
}

// On is how many attempts there were on a calling day, which must not be before the last one.
func (t Tries) On(d window.Date) int {
	if t.field(dayAt, dayBits) != d.Number() {
		return 0
	}
	return t.field(todayAt, todayBits)
}

// PartsTried is in how many parts of the day there were attempts.
func (t Tries) PartsTried() int { return bits.OnesCount(uint(t.field(partsAt, Parts))) } //nolint:gosec // not negative

// TriedAt says whether there was one in the part of the day of a local time.
func (t Tries) TriedAt(local time.Time) bool { return t.tried(partOf(local)) }

// Unanswered is how many attempts rang, or would have, and no person answered.
func (t Tries) Unanswered() int { return t.Count(NoAnswer) + t.Count(Busy) + t.Count(Machine) }

func (t Tries) tried(p Part) bool { return t.field(partsAt+int(p), 1) == 1 }

// Add counts an attempt that was dialled at a time and ended in an outcome of the class.
func (t Tries) Add(c Class, dialled time.Time, w *window.Window) Tries {
	day := w.CallingDay(dialled)
	today := t.On(day) + 1
	t = t.with(c.index()*classBits, classBits, t.Count(c)+1)
	t = t.with(partsAt+int(partOf(w.Local(dialled))), 1, 1)
	return t.with(dayAt, dayBits, day.Number()).with(todayAt, todayBits, today)
}
