package besthour

import (
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dialler/engine"
	"dialler/engine/cadence"
	"dialler/engine/number"
	"dialler/engine/window"
)

func drawTable(t *rapid.T) (table Table) {
	for range rapid.IntRange(0, 30).Draw(t, "cells") {
		c := Cell{Dials: rapid.Uint32Range(0, 5000).Draw(t, "dials")}
		c.Answers = rapid.Uint32Range(0, c.Dials).Draw(t, "answers")
		table.Add(rapid.SampledFrom([]string{"DE", "FR", "001", ""}).Draw(t, "region"),
			rapid.IntRange(0, Slots-1).Draw(t, "slot"), c)
	}
	return table
}

func TestAChanceIsWithinZeroAndOneAndGrowsWithTheAnswers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := drawTable(t)
		region, slot := rapid.SampledFrom([]string{"DE", "FR", "ES"}).Draw(t, "of"), rapid.IntRange(0, Slots-1).Draw(t, "at")
		before := table.Chance(region, slot)
		if !(before >= 0 && before <= 1) {
			t.Fatalf("chance %v", before)
		}
		missed, answered := read(t, &table), read(t, &table)
		missed.Add(region, slot, Cell{Dials: 1})
		answered.Add(region, slot, Cell{Dials: 1, Answers: 1})
		if a, b := missed.Chance(region, slot), answered.Chance(region, slot); !(a < b) {
			t.Fatalf("%v with a dial that was missed, %v with one that was answered", a, b)
		}
		if moved := math.Abs(missed.Chance(region, slot) - before); moved > 4./Strength { // four levels
			t.Fatalf("one dial moves the chance by %v", moved)
		}
	})
}

func TestACellWithoutDialsHasTheChanceOfItsParent(t *testing.T) {
	var table Table
	if got := table.Chance("DE", 30); got != startChance {
		t.Errorf("nothing is known: %v", got)
	}
	table.Add("DE", 2*24+9, Cell{Dials: 400, Answers: 300}) // Tuesday at 9
	table.Add("DE", 2*24+18, Cell{Dials: 400, Answers: 20})
	mean := table.Mean("DE")
	if got := table.Chance("DE", 3*24+12); got != mean {
		t.Errorf("an hour that nobody was called at: %v, the country has %v", got, mean)
	}
	wednesday, tuesday := table.Chance("DE", 3*24+9), table.Chance("DE", 2*24+9)
	if !(mean < wednesday && wednesday < tuesday) {
		t.Errorf("the country has %v, its hour %v, and on the day itself %v", mean, wednesday, tuesday)
	}
	if got, all := table.Chance("FR", 9), table.Mean("XX"); got != all {
		t.Errorf("a country that nobody was called in: %v, all have %v", got, all)
	}
}

func read(t interface{ Fatal(...any) }, table *Table) Table {
	again, err := Decode(table.Encode())
	if err != nil {
		t.Fatal(err)
	}
	return again
}

func TestATableIsReadBackAsItWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := drawTable(t)
		if again := read(t, &table); !reflect.DeepEqual(again, table) {
			t.Fatalf("%+v, was %+v", again, table)
		}
	})
	var full Table
	full.Add("DE", 0, Cell{Dials: 1})
	b := full.Encode()
	if len(b) != 1348 {
		t.Errorf("%d bytes", len(b))
	}
	b[regionSize+7] = 2
	if _, err := Decode(b); err == nil {
		t.Error("more answers than dials are read")
	}
	if _, err := Decode(b[1:]); err == nil {
		t.Error("a part of a table is read")
	}
}

func TestTheHourIsThatOfTheNumber(t *testing.T) {
	at := time.Date(2030, 1, 8, 23, 30, 0, 0, time.UTC) // a Tuesday
	for _, tc := range []struct {
		number engine.PhoneNumber
		slot   int
	}{{"+4915112345678", 3 * 24}, {"+12125550123", 2*24 + 18}, {"+81312345678", 3*24 + 8}} {
		if got := SlotAt(number.HomeOf(tc.number), at, "UTC"); got != tc.slot {
			t.Errorf("%s: %d, want %d", tc.number.E164(), got, tc.slot)
		}
	}
	if got := SlotAt(window.Home{}, at, "Asia/Tokyo"); got != 3*24+8 {
		t.Errorf("without a zone of its own: %d", got)
	}
}

// Everything that can become of an attempt is said here: a person took it, it rang in vain, or it tells
// nothing.
func TestWhatAnAttemptTells(t *testing.T) {
	var answers, misses, silent []engine.Outcome
	for _, o := range engine.Outcomes {
		switch told, answered := Told(o); {
		case answered:
			answers = append(answers, o)
		case told:
			misses = append(misses, o)
		default:
			silent = append(silent, o)
		}
	}
	got := fmt.Sprint(answers, misses, silent)
	want := "[completed connected_no_result abandoned caller_hung_up] [machine fax no_answer busy rejected] " +
		"[invalid_number blocked congestion throttled trunk_error media_error cancelled excluded lost system_error expired]"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestWhoWasTriedInVainAtThisTimeGainsLess(t *testing.T) {
	w := &window.Window{Zone: "Europe/Berlin", Start: 9 * 60, End: 21 * 60}
	day := time.Date(2030, 1, 8, 0, 0, 0, 0, time.UTC)
	var table Table
	for h := range 24 {
		table.Add("DE", Slot(day.Add(time.Duration(h)*time.Hour)), Cell{Dials: 1000, Answers: 300})
	}
	home := window.Home{Country: "DE", Zones: []string{"Europe/Berlin"}}
	gain := func(tries cadence.Tries, hour int) int {
		at := day.Add(time.Duration(hour-1) * time.Hour)
		return table.Gain(home, SlotAt(home, at, "UTC"), tries, w.Local(at))
	}
	once := cadence.Tries(0).Add(cadence.NoAnswer, day.Add(9*time.Hour), w)
	twice := once.Add(cadence.NoAnswer, day.Add(10*time.Hour), w)
	all := once.Add(cadence.Busy, day.Add(13*time.Hour), w).Add(cadence.NoAnswer, day.Add(18*time.Hour), w)
	if gain(0, 10) != 0 || gain(0, 18) != 0 {
		t.Error("who was never tried gains where all hours are alike")
	}
	if !(gain(twice, 10) < gain(once, 10) && gain(once, 10) < 0 && gain(once, 14) > 0 &&
		gain(twice, 18) > gain(once, 18)) {
		t.Errorf("after one try %d and %d, after two %d and %d", gain(once, 10), gain(once, 14), gain(twice, 10),
			gain(twice, 18))
	}
	if gain(all, 10) != 0 || gain(all, 18) != 0 {
		t.Errorf("who was tried in all parts gains %d", gain(all, 10))
	}
}

// A country in which few answer is not behind others because of that.
func TestTheGainIsAgainstThePersonsOwnCountry(t *testing.T) {
	var table Table
	for slot := range Slots {
		table.Add("DE", slot, Cell{Dials: 1000, Answers: 600})
		table.Add("FR", slot, Cell{Dials: 1000, Answers: 50})
	}
	table.Add("FR", 9, Cell{Dials: 1000, Answers: 600})
	now := time.Time{}
	de, fr := table.Gain(window.Home{Country: "DE"}, 9, 0, now), table.Gain(window.Home{Country: "FR"}, 9, 0, now)
	if de != 0 || fr <= 0 {
		t.Errorf("%d and %d", de, fr)
	}
}

func TestATenthIsTheControl(t *testing.T) {
	const n = 20_000
	some, both := 0, 0
	for i := range n {
		id := engine.ContactID(fmt.Sprintf("%032x", i))
		if Control("cmp_1", id) {
			some++
			if Control("cmp_2", id) {
				both++
			}
		}
	}
	if math.Abs(float64(some)/n-0.1) > 0.01 || math.Abs(float64(both)/n-0.01) > 0.004 {
		t.Errorf("%d of %d, %d also in another campaign", some, n, both)
	}
}

// The examples of Newcombe's paper, table II, method 10.
func TestADifferenceHasNewcombesInterval(t *testing.T) {
	for _, tc := range []struct {
		with, control Cell
		low, high     float64
	}{
		{Cell{70, 56}, Cell{80, 48}, 5.24, 33.39},
		{Cell{10, 9}, Cell{10, 3}, 17.05, 80.90},
		{Cell{7, 6}, Cell{7, 2}, 5.82, 80.62},
		{Cell{56, 5}, Cell{29, 0}, -3.81, 19.26},
		{Cell{10, 0}, Cell{20, 0}, -16.11, 27.75},
		{Cell{10, 10}, Cell{20, 0}, 67.91, 100},
	} {
		d, ok := Compare(tc.with, tc.control)
		if !ok || math.Abs(d.Low-tc.low) > 0.006 || math.Abs(d.High-tc.high) > 0.006 || d.Clear() != (tc.low > 0) {
			t.Errorf("%v and %v: %+v, want %v to %v", tc.with, tc.control, d, tc.low, tc.high)
		}
	}
	if _, ok := Compare(Cell{10, 1}, Cell{}); ok {
		t.Error("there is a difference to nobody")
	}
}
