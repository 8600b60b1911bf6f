package besthour

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"time"

	"dialler/engine"
	"dialler/engine/number"
	"dialler/engine/window"
)

// Kept is for how long dials are learned from.
const Kept = 90 * 24 * time.Hour

// Strength is how many dials a parent counts for in the chance of its child: the prior of a cell is
// Beta(Strength·p, Strength·(1 − p)) with p, the chance of the parent. startChance is that of everybody.
const (
	Strength    = 100
	startChance = 0.25
)

// Slots is the number of hours of a week.
const Slots = 7 * 24

// Slot is the hour of the week of a local time: 0 is Sunday, from midnight to 1:00.
func Slot(local time.Time) int { return int(local.Weekday())*24 + local.Hour() }

// Cell is how many dials rang, and how many of them a person answered.
type Cell struct{ Dials, Answers uint32 }

// And is the sum of two cells.
func (c Cell) And(other Cell) Cell { return Cell{c.Dials + other.Dials, c.Answers + other.Answers} }

// after is the chance in a cell whose parent has the given one.
func (c Cell) after(parent float64) float64 {
	return (float64(c.Answers) + Strength*parent) / (float64(c.Dials) + Strength)
}

// Country has what was learned of one country.
type Country struct {
	Region string // ISO 3166; "" are the numbers whose country is unknown
	Cells  [Slots]Cell
	All    Cell // their sum
}

// Table is what was learned. Once it is shared it is not changed any more.
type Table struct {
	Through   time.Time // the dials until then are in it
	Countries []Country // by Region
	All       Cell
}

// Told says whether an attempt tells when people answer, and whether a person did. A call that a
// person took counts, whatever became of it: also an abandoned one. Whoever declined, a machine and
// a fax are no answers. A call that did not get through, that we ended, or that was lost tells
// nothing.
func Told(o engine.Outcome) (told, answered bool) {
	switch o {
	case engine.OutcomeCompleted, engine.OutcomeConnectedNoResult, engine.OutcomeCallerHungUp,
		engine.OutcomeAbandoned:
		return true, true
	case engine.OutcomeNoAnswer, engine.OutcomeBusy, engine.OutcomeRejected, engine.OutcomeMachine, engine.OutcomeFax:
		return true, false
	case engine.OutcomeInvalidNumber, engine.OutcomeBlocked, engine.OutcomeCongestion, engine.OutcomeThrottled,
		engine.OutcomeTrunkError, engine.OutcomeMediaError, engine.OutcomeCancelled, engine.OutcomeExcluded,
		engine.OutcomeLost, engine.OutcomeSystemError, engine.OutcomeExpired:
	}
	return false, false
}

// SlotAt is the hour of the week where a number is at home, by the first of its zones; by zone where
// none is known.
func SlotAt(home window.Home, t time.Time, zone string) int {
	return Slot(window.Window{Zone: zone, ContactZone: true}.For(home).Local(t))
}

// Note counts a dial that tells something.
func (t *Table) Note(n engine.PhoneNumber, dialled time.Time, answered bool) {
	c := Cell{Dials: 1}
	if answered {
		c.Answers = 1
	}
	home := number.HomeOf(n)
	t.Add(home.Country, SlotAt(home, dialled, "UTC"), c)
}

// Add counts dials of one country and hour of the week.
func (t *Table) Add(region string, slot int, c Cell) {
	i, ok := t.find(region)
	if !ok {
		t.Countries = slices.Insert(t.Countries, i, Country{Region: region})
	}
	of := &t.Countries[i]
	of.Cells[slot], of.All, t.All = of.Cells[slot].And(c), of.All.And(c), t.All.And(c)
}

func (t *Table) find(region string) (int, bool) {
	return slices.BinarySearchFunc(t.Countries, region, func(c Country, r string) int {
		return strings.Compare(c.Region, r)
	})
}

// Mean is the chance that a person of the country answers, at whatever hour people were dialled.
func (t *Table) Mean(region string) float64 {
	var c Cell
	if i, ok := t.find(region); ok {
		c = t.Countries[i].All
	}
	return c.after(t.All.after(startChance))
}

// Chance is the chance that a person of the country answers in an hour of the week.
func (t *Table) Chance(region string, slot int) float64 {
	mean := t.Mean(region)
	i, ok := t.find(region)
	if !ok {
		return mean
	}
	cells := &t.Countries[i].Cells
	var hour Cell
	for h := slot % 24; h < Slots; h += 24 {
		hour = hour.And(cells[h])
	}
	return cells[slot].after(hour.after(mean))
}

// regionSize is the space for a region in the stored form.
const regionSize = 4

var errTable = errors.New("besthour: not a table")

// Encode writes the table: 1348 bytes a country. Through is not in it.
func (t *Table) Encode() []byte {
	b := make([]byte, 0, len(t.Countries)*(regionSize+8*Slots))
	for i := range t.Countries {
		c := &t.Countries[i]
		var region [regionSize]byte
		copy(region[:], c.Region)
		b = append(b, region[:]...)
		for _, cell := range c.Cells {
			b = binary.BigEndian.AppendUint32(b, cell.Dials)
			b = binary.BigEndian.AppendUint32(b, cell.Answers)
		}
	}
	return b
}

// Decode reads what Encode wrote.
func Decode(b []byte) (t Table, err error) {
	if len(b)%(regionSize+8*Slots) != 0 {
		return t, errTable
	}
	for len(b) > 0 {
		region := strings.TrimRight(string(b[:regionSize]), "\x00")
		b = b[regionSize:]
		for slot := range Slots {
			c := Cell{binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])}
			if c.Answers > c.Dials {
				return Table{}, errTable
			}
			t.Add(region, slot, c)
			b = b[8:]
		}
	}
	return t, nil
}
