package forecast

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"dialler/engine/callee"
	"dialler/engine/campaign"
	"dialler/engine/sim"
	win "dialler/engine/window"
)

var start = time.Date(2030, 1, 7, 9, 0, 0, 0, time.UTC)

// asked is a question about a small campaign that dials all day.
func asked(change func(*Question)) *Question {
	s := campaign.Defaults()
	s.Name, s.Concurrency, s.RetryDelaySec, s.RingTimeoutSec = "asked", 10, 600, 30
	s.Window = win.Window{Zone: "UTC", Start: 9 * 60, End: 17 * 60}
	q := &Question{
		Settings: s,
		Start:    start,
		Seats:    10,
		CPS:      50,
		Channels: 1000,
		Standing: ListOf(300, 0, start),
		People:   callee.Known(&callee.People{}, false),
		Seed:     1,
		Plays:    1,
	}
	if change != nil {
		change(q)
	}
	return q
}

func answerOf(t *testing.T, q *Question) (Answer, Series) {
	t.Helper()
	told, ok := Ask(q, nil)
	if !ok {
		t.Fatal("it was halted")
	}
	return told.Summary, told.Series
}

func TestTheSameQuestionHasTheSameAnswer(t *testing.T) {
	text := func(change func(*Question)) string {
		a, s := answerOf(t, asked(change))
		b, err := json.Marshal([]any{a, s})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if a, b := text(nil), text(nil); a != b {
		t.Errorf("once %s\nand once %s", a, b)
	}
	if text(nil) == text(func(q *Question) { q.Seed = 2 }) {
		t.Error("another seed has the same answer")
	}
}

func TestTheCourseOfAnAnswerEndsWithItsFigures(t *testing.T) {
	a, s := answerOf(t, asked(nil))
	n := len(s.At)
	if a.Ended != EndedListDone || a.ContactsLeft != 0 || a.ListSec == nil || *a.ListSec != a.DiallingSec ||
		a.Dials < 300 ||
		a.Connected == 0 ||
		a.Machines != 0 {
		t.Fatalf("%+v", a)
	}
	if n < 2 || n > courseMost || len(s.BusyPct) != n || len(s.DialsPerS) != n || len(s.Connected) != n ||
		len(s.AbandonPct) != n ||
		len(s.Left) != n {
		t.Fatalf("%+v", s)
	}
	dials, before := 0.0, 0.0
	for i, at := range s.At {
		dials += s.DialsPerS[i] * (at - before)
		before = at
		if i > 0 && (s.Connected[i] < s.Connected[i-1] || s.Left[i] > s.Left[i-1]) {
			t.Errorf("piece %d: %d connected, %d left", i, s.Connected[i], s.Left[i])
		}
	}
	if s.Left[0] == 0 || s.Left[n-1] != 0 || s.Connected[n-1] != a.Connected || math.Abs(before-a.DurationSec) > 1 ||
		math.Abs(dials-float64(a.Dials)) > 0.02*dials {
		t.Errorf(
			"%d left, %d connected, %.0f s, %.1f dials; the figures are %+v",
			s.Left[n-1],
			s.Connected[n-1],
			before,
			dials,
			a,
		)
	}
}

func TestMoreSeatsFinishTheListSoonerAndACapOfZeroAbandonsNobody(t *testing.T) {
	few, _ := answerOf(t, asked(nil))
	many, _ := answerOf(t, asked(func(q *Question) { q.Seats, q.Settings.Concurrency = 40, 40 }))
	if many.DiallingSec >= few.DiallingSec || many.ConnectsPerHour <= few.ConnectsPerHour {
		t.Errorf("10 seats %+v\n40 seats %+v", few, many)
	}
	// The bot's seats limit what the concurrency allows.
	bounded, _ := answerOf(t, asked(func(q *Question) { q.Settings.Concurrency = 40 }))
	if bounded.DiallingSec <= many.DiallingSec {
		t.Errorf("10 seats, concurrency 40 %+v", bounded)
	}
	none, _ := answerOf(t, asked(func(q *Question) { q.Settings.AbandonCapPPM = 0 }))
	if none.Abandoned != 0 || *none.AbandonPct != 0 {
		t.Errorf("cap 0: %+v", none)
	}
}

func TestAnAnswerSaysWhatIsLeftWhenTheWindowCloses(t *testing.T) {
	short := func(q *Question) { q.Settings.Window.End, q.Settings.SingleDay = 9*60+10, true }
	a, s := answerOf(t, asked(short))
	if a.Ended != EndedWindow || a.LeftAtClose == nil || *a.LeftAtClose == 0 || a.ContactsLeft != *a.LeftAtClose ||
		a.ListSec == nil ||
		*a.ListSec <= a.DiallingSec {
		t.Fatalf("%+v", a)
	}
	if math.Abs(a.DiallingSec-600) > 1 || s.Left[0] <= 0 {
		t.Errorf("%+v", a)
	}
	several, _ := answerOf(t, asked(func(q *Question) { short(q); q.Settings.SingleDay = false }))
	if several.Ended != EndedListDone || several.LeftAtClose == nil || *several.LeftAtClose == 0 ||
		several.ContactsLeft != 0 ||
		several.DurationSec < 24*3600 {
		t.Errorf("of several days: %+v", several)
	}
}

func TestAttemptsUsedAreNotDialledAgain(t *testing.T) {
	a, _ := answerOf(t, asked(func(q *Question) { q.Standing = ListOf(300, 600, start) }))
	// Dials refused by the trunk are repeated without using an attempt.
	if a.Dials < 300 || a.Dials > 360 || a.Ended != EndedListDone {
		t.Errorf("one attempt is left to each of 300: %+v", a)
	}
	all, _ := answerOf(t, asked(nil))
	half, _ := answerOf(t, asked(func(q *Question) {
		q.Standing.Ahead = []campaign.Ahead{{Used: 1, Count: 150}, {Used: 2, Count: 150}}
	}))
	if half.Dials <= a.Dials || half.Dials >= all.Dials {
		t.Errorf("%d dials with 1, %d with 1.5 and %d with 3 attempts left", a.Dials, half.Dials, all.Dials)
	}
	most, _ := answerOf(t, asked(func(q *Question) { q.Standing = ListOf(300, 2700, start) }))
	if most.Dials != a.Dials { // each has at least one
		t.Errorf("%+v", most)
	}
}

func TestAPlayIsBoundedByItsEventsAndHalted(t *testing.T) {
	q := asked(func(q *Question) { q.Standing = ListOf(1000, 0, start) })
	in := q.installation(1000, 1)
	in.EventsMost = 5000
	r := sim.RunCampaigns(in, 1)
	if !r.Spent || r.Halted || r.Events != 5000 || r.Broken != nil {
		t.Fatalf("%+v", r)
	}
	if a := q.answer(&r, &r.Campaigns[0], 1000); a.Ended != EndedBudget || a.ContactsLeft == 0 ||
		a.ContactsLeft == 1000 ||
		*a.ListSec <= a.DiallingSec {
		t.Errorf("%+v", a)
	}
	if a := q.answer(&r, &r.Campaigns[0], 400); a.ContactsLeft != r.Campaigns[0].Open+600 {
		t.Errorf("of a list that is not played as a whole: %+v", a)
	}
	asked := 0
	if _, ok := Ask(q, func() bool { asked++; return asked == 3 }); ok || asked != 3 {
		t.Errorf("ok %v after %d", ok, asked)
	}
}

// The brake's effect is part of the measured placing time, so it does not brake again in a play.
func TestDialsThatTookLongToPlaceAreNotHeldBackOnceMore(t *testing.T) {
	lasts := func(placing float64) float64 {
		a, _ := answerOf(t, asked(func(q *Question) {
			q.Settings.MaxAttempts, q.Standing = 1, ListOf(30, 0, start)
			q.People.Kinds = []callee.Kind{{Outcome: "busy", First: 2, Again: 2, Took: callee.Sample{0.1}},
				{First: 1, Again: 1, Ring: callee.Sample{0.1}, Talk: callee.Sample{0.3}}}
			q.People.Placing = callee.Sample{placing}
		}))
		return a.DurationSec
	}
	if soon, late := lasts(0.2), lasts(1); late > soon+3 { // three times ten dials, each up to a second later
		t.Errorf("thirty dials take %v s, and %v s where each takes 0.8 s more", soon, late)
	}
}
