package cadence

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dialler/engine"
	"dialler/engine/window"
)

// office is open Monday to Friday from 9 to 18 in Berlin.
func office(zone string) window.Window {
	return window.Window{Start: 9 * 60, End: 18 * 60, Zone: zone,
		Days: []window.Day{window.Mon, window.Tue, window.Wed, window.Thu, window.Fri}}
}

func must(t *testing.T, text string) Cadence {
	t.Helper()
	c, wrong := Parse("rules", text)
	if wrong != nil {
		t.Fatal(wrong.Message)
	}
	return c
}

// play dials a contact whose attempts end at once in the outcomes, the last one again and again, and
// lists the local times of the dials, until the table is spent.
func play(t *testing.T, text string, w window.Window, start string, dials int, outcomes ...engine.Outcome) string {
	t.Helper()
	c := must(t, text)
	at, err := time.ParseInLocation("2006-01-02 15:04", start, w.Local(time.Unix(0, 0)).Location())
	if err != nil {
		t.Fatal(err)
	}
	var tries Tries
	var list []string
	for i := range dials {
		list = append(list, w.Local(at).Format("Mon 02 15:04"))
		class := Of(outcomes[min(i, len(outcomes)-1)])
		tries = tries.Add(class, at, &w)
		if c.Spent(class, tries) {
			return strings.Join(list, ", ") + ", spent"
		}
		at = c.Next(Ended{Class: class, Tries: tries, Dialled: at, At: at, Delay: 30 * time.Minute}, &w)
		at = c.Allowed(at, tries, &w)
	}
	return strings.Join(list, ", ")
}

func TestWhenTheNextAttemptFollows(t *testing.T) {
	const busy, none, machine = engine.OutcomeBusy, engine.OutcomeNoAnswer, engine.OutcomeMachine
	w := office("Europe/Berlin")
	night := w
	night.Start, night.End = 22*60, 2*60
	short := w
	short.Start, short.End = 9*60, 11*60
	// Monday is 7 January 2030.
	f := func(what, text string, w window.Window, start string, dials int, want string, outcomes ...engine.Outcome) {
		t.Helper()
		if got := play(t, text, w, start, dials, outcomes...); got != want {
			t.Errorf("%s:\n%s, want\n%s", what, got, want)
		}
	}
	f("the nth busy takes the nth step, and the last holds", "busy: 5m, 15m, 1h", w, "2030-01-07 10:00", 6,
		"Mon 07 10:00, Mon 07 10:05, Mon 07 10:20, Mon 07 11:20, Mon 07 12:20, Mon 07 13:20", busy)
	f("each class counts its own", "busy: 5m, 15m · no_answer: 2h", w, "2030-01-07 10:00", 4,
		"Mon 07 10:00, Mon 07 10:05, Mon 07 12:05, Mon 07 12:20", busy, none, busy)
	f("a class that the table leaves out keeps Retry Delay", "busy: 5m", w, "2030-01-07 10:00", 2,
		"Mon 07 10:00, Mon 07 10:30", none)
	f("a delay is clipped into the window", "busy: 3h", w, "2030-01-11 16:00", 2, "Fri 11 16:00, Mon 14 09:00", busy)
	f("the next day is the next working day's opening", "machine: next day", w, "2030-01-11 10:00", 2,
		"Fri 11 10:00, Mon 14 09:00", machine)
	f("a night belongs to the day on which it began", "machine: next day", night, "2030-01-07 23:00", 2,
		"Mon 07 23:00, Tue 08 22:00", machine)
	f("also after midnight", "machine: next day", night, "2030-01-08 01:00", 2, "Tue 08 01:00, Tue 08 22:00", machine)
	f("another part of the day, not tried yet", "no_answer: another part of the day", w, "2030-01-07 10:00", 4,
		"Mon 07 10:00, Mon 07 12:00, Mon 07 17:00, Tue 08 09:00", none)
	f("all were tried: another than the last", "no_answer: another part of the day", w, "2030-01-07 17:30", 5,
		"Mon 07 17:30, Tue 08 09:00, Tue 08 12:00, Tue 08 17:00, Wed 09 09:00", none)
	f("not before the Retry Delay has passed", "no_answer: another part of the day", w, "2030-01-07 11:58", 2,
		"Mon 07 11:58, Mon 07 12:28", none)
	f("a window with one part leaves the next day", "no_answer: another part of the day", short, "2030-01-07 10:00", 2,
		"Mon 07 10:00, Tue 08 09:00", none)
	f("at most two a day", "busy: 5m · at most 2 a day", w, "2030-01-07 10:00", 5,
		"Mon 07 10:00, Mon 07 10:05, Tue 08 09:00, Tue 08 09:05, Wed 09 09:00", busy)
	f("which holds for what the table leaves out", "at most 2 a day", w, "2030-01-07 10:00", 3,
		"Mon 07 10:00, Mon 07 10:30, Tue 08 09:00", none)
	f("at most three of a class", "busy: 5m, at most 3", w, "2030-01-07 10:00", 9,
		"Mon 07 10:00, Mon 07 10:05, Mon 07 10:10, spent", busy)
	f("the sentence of the table", "busy: 5m, 15m, 1h · no_answer: 3h, then another part of the day, then the next day",
		w, "2030-01-07 09:00", 5, "Mon 07 09:00, Mon 07 12:00, Mon 07 17:00, Tue 08 09:00, Wed 09 09:00", none)
	// The clock is put forward on Sunday 31 March 2030 at 2:00, and back on 27 October at 3:00.
	w.Days = nil
	f("a day of 23 hours", "no_answer: next day", w, "2030-03-30 17:00", 3, "Sat 30 17:00, Sun 31 09:00, Mon 01 09:00",
		none)
	f("a delay is real time", "no_answer: 1d", w, "2030-03-30 12:00", 2, "Sat 30 12:00, Sun 31 13:00", none)
	f("a day of 25 hours", "no_answer: another part of the day", w, "2030-10-26 17:30", 3,
		"Sat 26 17:30, Sun 27 09:00, Sun 27 12:00", none)
	always := window.Window{Zone: "Africa/Cairo"} // whose clock is put forward at midnight, to 1:00
	f("a midnight that the clock skips", "no_answer: next day", always, "2030-04-25 23:30", 2,
		"Thu 25 23:30, Fri 26 01:00", none)
	always.Zone = "America/Havana" // put back at 1:00, to midnight: 0:30 comes twice
	f("a midnight that comes twice", "no_answer: next day", always, "2030-11-03 00:30", 2, "Sun 03 00:30, Mon 04 00:00",
		none)
}

func TestTheContactsClockDecidesWhereTheWindowIsTheirs(t *testing.T) {
	w := office("Europe/Berlin")
	w.ContactZone = true
	w = w.For(window.Home{Zones: []string{"America/New_York"}})
	const want = "Mon 07 16:00, Mon 07 17:00, Tue 08 09:00, Wed 09 09:00"
	if got := play(t, "no_answer: another part of the day, next day", w, "2030-01-07 16:00", 4,
		engine.OutcomeNoAnswer); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// The day is that of the dial, however long the call lasts: one that ends after the window has closed
// is of the day before.
func TestTheNextDayFollowsThatOfTheDial(t *testing.T) {
	day := window.Window{Start: 9 * 60, Zone: "UTC"} // until midnight
	night := window.Window{Start: 22 * 60, End: 2 * 60, Zone: "UTC"}
	monday := time.Date(2030, 1, 7, 0, 0, 0, 0, time.UTC)
	at := func(days int, clock time.Duration) time.Time { return monday.AddDate(0, 0, days).Add(clock) }
	const minute, hour = time.Minute, time.Hour
	for _, c := range []struct {
		text        string
		w           window.Window
		dialled     time.Time
		lasted      time.Duration
		delay, want time.Time
	}{
		{text: "no_answer: next day", w: day, dialled: at(0, 23*hour+50*minute), lasted: 15 * minute, want: at(1, 9*hour)},
		{text: "no_answer: next day", w: night, dialled: at(1, 2*hour-minute), lasted: 2 * minute, want: at(1, 22*hour)},
		{text: "no_answer: another part of the day", w: night, dialled: at(1, 2*hour-minute), lasted: 2 * minute,
			want: at(1, 22*hour)},
		{text: "no_answer: next day", w: day, dialled: at(0, 10*hour), lasted: 24 * hour, want: at(1, 10*hour)},
	} {
		cad := must(t, c.text)
		var tries Tries
		tries = tries.Add(NoAnswer, c.dialled, &c.w)
		e := Ended{Class: NoAnswer, Tries: tries, Dialled: c.dialled, At: c.dialled.Add(c.lasted), Delay: 30 * minute}
		if got := cad.Next(e, &c.w); !got.Equal(c.want) {
			t.Errorf("%s, dialled %s: %s, want %s", c.text, c.dialled, got, c.want)
		}
	}
}

func TestTheNetworksWaitIsKept(t *testing.T) {
	w := office("Europe/Berlin")
	c := must(t, "congestion: 2m")
	at := time.Date(2030, 1, 7, 9, 0, 0, 0, time.UTC)
	e := Ended{Class: Congestion, At: at, Dialled: at, Delay: time.Hour, Least: 10 * time.Minute}
	if got := c.Next(e, &w); !got.Equal(at.Add(10 * time.Minute)) {
		t.Errorf("after %s, want the 10 minutes that the network asked for", got.Sub(at))
	}
}

func TestEveryOutcomeHasAClass(t *testing.T) {
	for _, o := range engine.Outcomes {
		if Of(o).index() < 0 {
			t.Errorf("%s has none", o)
		}
	}
}

func TestTriesHoldWhatTheyAreTold(t *testing.T) {
	w := window.Window{Zone: "UTC"}
	at := time.Date(2149, 1, 7, 9, 0, 0, 0, time.UTC)
	var tries Tries
	for n := 1; n <= 70; n++ {
		for _, c := range Classes {
			tries = tries.Add(c, at, &w)
			if tries < 0 || tries.Count(c) != min(n, CountCap) {
				t.Fatalf("%d of %s after %d", tries.Count(c), c, n)
			}
		}
	}
	if got := tries.On(w.CallingDay(at)); got != 63 {
		t.Errorf("%d on the day, want as many as can be counted", got)
	}
	if got := tries.On(w.CallingDay(at.AddDate(0, 0, 1))); got != 0 {
		t.Errorf("%d on the day after", got)
	}
}

func drawCadence(t *rapid.T) (c Cadence) {
	for _, class := range Classes {
		if rapid.Bool().Draw(t, string(class)) {
			continue
		}
		r := Rule{Class: class}
		for range rapid.IntRange(0, StepsCap).Draw(t, "steps") {
			s := Step{Kind: Kind(rapid.IntRange(0, 2).Draw(t, "kind"))} //nolint:gosec // three kinds
			if s.Kind == After {
				s.Delay = time.Duration(rapid.IntRange(1, int(DelayCap/time.Second)).Draw(t, "delay")) * time.Second
			}
			r.Steps = append(r.Steps, s)
		}
		if r.Most = rapid.IntRange(0, 5).Draw(t, "most"); r.Most == 0 && r.Steps == nil {
			continue
		}
		c.Rules = append(c.Rules, r)
	}
	if c.PerDay = rapid.IntRange(0, 4).Draw(t, "a day"); c.PerDay == 0 && c.Rules == nil {
		c.PerDay = 1
	}
	c.NextNumber = rapid.IntRange(0, 3).Draw(t, "next number")
	return c
}

func TestWhateverTheTableNoAttemptIsEarlyOutsideTheWindowOrOneTooMany(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCadence(t)
		zone := rapid.SampledFrom([]string{"Europe/Berlin", "America/Havana", "Africa/Cairo", "Australia/Lord_Howe", "UTC"})
		w := window.Window{Start: window.TimeOfDay(15 * rapid.IntRange(0, 95).Draw(t, "start")),
			End: window.TimeOfDay(15 * rapid.IntRange(0, 95).Draw(t, "end")), Zone: zone.Draw(t, "zone")}
		if rapid.Bool().Draw(t, "contact") {
			w.ContactZone = true
			w = w.For(window.Home{Zones: []string{zone.Draw(t, "first"), zone.Draw(t, "second")}})
		}
		at := time.Date(2030, 3, 1, 0, rapid.IntRange(0, 300*24*60).Draw(t, "minute"), 0, 0, time.UTC)
		opens, ok := w.NextOpening(at)
		if !ok {
			t.Skip("it is never open in both zones")
		}
		at = opens
		var tries Tries
		days := map[window.Date]int{}
		for range 8 {
			class := rapid.SampledFrom(Classes[:]).Draw(t, "class")
			tries = tries.Add(class, at, &w)
			days[w.CallingDay(at)]++
			e := Ended{Class: class, Tries: tries, Dialled: at, Delay: time.Hour, Least: time.Minute,
				At: at.Add(time.Duration(rapid.IntRange(0, 90).Draw(t, "lasted")) * time.Second)}
			next := c.Allowed(c.Next(e, &w), tries, &w)
			switch {
			case next.Before(e.At.Add(e.Least)):
				t.Fatalf("%s: at %s, which is too early after %s", c.String(), next, e.At)
			case !w.Open(next):
				t.Fatalf("%s: at %s, outside the window", c.String(), next)
			case c.PerDay > 0 && days[w.CallingDay(next)] >= c.PerDay:
				t.Fatalf("%s: at %s, one too many on the day", c.String(), next)
			}
			at = next
		}
	})
}

func TestATableIsPrintedAsItIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawCadence(t)
		text := c.String()
		got, wrong := Parse("rules", text)
		if wrong != nil && len(text) <= TextCap {
			t.Fatalf("%s: %s", text, wrong.Message)
		}
		if wrong == nil && got.String() != text {
			t.Fatalf("%s became %s", text, got.String())
		}
	})
}

func TestARefusalSaysWhatIsWrongAndHasAnExample(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		_, wrong := Parse("rules", text)
		if wrong == nil {
			t.Errorf("%q is accepted", text)
			return
		}
		if wrong.Field != "rules" || !strings.HasPrefix(wrong.Message, want) {
			t.Errorf("%q: %s: %s, want %s", text, wrong.Field, wrong.Message, want)
		}
		if _, example, ok := strings.Cut(wrong.Message, "for example "); !ok {
			t.Errorf("%q: no example", text)
		} else if _, wrong := Parse("rules", example); wrong != nil {
			t.Errorf("the example is refused: %s", wrong.Message)
		}
	}
	f("", "has no rule")
	f(" · ", "has no rule")
	f("busy", `"busy" is neither a rule nor`)
	f("buzy: 5m", `"buzy" is no class of outcomes; they are busy, no_answer, machine, congestion`)
	f("busy: soon", `"soon" is no step; a step is a delay up to 30 days`)
	f("busy:", `"" is no step`)
	f("busy: 0m", `"0m" is no step`)
	f("busy: 31d", `"31d" is no step`)
	f("busy: 30d1s", `"30d1s" is no step`)
	f("busy: 5m1h", `"5m1h" is no step`)
	f("busy: 5m · busy: 1h", "there are two rules for busy")
	f("busy: at most 0", `"at most 0" is no limit; "at most" takes 1 to 30 attempts`)
	f("busy: at most 2, 5m", `"at most" comes last in a rule`)
	f("at most 51 a day", `"at most 51 a day" is neither a rule nor`)
	f("at most 2 a day · at most 3 a day", "the most attempts a day are given twice")
	f("next number after 0", `"next number after 0" is neither a rule nor`)
	f("next number after 2; next number after 2", "the attempts to one number are given twice")
	f("busy: "+strings.Repeat("5m, ", StepsCap)+"5m", "a rule has at most 12 steps")
	f(strings.Repeat("x", TextCap+1), "must have at most 1000 bytes")
	steps := strings.Repeat("another part of the day,", 9) + "5m"
	long := "busy:1m,1m,1m,1m,1m,1m,1m,1m;connected:" + steps + ";no_answer:" + steps + ";congestion:" + steps +
		";rejected:" + steps
	f(long, "must have at most 1000 bytes") // as it is printed
}

// FuzzParse checks that what is accepted is printed in one form, which is the same table.
func FuzzParse(f *testing.F) {
	for _, s := range []string{Example, "busy: 5m, at most 4", "BUSY:  1h30m , then the next day;at most 1 a day\n",
		"no_answer: 3h, then another part of the day, then the next day", "machine: at most 1",
		"busy:" + strings.Repeat("29d23h59m59s,", 11) + "1s", "failed:" + strings.Repeat("next day,", 11) + "1s"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, wrong := Parse("rules", s)
		if wrong != nil {
			return
		}
		again, wrong := Parse("rules", c.String())
		if wrong != nil {
			t.Fatalf("%q is printed as %q, which is refused: %s", s, c.String(), wrong.Message)
		}
		if again.String() != c.String() {
			t.Fatalf("%q is printed as %q and then as %q", s, c.String(), again.String())
		}
	})
}
