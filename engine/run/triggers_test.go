package run

import (
	"fmt"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

func triggers(id string) *Trigger { return &Trigger{Command: campaign.Trigger{Number: phone(id)}} }

// looked answers that there is no contact for a trigger.
func (w *world) looked(change ...func(*TriggerFound)) {
	w.t.Helper()
	q := one[FindTrigger](w)
	m := &TriggerFound{Read: q.Read, Request: q.Request, Command: q.Command, Live: q.Live, Importing: q.Importing}
	for _, c := range change {
		c(m)
	}
	w.do(m)
}

// seated is a run with ten seats and no contact to dial.
func seated(t tester, change ...func(*Loaded)) *world {
	w := ready(t, change...)
	w.due(nil, 1)
	w.s.wantSeats(10)
	w.seats(10)
	w.forget()
	return w
}

// In the given state the trigger is refused for the first reason that holds.
func TestTheOrderInWhichATriggerIsRefused(t *testing.T) {
	gone := func(w *world) { w.s.M.C.ID = "" }
	late := func(w *world) { w.now = w.now.Add(time.Hour) }
	ended := func(w *world) { w.s.M.C.State = campaign.Completed }
	outside := func(w *world) { from12(w); w.s.M.C.Settings.SingleDay = true }
	excluded := func(w *world) { w.s.Excluded.Add(&journal.Exclusion{Number: phone("c1")}) }
	erased := func(w *world) { w.s.Erasing[phone("c1")] = w.now.Add(2 * time.Hour) }
	all := []struct {
		code string
		set  func(*world)
	}{{"campaign_not_found", gone}, {"deadline_passed", late}, {"campaign_not_running", ended}, {"outside_window",
		outside},
		{"contact_excluded", excluded}, {"person_being_erased", erased}}
	for i := range all {
		w := seated(t)
		for _, x := range all[i:] {
			x.set(w)
		}
		m := triggers("c1")
		m.Command.Deadline = t0.Add(time.Minute)
		w.refused(w.ask(m), all[i].code)
	}
}

// from12 is a window that is closed at t0.
func from12(w *world) {
	w.s.M.C.Settings.Window.Start, w.s.M.C.Settings.Window.End, w.s.M.C.Settings.Window.Zone = 12*60, 13*60, "UTC"
	w.s.WindowUntil = time.Time{}
}

func TestATriggerIsDialledAtOnceOrQueued(t *testing.T) {
	for _, c := range []struct {
		what   string
		change func(*world)
		trunk  bool
		number bool
		reason string // "" means that it is dialled
	}{
		{"with everything in memory", nil, true, true, ""},
		{"without a trunk", nil, false, false, "trunk_cps"},
		{"without a number", nil, true, false, "number_pool"},
		{"paused meanwhile", func(w *world) { w.ask(act(campaign.ActionPause)) }, true, true, "paused"},
	} {
		w := seated(t)
		r := w.ask(triggers("c1"))
		w.looked()
		w.trunksAfter(func(w *world) {
			if c.change != nil {
				c.change(w)
			}
		}, c.trunk)
		if c.trunk {
			n := 0
			if c.number {
				n = 1
			}
			w.numbers(n, engine.ConstraintNumberPool)
		}
		if c.reason == "" {
			d := one[Spawn](w).First[0].(*call.Dial)
			eq(w, c.what, []any{d.Trigger.Request, w.s.Lines[oneLine(w)].Phase}, []any{r, attempt.PhaseDialling})
			w.waits(r) // its contact replies, with the intent
			continue
		}
		w.waits(r)
		w.durable()
		rep := granted[campaign.TriggerReply](w, r)
		eq(w, c.what, []any{rep.Status, rep.Reason, rep.NextEligibleAt.Equal(w.now)}, []any{"queued", c.reason, true})
	}
}

func TestATriggerRunsNoPreflight(t *testing.T) {
	w := ready(t, set(func(s *campaign.Settings) { s.Numbers = nil })) // which refuses Start
	r := w.ask(triggers("c1"))
	none[CheckStart](w)
	w.waits(r)
}

func oneLine(w *world) engine.ContactID { return w.s.linesInOrder()[0].ID }

func TestWhyATriggerIsQueuedAtOnce(t *testing.T) {
	for _, c := range []struct {
		what   string
		change func(*world)
		reason string
	}{
		{"paused", func(w *world) { w.s.M.C.State = campaign.Paused }, "paused"},
		{"no seats", func(w *world) { w.s.Seats, w.s.SeatTarget = 0, 0 }, "seats"},
		{"outside the window of many days", from12, "window"},
		{"the node drains", func(w *world) { w.proc.draining = true }, "node_draining"},
		{"the database is away", func(w *world) { w.proc.away = true }, "database"},
		{"the lease ran out", func(w *world) { w.proc.fenced = true }, "node_fenced"},
		{"the campaign is handed over", func(w *world) { w.ask(&DialNoMore{}) }, "node_draining"},
	} {
		w := seated(t)
		c.change(w)
		r := w.ask(triggers("c1"))
		none[ReserveTrunks](w)
		wr := one[Write](w).Write
		eq(w, c.what, []any{wr.Fresh, wr.Contacts[0].DueClass, wr.Events[0].Type}, []any{true, contact.DueTrigger,
			journal.ContactTriggered})
		w.durable()
		eq(w, c.what, granted[campaign.TriggerReply](w, r).Reason, c.reason)
		eq(w, "under way", []any{len(w.s.TriggersOf), len(w.s.Fresh)}, "[0 0]")
	}
}

func TestATriggerOfANumberAbandonedOfLateWaitsForASeat(t *testing.T) {
	for _, seat := range []bool{false, true} {
		w := seated(t)
		w.proc.seat[phone("c1")] = true
		w.s.now, w.s.proc = w.now, w.proc
		cmd := triggers("c1").Command
		w.s.addTriggered(&cmd, &call.Trigger{Command: cmd, Request: "r"}, true)
		c, ok := w.s.nextCandidate(seat)
		eq(w, "dialled, with a seat", []any{ok, c.Seated}, []any{seat, seat})
		if !seat {
			eq(w, "queued", w.s.out[0].(Write).Write.Events[0].Data.Reason, "seats")
		}
	}
}

func TestATriggersReplyCommitsWithItsContact(t *testing.T) {
	w := ready(t, in(campaign.Paused))
	m := triggers("c1")
	m.Command.Idempotency.Token = "key"
	r := w.ask(m)
	wr := one[Write](w)
	eq(w, "reply", []any{wr.Write.Reply.Token, wr.Revoke, wr.Then != nil}, "[key true true]")
	w.confirm(journal.ErrReplyExists)
	w.refused(r, "idempotency_in_progress")
}

// What the campaign knows decides where a queued trigger is refused as a new person: it may have a contact with the
// number, and that one a number that is not on the suppression list.
func TestARefusedTriggersNumberIsLookedUp(t *testing.T) {
	for _, err := range []error{journal.ErrContactExists, journal.ErrSuppressed} {
		w := ready(t, in(campaign.Paused))
		r := w.ask(triggers("c2"))
		w.confirm2(err)
		w.waits(r)
		w.pass(0)
		w.pass(20 * time.Millisecond)
		f := one[FindTrigger](w)
		eq(w, "looked up", f.Request, r)
		w.do(&TriggerFound{Read: f.Read, Command: f.Command, Request: r, Err: journal.ErrSuppressed})
		w.refused(r, "suppressed")
	}
}

// A trigger's contact is being written when its number is excluded: the campaign already has the
// number, and the exclusion is newer than the trigger.
func TestAnExclusionOvertakesATriggerThatIsBeingWritten(t *testing.T) {
	for _, excluded := range []bool{false, true} {
		w := ready(t, in(campaign.Paused), set(func(s *campaign.Settings) { s.StickyExclusion = false }))
		r := w.ask(triggers("c1"))
		if excluded {
			w.ask(excludes("c1"))
		} else {
			w.ask(excludes("c2"))
		}
		w.confirm2(journal.ErrContactExists)
		if excluded {
			w.refused(r, "contact_excluded")
		}
		w.pass(20 * time.Millisecond)
		eq(w, "looked up", len(sent[FindTrigger](w)) > 0, !excluded)
		w.forget()
	}
}

// confirm2 confirms the next write.
func (w *world) confirm2(err error) {
	w.t.Helper()
	for w.owed[0].then == nil {
		w.confirm(nil)
	}
	w.confirm(err)
	w.durable()
}

func TestASecondTriggerOfANumberWaitsForTheFirst(t *testing.T) {
	w := seated(t)
	w.ask(triggers("c1"))
	r := w.ask(triggers("c1"))
	w.looked()
	w.round()
	id := oneLine(w)
	w.do(&call.Up{Contact: id})
	w.pass(20*time.Millisecond - 1)
	eq(w, "waits", len(told[*call.Reopen](w, id)), 0)
	w.pass(1)
	eq(w, "merged", told[*call.Reopen](w, id)[0].Trigger.Request, r)
}

func TestATriggerOfAContactThatIsUpIsMergedIntoIt(t *testing.T) {
	w := dialling(t, 1)
	w.ask(triggers("c1"))
	eq(w, "merged", len(told[*call.Reopen](w, "c1")), 1)
	// With a key the tables are asked for the stored reply first.
	m := triggers("c1")
	m.Command.Idempotency.Token = "key"
	r := w.ask(m)
	q := one[FindTrigger](w)
	eq(w, "only the reply", []any{q.Live, q.Unanswered}, "[true false]")
	w.do(&TriggerFound{Read: q.Read, Request: r, Command: q.Command, Live: true, Err: journal.ErrReplyExists})
	w.refused(r, "idempotency_in_progress")
	r = w.ask(m)
	w.looked()
	eq(w, "merged", told[*call.Reopen](w, "c1")[0].Trigger.Request, r)
}

func TestATriggerOfAContactAtRestReopensIt(t *testing.T) {
	w := seated(t)
	m := triggers("c1")
	m.Command.Variables = map[string]string{"new": "1"}
	r := w.ask(m)
	final := w.final("c1")
	final.Variables = map[string]string{"old": "1"}
	w.looked(func(m *TriggerFound) { m.Row, m.OK = final, true })
	w.round()
	d := told[*call.Dial](w, "c1")[0]
	eq(w, "dialled as it is stored, and reopened with it", []any{d.Reopens, d.Trigger.Request, one[Spawn](w).Row.State},
		[]any{true, r, contact.Completed})
	eq(w, "its line knows what it will be called with", len(w.s.Lines["c1"].Variables), 2)
	// If it is not dialled now, it is only reopened.
	w.forget()
	r = w.ask(triggers("c2"))
	w.looked(func(m *TriggerFound) { m.Row, m.OK = w.final("c2"), true })
	w.trunks(0, engine.ConstraintTrunkCPS)
	w.do(&ContactRead{Contact: "c2", Row: w.final("c2"), OK: true})
	re := told[*call.Reopen](w, "c2")[0].Trigger
	eq(w, "queued", []any{re.Request, re.Reason}, []any{r, "trunk_cps"})
	// The next eight look their numbers up first, dialled or not.
	w.s.M.C.State = campaign.Paused
	for i := range 8 {
		w.ask(triggers(fmt.Sprint("c", i+3)))
		w.looked()
	}
	w.ask(triggers("c99"))
	none[FindTrigger](w)
}

// While the trigger waits for its round, a late result is stored: the row that was found is out of
// date.
func TestATriggerOfAContactThatWasAtWorkMeanwhileReadsItAgain(t *testing.T) {
	w := seated(t)
	w.ask(triggers("c9"))
	w.looked()
	w.s.LookUpNext = 1
	r := w.ask(triggers("c1"))
	w.looked(func(m *TriggerFound) { m.Row, m.OK = w.final("c1"), true })
	w.do(result("c1"))
	w.do(&ContactRead{Contact: "c1", Row: w.final("c1"), OK: true})
	w.do(&call.Up{Contact: "c1"})
	w.rests(w.final("c1"))
	w.round() // of c9
	eq(w, "dials", len(told[*call.Dial](w, "c1")), 0)
	w.do(&ContactRead{Contact: "c1", Row: w.final("c1"), OK: true})
	eq(w, "reopened by", told[*call.Reopen](w, "c1")[0].Trigger.Request, r)
}

func TestATriggerOfAFinalContactIsRefusedWhenTheCampaignIsStoppedMeanwhile(t *testing.T) {
	w := seated(t)
	r := w.ask(triggers("c1"))
	w.looked(func(m *TriggerFound) { m.Row, m.OK = w.final("c1"), true })
	w.ask(act(campaign.ActionStop))
	w.trunks(1000, "")
	w.numbers(1000, "")
	w.refused(r, "campaign_not_running")
	none[Spawn](w)
}

func TestWhatCameWhileTheDatabaseWasAskedForATriggerCounts(t *testing.T) {
	for _, c := range []struct {
		what   string
		change func(*world)
		m      func(*TriggerFound)
		code   string
	}{
		{"the database is away", nil, func(m *TriggerFound) { m.Err = errDown }, "database_unavailable"},
		{"its deadline passed", func(w *world) { w.goTo(t0.Add(time.Minute)) }, nil, "deadline_passed"},
		{"the run ended", func(w *world) { w.s.M.C.State = campaign.Completed }, nil, "campaign_not_running"},
		{"it was excluded", func(w *world) { w.s.Excluded.Add(&journal.Exclusion{Number: phone("c1")}) }, nil,
			"contact_excluded"},
	} {
		w := seated(t)
		m := triggers("c1")
		m.Command.Deadline = t0.Add(time.Minute)
		r := w.ask(m)
		if c.change != nil {
			c.change(w)
		}
		if c.m == nil {
			c.m = func(*TriggerFound) {}
		}
		w.looked(c.m)
		w.refused(r, c.code)
		eq(w, "under way", len(w.s.TriggersOf), 0)
	}
	// A contact with the number started an actor.
	w := seated(t)
	r := w.ask(triggers("c1"))
	w.s.newLine("c1", phone("c1")).Up = true
	w.looked()
	eq(w, "merged", told[*call.Reopen](w, "c1")[0].Trigger.Request, r)
}

func TestAnExcludedContactThatIsTriggeredComesBackWhereExclusionsAreNotSticky(t *testing.T) {
	w := seated(t, set(func(s *campaign.Settings) { s.StickyExclusion = false }))
	w.excluded("c1")
	w.ask(triggers("c1"))
	w.looked(func(m *TriggerFound) {
		m.Row, m.OK = w.row("c1"), true
		m.Row.State = contact.Excluded
	})
	eq(w, "lifted", one[Write](w).Write.Exclusions[0].Lifted, true)
	w.excluded("c2")
	w.s.M.C.State = campaign.Paused
	w.ask(triggers("c2"))
	w.looked() // excluded in advance
	eq(w, "lifted", sent[Write](w)[0].Write.Exclusions[0].Lifted, true)
}

func TestAnExclusionOvertakesTheTriggersThatWait(t *testing.T) {
	w := seated(t)
	w.s.DemandOpen = w.s.Demands // the fleet has not answered yet: triggers wait for it
	w.s.Seats, w.s.SeatTarget = 0, 0
	a, b := w.ask(triggers("c1")), w.ask(triggers("c2"))
	eq(w, "waiting", len(w.s.Triggers), 2)
	w.ask(excludes("c1"))
	w.refused(a, "contact_excluded")
	w.waits(b)
	eq(w, "under way", []any{len(w.s.TriggersOf), len(w.s.Fresh)}, "[1 1]")
	// During a reservation.
	for _, late := range []bool{false, true} {
		w = seated(t)
		r := w.ask(triggers("c1"))
		w.looked()
		w.trunksAfter(func(w *world) { w.ask(excludes("c1")) }, true)
		if late {
			w.pass(5 * time.Second)
		} else {
			w.numbers(1, "")
			one[ReleaseNumber](w)
		}
		one[ReleaseTrunk](w)
		w.refused(r, "contact_excluded")
		eq(w, "under way", []any{len(w.s.TriggersOf), len(w.s.Fresh), len(w.s.Lines)}, "[0 0 0]")
	}
}

func TestATriggerThatIsReservedForWhenTheRunEndsIsRefused(t *testing.T) {
	w := seated(t)
	r := w.ask(triggers("c1"))
	w.looked()
	w.trunksAfter(func(w *world) { w.ask(act(campaign.ActionStop)) }, true)
	w.numbers(1, "")
	w.refused(r, "campaign_not_running")
	eq(w, "under way", []any{len(w.s.TriggersOf), len(w.s.Fresh)}, "[0 0]")
}

func TestTriggersGoBeforeFirstAttemptsAndAfterDueCallbacks(t *testing.T) {
	w := seated(t)
	callback := w.row("c5")
	callback.DueClass = contact.DueCallback
	w.s.Queue.Push(w.row("c1"))
	w.s.Queue.Push(callback)
	w.ask(triggers("c9"))
	w.looked()
	r := w.s.Round
	var order []any
	for i := range r.Candidates {
		order = append(order, r.Candidates[i].Row.Number)
	}
	eq(w, "order", order, []any{phone("c5"), phone("c1")})
}

// Whoever is ahead of a trigger may turn out not to be dialled: then it is its turn, at once.
func TestATriggerBehindSomebodyWhoIsNotDialledIsDecided(t *testing.T) {
	w := seated(t)
	ahead := w.row("c7")
	ahead.DueClass, ahead.Precedence = contact.DueTrigger, -4 // of priority 9
	w.s.Queue.Push(ahead)
	w.s.Excluded.Add(&journal.Exclusion{Number: ahead.Number})
	r := w.ask(triggers("c1"))
	w.looked()
	w.trunks(1, "")
	w.numbers(1, "")
	d := one[Spawn](w).First[0].(*call.Dial)
	eq(w, "the trigger that is dialled", d.Trigger.Request, r)
}

// A trigger names the second number of a person. An exclusion by the first is newer than it wherever the
// trigger waits, although only the stored row tells whose number it is.
func TestAnExclusionByAnotherNumberOfThePersonIsNewerThanTheTriggersThatWait(t *testing.T) {
	found := func(w *world) {
		w.looked(func(m *TriggerFound) {
			m.Row, m.OK = w.final("c1"), true
			m.Row.Alternates = contact.NewAlternates([]contact.Alternate{{Number: phone("c2")}})
			m.Row.State = contact.Excluded
		})
	}
	notSticky := set(func(s *campaign.Settings) { s.StickyExclusion = false })
	for _, c := range []struct {
		what  string
		begin func(*world) engine.Request
		end   func(*world)
	}{
		{"looked up", func(w *world) engine.Request { return w.ask(triggers("c2")) }, func(*world) {}},
		{"being written", func(w *world) engine.Request {
			w.s.M.C.State = campaign.Paused
			return w.ask(triggers("c2"))
		}, func(w *world) {
			w.confirm2(journal.ErrContactExists)
			w.pass(20 * time.Millisecond)
		}},
		{"behind another", func(w *world) engine.Request {
			w.ask(triggers("c2"))
			return w.ask(triggers("c2"))
		}, func(w *world) {
			w.looked(func(m *TriggerFound) { m.Err = errDown })
			w.pass(20 * time.Millisecond)
		}},
		{"behind a switch", func(w *world) engine.Request {
			w.ask(begins("imp"))
			w.durable()
			r := w.ask(triggers("c2"))
			w.looked(func(m *TriggerFound) { m.Staged = true })
			eq(w, "parked", len(w.s.Parked), 1)
			return r
		}, func(w *world) { w.do(&ActivationEnded{Import: "imp"}) }},
		{"waits for room", func(w *world) engine.Request {
			w.s.DemandOpen = w.s.Demands
			w.s.Seats, w.s.SeatTarget = 0, 0
			r := w.ask(triggers("c2"))
			none[FindTrigger](w)
			return r
		}, func(w *world) { w.seats(10) }},
		{"waits for room, then for its write", func(w *world) engine.Request {
			w.s.DemandOpen = w.s.Demands
			w.s.Seats, w.s.SeatTarget = 0, 0
			return w.ask(triggers("c2"))
		}, func(w *world) {
			w.ask(act(campaign.ActionPause))
			w.confirm2(journal.ErrContactExists)
			w.pass(20 * time.Millisecond)
		}},
	} {
		for _, own := range []bool{true, false} {
			w := seated(t, notSticky)
			r := c.begin(w)
			if own {
				w.ask(excludes("c1"))
			} else {
				w.ask(excludes("c3"))
			}
			c.end(w)
			found(w)
			if own {
				w.refused(r, "contact_excluded")
			} else {
				w.waits(r)
			}
			eq(w, c.what+": it stands", w.s.Excluded.Has(phone("c1"), nil), own)
			eq(w, c.what+": remembered", []any{w.s.LookUps, len(w.s.Newer)}, "[0 0]")
		}
	}
}
