package campaign

import (
	"fmt"
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/cadence"
	"dialler/engine/calendar"
	"dialler/engine/contact"
	"dialler/engine/numberpool"
	"dialler/engine/pacing"
	"dialler/engine/window"
)

// PreflightFacts are what Preflight must be told; it reads everything else from the campaign.
type PreflightFacts struct {
	BotKnown bool
	Trunks   int  // active ones
	Callable bool // a contact waits that is not suppressed, or has a call or a result under way
	// Calendars are those of the installation.
	Calendars []calendar.Named

	// Numbers are the states of the configured numbers; a number of the pool that is not configured
	// counts as active.
	Numbers map[engine.PhoneNumber]numberpool.State

	// Needed only for warnings and the estimate.
	Cadence          *cadence.Named // the campaign's, nil if it has none
	BotActive        bool
	BotBySIP         bool
	BotOutage        string // why the bot takes no calls now, "" if it does
	Seats, FreeSeats int    // of the bot
	TrunksUp         int    // active trunks that take calls, …
	TrunksUnproven   int    // … and of these those that were not heard from yet
	CPS, Channels    int    // of the active trunks together
	DatabaseDown     bool
	Draining         bool
	Fenced           bool // this node lost its lease
}

// Preflight says whether Start or Resume can lead to a call. A blocker refuses
// with a list of machine-readable codes and sentences (SEMANTICS §2).
func Preflight(c *Campaign, f PreflightFacts, now time.Time) error {
	blockers := Blockers(c, f, now)
	if len(blockers) == 0 {
		return nil
	}
	e := engine.Conflict("preflight_failed", "the campaign cannot dial: "+codes(blockers))
	e.Fields = blockers
	return e
}

// Preflighted says whether a campaign in the state accepts the command at all, so that its
// preflight matters: other commands are refused because of the state.
func Preflighted(s State, k Kind) bool { return k == Start && s == Draft || k == Resume && s == Paused }

// Blockers are conditions that do not pass by waiting: each forbids Start and Resume.
func Blockers(c *Campaign, f PreflightFacts, now time.Time) (list []engine.FieldError) {
	blocker := func(field, code, message string) {
		list = append(list, engine.FieldError{Field: field, Code: code, Message: message})
	}
	if !f.BotKnown {
		blocker("bot_id", "bot_missing", "the campaign's bot does not exist; create it or choose another")
	}
	switch usable, _ := f.pool(c); {
	case len(c.Settings.Numbers) == 0:
		blocker("number_pool", "no_usable_number", "the number pool is empty; add at least one outbound number")
	case usable == 0:
		blocker("number_pool", "no_usable_number",
			"every number of the pool is quarantined or retired; activate one or add another")
	}
	if f.Trunks == 0 {
		blocker("trunk", "no_trunk", "no active trunk is configured; add one")
	}
	missing := calendar.Missing(c.Settings.Calendars, f.Calendars)
	for _, id := range missing {
		blocker("calendar_ids", "calendar_missing",
			"the campaign's calendar "+string(id)+" does not exist; create it or take it out")
	}
	switch never := !c.Settings.Window.CanEverOpen(now); {
	case never && len(c.Settings.Calendars) == 0:
		blocker("window", "window_never_opens", "the calling window can never open; check days and holidays")
	case never && len(missing) == 0:
		blocker("window", "window_never_opens", fmt.Sprintf("the calling window and the calendars of the campaign (%s) are "+
			"never open together in the next %d days; compare their hours", calendar.Names(c.Settings.Calendars, f.Calendars),
			window.HorizonDays))
	}
	if !f.Callable && !c.Settings.AlwaysOn {
		blocker("contacts", "no_callable_contact", "no contact can be called; add contacts or make the campaign always-on")
	}
	if !wellFormed(c.Settings.ConfigURL) {
		blocker("config_url", "config_url_malformed",
			"the Config URL is not an http or https address; correct it or take it out")
	}
	return list
}

// pool counts the numbers of the campaign that may be used, and those that may
// not.
func (f *PreflightFacts) pool(c *Campaign) (usable, barred int) {
	for _, n := range c.Settings.Numbers {
		switch f.Numbers[n] {
		case numberpool.Quarantined, numberpool.Retired:
			barred++
		case numberpool.Active, numberpool.Resting:
			usable++
		default:
			usable++
		}
	}
	return usable, barred
}

// Order is the order in which the campaign's due contacts are dialled at a time.
func (c *Campaign) Order(now time.Time) contact.Order {
	o := contact.Order{Now: now}
	if c.Settings.AlwaysOn {
		o.Overdue = time.Duration(c.Settings.RetryDelaySec) * time.Second
	}
	return o
}

// Narrow puts the campaign's window within the calendars that its settings name, and those of
// countries. Whoever has a campaign from its row or gives it other settings does so before asking
// about its window.
func (c *Campaign) Narrow(list []calendar.Named) {
	c.Settings.Window = calendar.Narrow(c.Settings.Window, c.Settings.Calendars, list)
}

// Clip returns the function that moves a due time of a contact, whose number is at home somewhere,
// into its next calling window: ok is false when it does not open again in this run.
func Clip(c *Campaign, home window.Home) func(time.Time) (time.Time, bool) {
	w, end := c.Settings.Window.For(home), c.WindowEndsAt
	return func(t time.Time) (time.Time, bool) {
		at, ok := w.NextOpening(t)
		if !ok || (end != nil && !at.Before(*end)) {
			return time.Time{}, false
		}
		return at, true
	}
}

// Complete names the reason why a run ends by itself: either nobody could be called at all
// (excluded, suppressed, not allowed), or every contact is final, the last ones by using up their
// attempts. A dial that used up no attempt counts as a call, too.
func Complete(c Counters, exhausted bool) CompletionReason {
	dialled := slices.ContainsFunc(c.Passes, func(p Pass) bool { return p.FirstDialAt != nil })
	switch {
	case !dialled && c.Attempts == 0:
		return ReasonNoCallable
	case exhausted:
		return ReasonRetriesDone
	}
	return ReasonAllFinal
}

// SingleDayEnd is when a single-day campaign ends: at the end of the window that
// is open now, else of the next one; nil for a multi-day campaign, and while no
// window will ever open (Preflight refuses to dial then). An edit of the window
// is judged like a start at that moment, so that no edit closes a run whose
// window of today has passed: it goes on in the next one.
func SingleDayEnd(c *Campaign, now time.Time) *time.Time {
	if !c.Settings.SingleDay {
		return nil
	}
	open, ok := c.Settings.Window.NextOpening(now)
	if !ok {
		return nil
	}
	end, ok := c.Settings.Window.With(nil, nil).Closes(open) // a break of a calendar does not end the run
	if !ok {                                                 // a window that is always open: the day's end
		end = NextMidnight(c, open)
	}
	return &end
}

// DayStart is midnight of the campaign's zone on the day of now.
func DayStart(c *Campaign, now time.Time) time.Time {
	loc := c.Settings.Window.Location()
	y, m, d := now.In(loc).Date()
	return time.Date(y, m, d, 0, 0, 0, 0, loc)
}

// NextMidnight is the first midnight of the campaign's zone after now.
func NextMidnight(c *Campaign, now time.Time) time.Time {
	d := DayStart(c, now)
	return time.Date(d.Year(), d.Month(), d.Day()+1, 0, 0, 0, 0, d.Location())
}

// PeriodStart is the beginning of the current 30-day period, counted from the campaign's creation.
func PeriodStart(c *Campaign, now time.Time) time.Time {
	n := now.Sub(c.CreatedAt) / pacing.ThirtyDays
	return c.CreatedAt.Add(n * pacing.ThirtyDays)
}

// Books returns the campaign's abandon ledgers as of now. count counts the answers since a time; it
// is not called for a run that has not started, whose ledger is empty, because StartedAt is still
// that of the previous run.
func Books(c *Campaign, now time.Time, count func(since time.Time) (pacing.Counts, error)) (b pacing.Books, err error) {
	b = pacing.NewBooks(now, NextMidnight(c, now), PeriodStart(c, now))
	if c.StartedAt == nil {
		return b, nil
	}
	b.Day.Since = DayStart(c, now)
	counted := []*pacing.Ledger{&b.Day, &b.Thirty}
	if c.State != Draft {
		b.Run.Since = *c.StartedAt
		counted = append(counted, &b.Run)
	}
	for _, l := range counted {
		if l.Counts, err = count(l.Since); err != nil {
			return b, err
		}
	}
	return b, nil
}
