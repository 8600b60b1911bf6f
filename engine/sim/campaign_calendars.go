package sim

import (
	"slices"
	"time"

	"dialler/engine/calendar"
	"dialler/engine/run"
	"dialler/engine/window"
)

// editCalendars puts other calendars in place of the installation's, and tells the runs.
func (w *campaignWorld) editCalendars(list []calendar.Named) {
	list = slices.Clone(list)
	for i := range list {
		list[i].Version = int64(w.now) + 1
	}
	w.in.Calendars = list
	w.store.SetCalendars(list)
	w.check.calendarsAt = w.now
	for _, c := range w.campaigns {
		if r := w.runner(c); r != nil { // one that is not up reads them when it is
			w.process.after(w.delay(ownersTake), r, &run.CalendarsChanged{Calendars: list})
		}
	}
}

// withinCalendars checks that nobody is called while a calendar of the campaign, or of the callee's
// country, is closed.
func (k *checker) withinCalendars(c *campaignRecord, x *leg, home window.Home) {
	if k.calendarsAt > 0 && k.w.now-k.calendarsAt < timesSettle || k.steppedAt > 0 && k.w.now-k.steppedAt < timesSettle {
		return
	}
	s := &k.w.row(c).Settings
	for i := range k.w.in.Calendars {
		n := &k.w.in.Calendars[i]
		zones := []string{s.Window.Zone}
		country := slices.Contains(n.Hours.Countries, home.Country)
		switch {
		case !country && !slices.Contains(s.Calendars, n.ID):
			continue
		case n.Hours.Zone != "":
			zones = []string{n.Hours.Zone}
		case (country || s.Window.ContactZone) && len(home.Zones) > 0:
			zones = home.Zones
		}
		for _, z := range zones {
			if !openByTheWall(&n.Hours, z, k.w.wall()) {
				k.broke(c, "%s is called at %s, when the calendar %s is closed in %s", x.to.E164(), k.w.wall(), n.ID, z)
			}
		}
	}
}

// openByTheWall is the rule of calendars by what a clock on the wall shows, told apart from the code
// that campaigns ask.
func openByTheWall(c *window.Calendar, zone string, t time.Time) bool {
	loc, err := time.LoadLocation(zone)
	if err != nil {
		return false
	}
	wall := t.In(loc)
	clock := wall.Format("15:04")
	noon := time.Date(wall.Year(), wall.Month(), wall.Day(), 12, 0, 0, 0, time.UTC)
	for back, day := range []time.Time{noon, noon.AddDate(0, 0, -1)} {
		date, hours := day.Format(time.DateOnly), c.Hours[window.Day(day.Format("Mon"))]
		if c.Hours == nil {
			hours = []window.Span{{From: 0, To: 24 * 60}}
		}
		if slices.ContainsFunc(c.Holidays, func(h window.Holiday) bool { return h.Date.String() == date }) {
			hours = nil
		}
		for _, e := range c.Exceptions {
			if e.Date.String() == date {
				hours = e.Hours
			}
		}
		for _, s := range hours {
			from, to := s.From.String(), s.To.String()
			overnight := to <= from
			if back == 0 && clock >= from && (overnight || clock < to) || back == 1 && overnight && clock < to {
				return true
			}
		}
	}
	return false
}
