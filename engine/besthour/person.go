package besthour

import (
	"hash/fnv"
	"io"
	"math"
	"time"

	"dialler/engine"
	"dialler/engine/cadence"
	"dialler/engine/window"
)

// habit is how many dials it takes, in one part of the day, to think as much of what a person did
// there as of what others do.
const habit = 2

// Gain is by how much a person is more likely to answer now than at any other time of the day, in
// points of a hundred, whole so that small differences leave the order as it is. local is the time
// by which the person's tries were counted.
func (t *Table) Gain(home window.Home, slot int, tries cadence.Tries, local time.Time) int {
	here, parts := 1.0, float64(cadence.Parts)
	mean := 1.0
	if tried := tries.PartsTried(); tried > 0 {
		// Tries does not know how many there were in each part.
		less := habit / (habit + float64(tries.Unanswered())/float64(tried))
		mean = (float64(tried)*less + parts - float64(tried)) / parts
		if tries.TriedAt(local) {
			here = less
		}
	}
	return int(math.Round(100 * (t.Chance(home.Country, slot)*here - t.Mean(home.Country)*mean)))
}

// ControlShare is the reciprocal of the share of contacts that are the control.
const ControlShare = 10

// Control says that a contact is dialled as without the option.
func Control(campaign engine.CampaignID, contact engine.ContactID) bool {
	h := fnv.New64a()
	_, _ = io.WriteString(h, string(campaign)+" "+string(contact))
	x := h.Sum64()
	x ^= x >> 32 // the low bits of FNV are weak
	x *= 0xd6e8feb86659fd93
	x ^= x >> 32
	return x%ControlShare == 0
}

// Difference is how much larger the share of answers is with the option than without, in points of a
// hundred, and where it lies with 95 % confidence.
type Difference struct{ Points, Low, High float64 }

// z is the 97.5 % quantile of the normal distribution.
const z = 1.959964

// wilson is the 95 % interval of a share, after Wilson.
func (c Cell) wilson() (low, high float64) {
	n, p := float64(c.Dials), float64(c.Answers)/float64(c.Dials)
	mid, off := p+z*z/(2*n), z*math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return (mid - off) / (1 + z*z/n), (mid + off) / (1 + z*z/n)
}

// Compare is the difference between the dials with the option and those of the control; ok is false
// if either made none. The interval is Newcombe's: R. G. Newcombe, Interval estimation for the
// difference between independent proportions, Statistics in Medicine 17 (1998), method 10.
func Compare(with, control Cell) (d Difference, ok bool) {
	if with.Dials == 0 || control.Dials == 0 {
		return d, false
	}
	p, q := float64(with.Answers)/float64(with.Dials), float64(control.Answers)/float64(control.Dials)
	pLow, pHigh := with.wilson()
	qLow, qHigh := control.wilson()
	return Difference{Points: 100 * (p - q), Low: 100 * (p - q - math.Hypot(p-pLow, qHigh-q)),
		High: 100 * (p - q + math.Hypot(pHigh-p, q-qLow))}, true
}

// Clear says that the difference is not chance.
func (d Difference) Clear() bool { return d.Low > 0 || d.High < 0 }
