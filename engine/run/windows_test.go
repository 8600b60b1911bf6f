package run

import (
	"fmt"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/calendar"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/window"
)

// from9to11 is a window that closes an hour after t0.
func from9to11(s *campaign.Settings) {
	s.Window = window.Window{Start: 9 * 60, End: 11 * 60, Zone: "UTC"}
}

func TestNobodyIsDialledOutsideTheWindow(t *testing.T) {
	w := ready(t, set(from9to11))
	w.due(w.rows(1), 0)
	w.goTo(t0.Add(time.Hour))
	w.seats(10)
	none[ReserveTrunks](w)
	eq(w, "why", w.s.Pace.Last.Constraint, engine.ConstraintWindow)
	w.goTo(t0.Add(23 * time.Hour))
	w.do(&DatabaseChanged{})
	one[ReserveTrunks](w)
}

func TestTheWindowIsAskedAnewEverySecondAndWhenTheClockWasSetBack(t *testing.T) {
	w := ready(t, set(from9to11))
	open := func(at time.Duration, want bool) {
		t.Helper()
		w.s.now = t0.Add(at)
		eq(w, fmt.Sprint("open at ", at), w.s.windowOpen(), want)
	}
	w.s.WindowFrom, w.s.WindowUntil, w.s.WindowOpen = t0, t0.Add(time.Second), false
	open(0, false) // cached
	open(time.Second-1, false)
	open(time.Second, true)
	w.s.WindowOpen = false
	open(time.Second, false)
	open(time.Second-1, true)
	eq(w, "ends", w.s.WindowEnds, t0.Add(time.Hour))
}

func TestAnInviteMayLeaveUntilTheWindowTheRunOrTheIntentEnds(t *testing.T) {
	for _, c := range []struct {
		at   time.Duration
		ends time.Duration // of a single-day run; 0 means none
		want time.Duration
	}{
		{0, 0, 10 * time.Second},
		{time.Hour - 3*time.Second, 0, 3 * time.Second},
		{0, 2 * time.Second, 2 * time.Second},
		{time.Hour, 0, 0},
	} {
		w := ready(t, set(from9to11))
		w.s.now = t0.Add(c.at)
		if c.ends > 0 {
			end := w.s.now.Add(c.ends)
			w.s.M.C.WindowEndsAt = &end
		}
		eq(w, fmt.Sprintf("%+v", c), w.s.callableFor(phone("c1")), c.want)
	}
}

// byTheirClocks is a window by the contacts' clocks that is open in Germany at t0 and closed in
// Tokyo.
func byTheirClocks(s *campaign.Settings) {
	s.Window = window.Window{Start: 9 * 60, End: 18 * 60, Zone: "UTC", ContactZone: true}
}

// tokyo is a contact in Japan, where it is 19:00 at t0.
func (w *world) tokyo(id string) contact.Contact {
	c := w.row(id)
	c.Number = engine.PhoneNumber("+8131234" + fmt.Sprintf("%04d", len(w.s.Queue.byID)))
	return c
}

func TestAContactWhoseOwnWindowIsClosedIsPutOffToItsNextOpening(t *testing.T) {
	w := ready(t, set(byTheirClocks))
	w.due([]contact.Contact{w.tokyo("c1"), w.row("c2")}, 0)
	w.seats(10)
	opens := time.Date(2026, 3, 3, 0, 0, 0, 0, time.UTC)
	wr := one[Write](w).Write
	eq(w, "put off", []any{len(wr.Contacts), wr.Contacts[0].ID, wr.Contacts[0].DueAt.UTC()}, []any{1, "c1", opens})
	e := wr.Events[0]
	eq(w, "event", []any{e.Type, e.Contact, e.Data.Reason, e.Data.DueAt.UTC()}, []any{journal.ContactChanged, "c1",
		"outside_window", opens})
	eq(w, "the other is dialled", len(one[ReserveTrunks](w).Legs), 1)
	// Until that is durable, a command for the contact waits for its new row.
	w.do(&SubmitResult{Contact: "c1"})
	none[ReadContact](w)
	none[Spawn](w)
	w.durable()
	eq(w, "row", one[ReadContact](w).Contact, "c1")
	w.do(&ContactRead{Contact: "c1", Row: wr.Contacts[0], OK: true})
	eq(w, "result", len(told[*call.StoreResult](w, "c1")), 1)
}

func TestWhoIsPutOffAndWantedByNobodyIsForgottenOnceThatIsDurable(t *testing.T) {
	w := ready(t, set(byTheirClocks))
	w.due([]contact.Contact{w.tokyo("c1")}, 0)
	w.seats(10)
	eq(w, "loads", len(w.s.Loads), 1)
	none[ReserveTrunks](w)
	w.durable()
	eq(w, "loads", len(w.s.Loads), 0)
	// The campaign is outside its window while no contact's window is open.
	w.due(nil, 1)
	live := granted[campaign.Detail](w, w.ask(&Detail{})).Live
	eq(w, "why", live.Constraint, engine.ConstraintWindow)
	w.goTo(w.s.Opens)
	w.do(&DatabaseChanged{})
	live = granted[campaign.Detail](w, w.ask(&Detail{})).Live
	eq(w, "why", live.Constraint != engine.ConstraintWindow, true)
}

func TestAtMost512ContactsArePutOffByOneWrite(t *testing.T) {
	w := ready(t, set(byTheirClocks))
	w.s.Config.LookAhead = 2000
	var rows []contact.Contact
	for i := range 600 {
		c := w.tokyo(fmt.Sprint("c", i+1))
		c.Position = int64(i)
		rows = append(rows, c)
	}
	w.due(rows, 0)
	w.seats(10)
	list := sent[Write](w)
	eq(w, "first write", len(list[0].Write.Contacts), 512)
	w.do(&DatabaseChanged{})
	eq(w, "second write", len(sent[Write](w)[0].Write.Contacts), 88)
}

func TestTheEarliestOpeningOfThoseWhoWerePutOffCounts(t *testing.T) {
	w := ready(t, set(byTheirClocks))
	newYork := w.row("c3") // 05:00 there, 14:00 UTC it opens
	newYork.Number = "+12125550100"
	w.due([]contact.Contact{w.tokyo("c1"), newYork, w.tokyo("c2")}, 0)
	w.seats(10)
	eq(w, "opens", w.s.Opens.UTC(), time.Date(2026, 3, 2, 14, 0, 0, 0, time.UTC))
	eq(w, "next look", !w.s.NextDue.After(w.s.Opens), true)
	w.durable()
	// From then on the next opening counts.
	w.s.Queue.Clear()
	w.goTo(w.s.Opens)
	w.s.Reading, w.s.NextDue = true, nil
	w.due([]contact.Contact{w.tokyo("c4")}, 0)
	w.seats(10)
	eq(w, "opens", w.s.Opens.UTC(), time.Date(2026, 3, 3, 0, 0, 0, 0, time.UTC))
	w.durable()
	w.s.Queue.Clear()
	w.goTo(w.s.Opens) // 19:00 in New York
	w.s.Reading, w.s.NextDue = true, nil
	newYork.DueAt = &w.now
	w.due([]contact.Contact{newYork}, 0)
	w.seats(10)
	eq(w, "opens", w.s.Opens.UTC(), time.Date(2026, 3, 3, 14, 0, 0, 0, time.UTC))
}

func TestATriggerOutsideTheContactsWindowIsQueuedForItsOpening(t *testing.T) {
	w := ready(t, set(byTheirClocks))
	w.due(nil, 1)
	r := w.ask(&Trigger{Command: campaign.Trigger{Number: "+81312340001"}})
	w.seats(10)
	q := one[FindTrigger](w)
	w.do(&TriggerFound{Read: q.Read, Request: r, Command: q.Command})
	w.durable()
	rep := granted[campaign.TriggerReply](w, r)
	eq(w, "reply", []any{rep.Status, rep.Reason, rep.NextEligibleAt.UTC()}, []any{"queued", "window",
		time.Date(2026, 3, 3, 0, 0, 0, 0, time.UTC)})
}

func TestAClockThatWasSteppedByMoreThan2SecondsHasEverythingLookedAtAnew(t *testing.T) {
	for _, step := range []time.Duration{-time.Hour, -time.Second, time.Second, time.Hour} {
		w := ready(t)
		w.due(nil, 1)
		w.pass(time.Second)
		w.s.Queue.Push(w.later("c1", time.Hour))
		w.s.Opens, w.s.WindowUntil = t0.Add(time.Hour), t0.Add(time.Hour)
		w.forget()
		w.now = w.now.Add(step)
		for i := range w.alarms { // they run by the monotonic clock
			w.alarms[i].at = w.alarms[i].at.Add(step)
		}
		w.pass(500 * time.Millisecond)
		big := step.Abs() > 2*time.Second
		eq(w, fmt.Sprint("told of ", step), len(sent[ClockStepped](w)) == 1, big)
		eq(w, "look-ahead", w.s.Queue.Len() == 0, big)
		eq(w, "opens", w.s.Opens.IsZero(), big)
		if big {
			one[ReadDue](w)
		}
	}
}

func TestWhatWasBeingReadWhenTheClockWasSteppedIsReadAgain(t *testing.T) {
	w := ready(t)
	w.pass(time.Second)
	w.now = w.now.Add(time.Hour)
	for i := range w.alarms {
		w.alarms[i].at = w.alarms[i].at.Add(time.Hour)
	}
	w.pass(500 * time.Millisecond)
	w.forget()
	w.due(w.rows(1), 0)
	eq(w, "look-ahead", w.s.Queue.Len(), 0)
	one[ReadDue](w)
}

func TestASingleDayRunEndsWithItsWindow(t *testing.T) {
	for _, state := range []campaign.State{campaign.Running, campaign.Paused} {
		w := ready(t, set(func(s *campaign.Settings) { s.SingleDay = true }), in(state), func(l *Loaded) {
			end := t0.Add(time.Second)
			l.Campaign.WindowEndsAt = &end
		})
		w.pass(999 * time.Millisecond)
		eq(w, "before", w.s.M.C.State, state)
		w.pass(time.Millisecond)
		eq(w, "state", []any{w.s.M.C.State, w.s.M.C.CompletionReason}, []any{campaign.Completed,
			campaign.ReasonWindowEnded})
		eq(w, "closed", one[Write](w).Write.Bulk.To, contact.WindowClosed)
	}
}

// SEMANTICS §8: live calls are not cut.
func TestAConversationGoesOnOverTheEndOfTheWindow(t *testing.T) {
	for _, single := range []bool{false, true} {
		w := dialling(t, 1, set(from9to11), set(func(s *campaign.Settings) { s.SingleDay = single }), func(l *Loaded) {
			if end := t0.Add(time.Hour); single {
				l.Campaign.WindowEndsAt = &end
			}
		})
		w.moved("c1", attempt.PhaseWaiting)
		w.moved("c1", attempt.PhaseServed)
		w.forget()
		w.goTo(t0.Add(time.Hour - time.Second))
		w.pass(2 * time.Second)
		eq(w, "it is closed", w.s.windowOpen(), false)
		eq(w, "the run is over", w.s.M.C.State == campaign.Completed, single)
		for _, e := range told[*call.End](w, "c1") {
			eq(w, "the call is hung up", e.HangUp, false)
		}
		eq(w, "conversations", granted[campaign.Detail](w, w.ask(&Detail{})).Live.InProgress, 1)
	}
}

// SEMANTICS §8: a calendar may be edited in a running campaign, also wrongly.
func TestAContactOutlivesAWrongEditOfACalendar(t *testing.T) {
	disjoint := func(countries ...string) []calendar.Named {
		return []calendar.Named{{ID: "x", Name: "X", Version: 2, Hours: window.Calendar{Name: "X", Countries: countries,
			Hours: map[window.Day][]window.Span{window.Mon: {{From: 20 * 60, To: 21 * 60}}}}}}
	}
	for name, c := range map[string]struct {
		settings    func(*campaign.Settings)
		wrong, good []calendar.Named
	}{
		"of a country": {from9to11, disjoint("DE"), nil},
		"by the contacts' clocks": {func(s *campaign.Settings) {
			byTheirClocks(s)
			s.Calendars = []engine.CalendarID{"x"}
		}, disjoint(), []calendar.Named{{ID: "x", Name: "X", Version: 1, Hours: window.Calendar{Name: "X"}}}},
		"that is missing": {func(s *campaign.Settings) {
			byTheirClocks(s)
			s.Calendars = []engine.CalendarID{"x"}
		}, nil, []calendar.Named{{ID: "x", Name: "X", Version: 1, Hours: window.Calendar{Name: "X"}}}},
	} {
		w := ready(t, set(c.settings), func(l *Loaded) { l.Calendars = c.good })
		w.do(&CalendarsChanged{Calendars: c.wrong})
		w.due(w.rows(1), 0)
		w.seats(10)
		none[ReserveTrunks](w)
		row := one[Write](w).Write.Contacts[0]
		next := t0.Add(24 * time.Hour)
		eq(w, name, []any{row.State, row.Reason}, []any{contact.Pending, ""})
		eq(w, name+": due", row.DueAt.UTC(), next)
		w.durable()
		w.do(&CalendarsChanged{Calendars: c.good})
		w.goTo(next)
		w.due(nil, 1) // what was asked before it was put off
		w.due([]contact.Contact{row}, 0)
		w.seats(10)
		eq(w, name+": dialled", len(one[ReserveTrunks](w).Legs), 1)
	}
}

// The search for an opening goes over 400 days: a turn makes it once for all who are at home in the same
// place.
func TestATurnLooksOnceForAnOpeningThatNeverComes(t *testing.T) {
	w := ready(t, set(from9to11), func(l *Loaded) {
		l.Calendars = []calendar.Named{{ID: "x", Hours: window.Calendar{Countries: []string{"DE", "JP"},
			Hours: map[window.Day][]window.Span{window.Mon: {{From: 20 * 60, To: 21 * 60}}}}}}
	})
	searches := 0
	policy := byHome(func(n engine.PhoneNumber, home func(engine.PhoneNumber) window.Home) contact.Policy {
		p := w.s.rules.PolicyFor(n, home)
		clip := p.Clip
		p.Clip = func(at time.Time) (time.Time, bool) {
			searches++
			return clip(at)
		}
		return p
	})
	for range 512 {
		for _, n := range []engine.PhoneNumber{phone("c1"), "+81312340001", phone("c2")} {
			if _, ok := policy(n).Clip(w.s.now); ok {
				t.Fatal("it opens")
			}
		}
	}
	eq(w, "searches", searches, 2)
}
