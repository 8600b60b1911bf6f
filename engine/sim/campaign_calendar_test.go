package sim

import (
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/calendar"
	"dialler/engine/callee"
	"dialler/engine/campaign"
	win "dialler/engine/window"
)

// TestACampaignCallsWhenItsCalendarsAreOpen counts the calls anew by hour and date, through a crash, a
// takeover and an edit.
func TestACampaignCallsWhenItsCalendarsAreOpen(t *testing.T) {
	hours := func(of map[win.Day][]win.Span, exceptions ...win.Exception) calendar.Named {
		n := calendar.Named{ID: "office", Name: "Office", Hours: win.Calendar{Hours: of, Exceptions: exceptions}}
		n.Complete()
		return n
	}
	morning, noon := win.Span{From: 10 * 60, To: 12 * 60}, win.Span{From: 13 * 60, To: 15 * 60}
	wednesday := win.DateOf(start).Add(2)
	before := hours(map[win.Day][]win.Span{win.Mon: {morning, noon}, win.Tue: {morning}, win.Wed: {morning},
		win.Fri: {noon}},
		win.Exception{Date: wednesday})
	after := hours(map[win.Day][]win.Span{win.Sat: {noon}})
	in := plain(60)
	s := &in.Campaigns[0].Settings
	s.Calendars, s.MaxAttempts, s.RetryDelaySec, s.Concurrency = []engine.CalendarID{"office"}, 12, 7200, 4
	in.Calendars = []calendar.Named{before, {ID: "never", Hours: win.Calendar{Hours: map[win.Day][]win.Span{}}}}
	edited := 4*24*time.Hour + 12*time.Hour // on Friday, at 22:00 in Berlin
	in.Campaigns[0].Acts = append(in.Campaigns[0].Acts, PlannedAct{At: edited, Calendars: []calendar.Named{after}})
	in.Length, in.People = 20*24*time.Hour, callee.Standard()
	in.People.Answer = callee.Always(0.01)
	in.Faults = []Fault{{Kind: FaultCrash, At: 3 * time.Hour, Length: 20 * time.Second},
		{Kind: FaultHandOver, At: 26 * time.Hour, Length: 5 * time.Second}}
	w := newCampaignWorld(in.WithDefaults(), 23)
	w.play()
	r := w.result()
	if r.Broken != nil {
		t.Fatal(r.Broken)
	}
	berlin, _ := time.LoadLocation("Europe/Berlin")
	on := map[string]int{}
	for a := range w.store.AllAttempts() {
		if a.InviteAt == nil {
			continue
		}
		at := a.InviteAt.In(berlin)
		on[at.Format("Mon")]++
		clock, day := at.Format("15:04"), at.Format("Mon")
		if !(clock >= "10:00" && clock < "12:00" && (day == "Mon" || day == "Tue") ||
			clock >= "13:00" && clock < "15:00" && (day == "Mon" || day == "Fri" || day == "Sat")) {
			t.Errorf("a call at %s", at.Format("Mon 15:04"))
		}
	}
	if on["Mon"] == 0 || on["Tue"] == 0 || on["Fri"] == 0 || on["Sat"] == 0 || r.Campaigns[0].State == campaign.Failed {
		t.Errorf("calls by day: %v, %s", on, r.Campaigns[0].State)
	}
}

func TestACallWhileACalendarIsClosedIsFound(t *testing.T) {
	in := plain(5)
	in.Campaigns[0].Settings.Calendars = []engine.CalendarID{"x"}
	in.Calendars = []calendar.Named{{ID: "x"}}
	in.Length = time.Hour
	w := newCampaignWorld(in.WithDefaults(), 1)
	// The judge knows other hours than the campaign.
	w.in.Calendars = []calendar.Named{{ID: "x", Hours: win.Calendar{Hours: map[win.Day][]win.Span{}}}}
	w.play()
	if w.result().Broken == nil {
		t.Error("nothing is found")
	}
}
