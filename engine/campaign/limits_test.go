package campaign

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/contact"
	"dialler/engine/window"
)

// Other packages enforce these limits; the figures are promised here.
func TestWhatIsReadOfACampaignIsBounded(t *testing.T) {
	got := []int{GroupDigits, GroupCap, PastCap, AheadCap, RejectedCap, DocumentCap}
	if want := []int{8, 20_000, 10_000, 10_000, 100_000, 262_144}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestAFailureNamesFiveMistakesAndFortyLettersOfAName(t *testing.T) {
	reason := func(body string) string {
		t.Helper()
		_, _, err := Overlay(stored(), document(body))
		var e *engine.Error
		if !errors.As(err, &e) {
			t.Fatal(body, err)
		}
		return Failure(err)
	}
	five := reason(`{"a":1,"b":1,"c":1,"d":1,"e":1}`)
	if strings.Contains(five, "…") || strings.Count(five, "cannot be set") != 5 {
		t.Error(five)
	}
	six := reason(`{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1}`)
	if six != five+"; …" {
		t.Error(six)
	}
	name := strings.Repeat("x", 40)
	if got := reason(`{"` + name + `":1}`); !strings.Contains(got, " "+name+" cannot") {
		t.Error(got)
	}
	if got := reason(`{"` + name + `y":1}`); !strings.Contains(got, " "+name+"… cannot") {
		t.Error(got)
	}
}

func TestAContactSaysHowManyGoBeforeItUpToTenThousand(t *testing.T) {
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for ahead, want := range map[int]string{
		0: "it is among the next to be dialled", 1: "1 due contact is dialled before it",
		9999:   "9999 due contacts are dialled before it",
		10_000: "more than 10000 due contacts are dialled before it",
	} {
		due := now // it becomes due at this moment
		e := Explain(Question{Now: now, Campaign: &Campaign{State: Running}, Facts: ContactFacts{Ahead: ahead},
			Contact: &contact.Contact{State: contact.Pending, DueAt: &due}})
		if e.Code != WhyQueued || e.Message != want || e.NextAt != nil {
			t.Errorf("%d ahead: %+v", ahead, e)
		}
	}
}

func TestAContactDueWhenTheRunEndsIsNotDialledInIt(t *testing.T) {
	opens := time.Date(2030, 3, 4, 9, 0, 0, 0, time.UTC)
	c := &Campaign{State: Running, Settings: Settings{Window: window.Window{Zone: "UTC", Start: 9 * 60, End: 17 * 60}}}
	for end, want := range map[time.Time]bool{opens: false, opens.Add(1): true} {
		c.WindowEndsAt = &end
		if at, ok := Clip(c, window.Home{})(opens.Add(-time.Hour)); ok != want || ok && !at.Equal(opens) {
			t.Errorf("a run that ends at %v: %v %v", end, at, ok)
		}
	}
}

func TestADiallerIsIdleAfterThirtySecondsWithoutADial(t *testing.T) {
	now := time.Date(2030, 3, 1, 9, 0, 0, 0, time.UTC)
	for ago, want := range map[time.Duration]Indicator{30 * time.Second: IndicatorLive,
		30*time.Second + 1: IndicatorIdle} {
		if got := Indicate(Running, true, now.Add(-ago), now); got != want {
			t.Errorf("%v after the last dial: %s", ago, got)
		}
	}
}

func TestThePassBreakdownHasAThousandRowsAtMost(t *testing.T) {
	for n, row := range map[int]int{-1: 1, 0: 1, 1: 1, 999: 999, 1000: 1000, 1001: 1000, 1 << 40: 1000} {
		var c Counters
		if p := c.Pass(n); p.Number != row || len(c.Passes) != row {
			t.Errorf("pass %d is row %d of %d, want %d", n, p.Number, len(c.Passes), row)
		}
	}
}

func TestAShareOfFalsePositivesIsFivePerCentAtMost(t *testing.T) {
	for ppm, want := range map[int]bool{-1: false, 0: true, 50_000: true, 50_001: false} {
		s := goodSettings()
		s.FalsePositivePPM = ppm
		if err := s.Validate(); (err == nil) != want {
			t.Errorf("%d ppm: %v", ppm, err)
		}
	}
}

func TestAConfigURLHas2048CharactersAtMost(t *testing.T) {
	for n, want := range map[int]bool{2048: true, 2049: false} {
		s := goodSettings()
		s.ConfigURL = "https://example.org/"
		s.ConfigURL += strings.Repeat("x", n-len(s.ConfigURL))
		if err := s.Validate(); (err == nil) != want {
			t.Errorf("%d characters: %v", n, err)
		}
	}
}
