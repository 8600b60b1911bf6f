package process

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"dialler/engine"
	"dialler/http"
)

// calendarsEvery is how often files of holidays that are due are looked for.
const calendarsEvery = time.Minute

// refreshCalendars fetches files of holidays again, each by one node, until the process ends.
func (p *Process) refreshCalendars(ctx context.Context) {
	tick := time.NewTicker(cmp.Or(p.tuning.calendarsEvery, calendarsEvery))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for p.refreshCalendar(ctx) {
			continue
		}
	}
}

// refreshCalendar fetches a file that is due; false if none is. If it cannot be fetched or used, the last
// good one stays, and its calendar and the health say so.
func (p *Process) refreshCalendar(ctx context.Context) bool {
	now := p.clock.Now()
	c, ok, err := p.store.ClaimCalendarFile(ctx, now)
	if err != nil || !ok { // others report that the database is unavailable
		return false
	}
	text, came := c.File.Text, c.File.ReadAt
	if c.URL != "" {
		text, err = p.holidays.Fetch(ctx, c.URL)
	}
	same := text == c.File.Text
	if err == nil {
		err = c.Renew(text, now)
	}
	if same && err == nil {
		c.File.ReadAt = came
	}
	problem := ""
	if err != nil {
		if ctx.Err() != nil {
			return false
		}
		problem = engine.ErrorDetail(err)
		p.log.Warn().Str("calendar_id", string(c.ID)).Str("problem", problem).
			Msg("the holidays of a calendar are not up to date; those known so far hold")
	}
	changed, err := p.store.KeepCalendarFile(ctx, &c, problem, engine.Who{Name: "daily refresh"})
	if err != nil {
		p.log.Warn().Err(err).Str("calendar_id", string(c.ID)).Msg("holidays not stored; they are fetched again")
		return false
	}
	if changed {
		p.front.calendarsChanged(ctx)
	}
	return true
}

// calendarCheck warns of calendars whose files cannot be fetched again.
func (f *Front) calendarCheck(ctx context.Context) http.Check {
	check := http.Check{Name: "calendars", OK: true}
	stale, err := f.Store.StaleCalendars(ctx, f.p.clock.Now())
	if err != nil { // the database's check says it
		return check
	}
	if n := len(stale); n > 0 {
		check.Warning = http.HolidaysStale
		check.Detail = fmt.Sprintf("calendars whose holidays are not up to date: %d; those known so far hold", n)
		check.Known = "holidays are not up to date: " + strings.Join(stale, ", ") + "; those known so far hold"
	}
	return check
}
