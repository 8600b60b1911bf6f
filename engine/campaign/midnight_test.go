package campaign

import (
	"testing"
	"time"

	"dialler/engine/window"
)

func TestMidnightIsFoundWithoutReadingTheZoneAgain(t *testing.T) {
	c := &Campaign{Settings: Settings{Window: window.Window{Zone: "Europe/Berlin"}}}
	now := time.Date(2030, 3, 31, 12, 0, 0, 0, time.UTC) // the clocks went forward in the night
	if got := NextMidnight(c, now).Sub(DayStart(c, now)); got != 23*time.Hour {
		t.Fatalf("a day of %s", got)
	}
	// A run calls this twice a second.
	if n := testing.AllocsPerRun(100, func() { NextMidnight(c, now) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
