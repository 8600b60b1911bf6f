package run

import (
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/ownership"
)

// open is an attempt of an earlier instance that is open in the database.
func open(w *world, id string, change ...func(*attempt.Attempt)) attempt.Attempt {
	at := w.now.Add(-time.Hour)
	a := attempt.Attempt{ID: engine.AttemptID("a-" + id), Campaign: "cmp", Contact: engine.ContactID(id), To: phone(id),
		State: attempt.Ringing, ReservedAt: &at}
	for _, c := range change {
		c(&a)
	}
	return a
}

// actorsOf are the actors of contacts.
func actorsOf(ids ...string) (list []ContactActor) {
	for _, id := range ids {
		list = append(list, ContactActor{Actor: "actor-" + id, Contact: engine.ContactID(id), Number: phone(id)})
	}
	return list
}

// report is a contact's report of where it stands.
func report(w *world, id string, p attempt.Phase, change ...func(*call.Reported)) *Reported {
	m := &Reported{Actor: "actor-" + id, Reported: call.Reported{Row: w.row(id),
		Attempt: engine.AttemptID("a-" + id), Phase: p}}
	if p == attempt.PhaseOver {
		m.Attempt = ""
	}
	for _, c := range change {
		c(&m.Reported)
	}
	return m
}

func TestARunLoadsBehindWhatItsEarlierLifeWrote(t *testing.T) {
	w := empty(t)
	w.do(&Started{})
	none[Load](w)
	w.durable()
	life := one[Load](w).Life
	eq(w, "life", life, w.now.UnixNano())
	w.do(&Loaded{Life: life - 1}) // from an earlier instance
	w.do(&Loaded{Life: life, Err: errDown})
	one[Failed](w)
	w.pass(time.Second - 1)
	none[Load](w)
	w.pass(1)
	one[Load](w)
	none[CallRoster](w)
	w.do(&loadAgain{}) // loading is already in progress
	none[Load](w)
	w.do(stored(w))
	eq(w, "roster", one[CallRoster](w).Life, life)
}

func TestARunWithoutACampaignSaysWhy(t *testing.T) {
	for code, err := range map[string]error{"campaign_not_found": ErrCampaignNotFound,
		"not_owner": ownership.ErrNotOwner} {
		w := empty(t)
		w.do(&Started{})
		r := w.ask(&Detail{})
		w.durable()
		w.do(&Loaded{Life: w.s.Life, Err: err})
		w.refused(r, code)
		w.refused(w.ask(triggers("c1")), code)
		w.refused(w.ask(result("c1")), code)
		one[Leave](w)
	}
}

func TestARunIsReadyOnceEveryContactHasReported(t *testing.T) {
	w := loading(t)
	w.do(report(w, "c1", attempt.PhaseRinging)) // early
	w.do(&RosterCalled{Life: w.s.Life - 1, Actors: nil})
	eq(w, "ready", w.s.Ready, false)
	w.do(&RosterCalled{Life: w.s.Life, Actors: actorsOf("c1", "c2")})
	eq(w, "ready", w.s.Ready, false)
	w.do(report(w, "c2", attempt.PhaseServed, func(m *call.Reported) { m.Seated = true }))
	eq(w, "ready", []any{w.s.Ready, len(w.s.Lines), w.s.Busy}, "[true 2 1]")
	// Not all have reported after two seconds.
	w = loading(t)
	w.do(&RosterCalled{Life: w.s.Life, Actors: actorsOf("c1")})
	w.pass(2*time.Second - 1)
	eq(w, "ready", w.s.Ready, false)
	w.pass(1)
	eq(w, "ready", w.s.Ready, true)
}

// A contact whose actor crashed while the run was down loads behind the writes that wait
// for the run, and reports when the run is ready.
func TestAContactThatIsSlowToReportIsNotBroughtUpASecondTime(t *testing.T) {
	w := loading(t, func(l *Loaded) { l.Open = []attempt.Attempt{open(&world{now: t0}, "c1")} })
	one[CallRoster](w)
	w.do(&RosterCalled{Life: w.s.Life, Actors: actorsOf("c1", "c2")})
	w.pass(2 * time.Second)
	eq(w, "ready, with a seat for the call", []any{w.s.Ready, len(w.s.Lines), w.s.Busy}, "[true 2 1]")
	none[Recover](w)
	w.do(&SubmitResult{Contact: "c1"})
	w.do(&OpenListed{Life: w.s.Life, Epoch: w.s.M.C.Epoch, Open: []attempt.Attempt{open(w, "c1")}})
	none[Recover](w)
	none[ReadContact](w)
	none[Spawn](w)
	w.do(report(w, "c1", attempt.PhaseOver))
	eq(w, "what waited for it", []any{len(told[*call.StoreResult](w, "c1")), w.s.Busy}, "[1 0]")
	// The other one has stopped without a word.
	w.do(&SubmitResult{Contact: "c2"})
	w.pass(2 * time.Second)
	one[CallRoster](w)
	w.do(&RosterCalled{Life: w.s.Life, Actors: actorsOf("c1")})
	eq(w, "lines", len(w.s.Lines), 1)
	eq(w, "its row is read", one[ReadContact](w).Contact, "c2")
	w.pass(4 * time.Second)
	none[CallRoster](w)
}

// It may have been told to dial by the earlier life, while it was loading.
func TestACallThatTheRunHeardNothingOfGetsASeat(t *testing.T) {
	w := dialling(t, 1)
	before := w.s.Lines["c1"].Attempt
	w.do(report(w, "c1", attempt.PhaseOver))
	w.do(&call.LineMoved{Contact: "c1", Attempt: before, Phase: attempt.PhaseWaiting}) // what has ended
	eq(w, "busy", w.s.Busy, 0)
	for _, p := range []attempt.Phase{attempt.PhaseDialling, attempt.PhaseWaiting} {
		w.do(&call.LineMoved{Contact: "c1", Attempt: "a-c1", Phase: p})
	}
	eq(w, "granted", told[*call.SeatGranted](w, "c1")[0].Attempt, "a-c1")
}

func TestWhereAContactThatOutlivedTheRunStands(t *testing.T) {
	for _, c := range []struct {
		what    string
		m       func(*world) *Reported
		seat    bool // its number needs one
		busy    int
		held    int
		waiting int
		live    int
	}{
		{"ringing", func(w *world) *Reported { return report(w, "c1", attempt.PhaseRinging) }, false, 0, 0, 0, 0},
		{"ringing, with a seat held", func(w *world) *Reported { return report(w, "c1", attempt.PhaseRinging) },
			true, 1, 1, 0, 0},
		{"seated", func(w *world) *Reported {
			return report(w, "c1", attempt.PhaseWaiting, func(m *call.Reported) { m.Seated = true })
		}, false, 1, 0, 0, 0},
		{"it waits", func(w *world) *Reported { return report(w, "c1", attempt.PhaseWaiting) }, false, 0, 0, 1, 0},
		{"served, and counted in the tables", func(w *world) *Reported {
			return report(w, "c1",
				attempt.PhaseServed)
		}, false, 1, 0, 0, 0},
		{"served, and it counts by now", func(w *world) *Reported {
			return report(w, "c1", attempt.PhaseServed, func(m *call.Reported) { m.Tentative, m.Stands = true, true })
		}, false, 1, 0, 0, 1},
		{"at rest", func(w *world) *Reported { return report(w, "c1", attempt.PhaseOver) }, true, 0, 0, 0, 0},
	} {
		w := ready(t)
		w.proc.seat[phone("c1")] = c.seat
		for range 2 { // once or twice makes no difference
			m := c.m(w)
			w.do(m)
			eq(w, c.what, []any{w.s.Busy, w.s.Held, len(w.s.Waiting), w.s.Pace.Books.Run.Live}, []any{c.busy,
				c.held, c.waiting, c.live})
			if m.Attempt != "" {
				list := told[*call.Reattached](w, "c1")
				eq(w, c.what, list[len(list)-1].Seated, c.busy > 0)
			}
		}
		w.do(report(w, "c1", attempt.PhaseOver))
		eq(w, c.what+", then over", []any{w.s.Busy, w.s.Held, len(w.s.Waiting)}, "[0 0 0]")
	}
	// No seat is left to hold.
	w := ready(t, set(func(s *campaign.Settings) { s.Concurrency = 1 }))
	w.s.Busy = 1
	w.proc.seat[phone("c1")] = true
	w.do(report(w, "c1", attempt.PhaseRinging))
	eq(w, "busy", []any{w.s.Busy, w.s.Held}, "[1 0]")
}

func TestAnAnswerThatStoodBeforeItsContactWasRestartedIsCountedOnce(t *testing.T) {
	w := dialling(t, 1)
	w.serve("c1", tentative)
	a := w.s.Lines["c1"].Attempt
	w.do(&call.AnswerStands{Contact: "c1", Attempt: a})
	w.do(report(w, "c1", attempt.PhaseServed, func(m *call.Reported) {
		m.Attempt, m.Seated, m.Tentative = a, true,
			true
	}))
	w.do(&call.AnswerStands{Contact: "c1", Attempt: a})
	eq(w, "live answers", w.s.Pace.Books.Run.Live, 1)
	// Another attempt of the contact counts its own answer.
	w.do(report(w, "c1", attempt.PhaseServed, func(m *call.Reported) { m.Seated, m.Tentative = true, true }))
	w.do(&call.AnswerStands{Contact: "c1", Attempt: "a-c1"})
	eq(w, "live answers", w.s.Pace.Books.Run.Live, 2)
}

func TestAContactThatWasRestartedNumbersItsWritesAnew(t *testing.T) {
	w := dialling(t, 1)
	w.do(&call.Persist{Contact: "c1", Step: 1, Write: &journal.Write{}})
	one[PassOn](w)
	w.do(result("c2"))
	w.s.Lines["c1"].Up = false
	w.do(&Keys{Contact: "c1"})
	w.do(report(w, "c1", attempt.PhaseRinging))
	eq(w, "what waited for it", len(told[*call.Keys](w, "c1")), 1)
	w.do(&call.Persist{Contact: "c1", Step: 1, Write: &journal.Write{}})
	one[PassOn](w)
}

func TestAttemptsThatNobodyHasAreClosed(t *testing.T) {
	w := loading(t, func(l *Loaded) {
		w := &world{now: t0}
		other := open(w, "c4")
		other.Campaign = "other"
		l.Open = []attempt.Attempt{open(w, "c1"), open(w, "c2"), open(w, "c3"), other}
		l.Suppressed = map[engine.PhoneNumber]journal.Suppression{phone("c1"): {}}
	})
	w.proc.owned["a-c3"] = true // its contact is only slow to report
	w.do(report(w, "c2", attempt.PhaseRinging))
	r := w.ask(&Detail{})
	w.do(&RosterCalled{Life: w.s.Life, Actors: actorsOf("c2")})
	eq(w, "closing", one[Closing](w).Attempts, 1)
	q := one[Recover](w)
	eq(w, "lost", []any{len(q.Lost), q.Lost[0].ID}, "[1 a-c1]")
	w.waits(r)
	w.do(&Recovered{Life: q.Life - 1, Rows: []RecoveredContact{{Row: w.row("c9")}}}) // from an earlier instance
	w.do(&Recovered{Life: q.Life, Rows: []RecoveredContact{{Row: w.row("c1"), Attempt: q.Lost[0]}}})
	sp := sent[Spawn](w)
	eq(w, "spawned", []any{len(sp), sp[0].Row.ID, sp[0].Lost.ID}, "[1 c1 a-c1]")
	eq(w, "line", []any{w.s.Lines["c1"].Phase, w.s.Busy}, []any{attempt.PhaseReleased, 1}) // until its state is known
	granted[campaign.Detail](w, r)
	w.do(&call.Up{Contact: "c1"})
	eq(w, "suppressed meanwhile", told[*call.End](w, "c1")[0].Reason, engine.CodeSuppressed)
}

func TestWhatALostAttemptComesToCountsUnlessTheLedgersHaveIt(t *testing.T) {
	at := t0
	for _, c := range []struct {
		what    string
		change  func(*attempt.Attempt)
		counted bool
		machine bool
	}{
		{"ringing", func(*attempt.Attempt) {}, false, false},
		{"served", func(a *attempt.Attempt) { a.ServedAt = &at }, true, false},
		{"served, and it may be taken back", func(a *attempt.Attempt) { a.ServedAt, a.RevisableUntil = &at, &at },
			false, false},
		{"abandoned", func(a *attempt.Attempt) { a.Ending = &attempt.Ending{Outcome: engine.OutcomeAbandoned} },
			true, false},
		{"busy", func(a *attempt.Attempt) { a.Ending = &attempt.Ending{Outcome: engine.OutcomeBusy} }, false, false},
		{"a machine", func(a *attempt.Attempt) { a.Verdict = engine.VerdictMachine }, false, true},
		{"a person", func(a *attempt.Attempt) { a.Verdict = engine.VerdictHuman }, false, false},
	} {
		w := ready(t)
		w.do(&Recovered{Life: w.s.Life, Rows: []RecoveredContact{{Row: w.row("c1"), Attempt: open(w, "c1", c.change)}}})
		l := w.s.Lines["c1"]
		eq(w, c.what, []any{l.Counted, l.Machine, l.Attempt}, []any{c.counted, c.machine, "a-c1"})
	}
	w := ready(t)
	w.do(&Recovered{Life: w.s.Life, Rows: []RecoveredContact{{Row: w.row("c1"), Attempt: open(w, "c1",
		func(a *attempt.Attempt) { a.State = attempt.Ended })}}})
	eq(w, "ended: only its legs are watched", []any{w.s.Lines["c1"].Phase, w.s.Lines["c1"].Attempt},
		[]any{attempt.PhaseOver, ""})
	w.do(&Recovered{Life: w.s.Life, Rows: []RecoveredContact{{Row: w.row("c1")}}}) // it is up
	eq(w, "lines", len(w.s.Lines), 1)
}

func TestCallsOfAnEarlierOwnerKeepTheirSeatsUntilTheyAreHeardOf(t *testing.T) {
	at := t0
	answered := func(a *attempt.Attempt) { a.AnsweredAt = &at }
	heard := func(p attempt.Phase) func(*world) {
		return func(w *world) {
			w.do(report(w, "c1", p, func(m *call.Reported) { m.Attempt, m.Seated = "a-c1", true }))
		}
	}
	moved := func(p attempt.Phase) func(*world) {
		return func(w *world) { w.do(&call.LineMoved{Contact: "c1", Attempt: "a-c1", Phase: p}) }
	}
	for _, c := range []struct {
		what   string
		mode   string
		change func(*attempt.Attempt)
		busy   int // until its state is known
		heard  func(*world)
		after  int
	}{
		{"rings, for a seat of its own", campaign.PacingStrict, func(*attempt.Attempt) {}, 1, moved(attempt.PhaseOver), 0},
		{"rings, for whichever seat comes free", campaign.PacingHybrid, func(*attempt.Attempt) {}, 0,
			moved(attempt.PhaseOver), 0},
		{"answered, and gone", campaign.PacingHybrid, answered, 1, moved(attempt.PhaseReleased), 0},
		{"answered, and abandoned", campaign.PacingHybrid, answered, 1, moved(attempt.PhaseAbandoned), 0},
		{"talks on", campaign.PacingHybrid, answered, 1, heard(attempt.PhaseServed), 1},
		{"waits on", campaign.PacingHybrid, answered, 1, moved(attempt.PhaseWaiting), 1},
		{"a machine", campaign.PacingHybrid, func(a *attempt.Attempt) {
			answered(a)
			a.Verdict = engine.VerdictMachine
		}, 0, moved(attempt.PhaseOver), 0},
		{"is ending", campaign.PacingHybrid, func(a *attempt.Attempt) {
			answered(a)
			a.Ending = &attempt.Ending{Outcome: engine.OutcomeBusy}
		}, 0, moved(attempt.PhaseOver), 0},
	} {
		w := ready(t)
		w.s.M.C.Settings.PacingMode = c.mode
		w.do(&Recovered{Life: w.s.Life, Rows: []RecoveredContact{{Row: w.row("c1"), Attempt: open(w, "c1", c.change)}}})
		l := w.s.Lines["c1"]
		eq(w, c.what, []any{w.s.Busy, l.Seated, l.Unheard}, []any{c.busy, c.busy == 1, c.busy == 1})
		c.heard(w)
		eq(w, c.what+", heard of", []any{w.s.Busy, l.Seated, l.Unheard}, []any{c.after, c.after == 1, false})
	}
}

func TestEvery30SecondsAttemptsThatNobodyOwnsAreClosed(t *testing.T) {
	w := ready(t)
	w.pass(500 * time.Millisecond)
	one[ReadOpen](w)
	w.pass(30*time.Second - 1)
	none[ReadOpen](w)
	w.pass(1)
	q := one[ReadOpen](w)
	reserved := func(d time.Duration) func(*attempt.Attempt) {
		at := w.now.Add(-d)
		return func(a *attempt.Attempt) { a.ReservedAt = &at }
	}
	w.s.newLine("c4", phone("c4"))
	w.do(result("c5"))
	list := []attempt.Attempt{open(w, "c1", reserved(30*time.Second)), open(w, "c2", reserved(30*time.Second-1)),
		open(w, "c3", func(a *attempt.Attempt) { a.ReservedAt = nil }), open(w, "c4"), open(w, "c5"), open(w, "c6",
			func(a *attempt.Attempt) { a.Campaign = "other" })}
	w.do(&OpenListed{Life: q.Life - 1, Epoch: w.s.M.C.Epoch, Open: list})
	none[Recover](w)
	w.do(&OpenListed{Life: q.Life, Epoch: w.s.M.C.Epoch, Open: list})
	lost := one[Recover](w).Lost
	eq(w, "lost", []any{len(lost), lost[0].ID}, "[1 a-c1]")
	w.do(&OpenListed{Life: q.Life, Epoch: w.s.M.C.Epoch})
	none[Recover](w)
}

// A node that stood still learns late that another one has its campaign, and that one's calls are not its to end.
func TestWhatTheNextOwnerDialledIsNotClosedByTheOneBefore(t *testing.T) {
	w := ready(t)
	w.pass(500 * time.Millisecond)
	q := one[ReadOpen](w)
	long := w.now.Add(-time.Minute)
	w.do(&OpenListed{Life: q.Life, Epoch: w.s.M.C.Epoch + 1, Open: []attempt.Attempt{open(w, "c1",
		func(a *attempt.Attempt) { a.ReservedAt = &long })}})
	none[Recover](w)
	r := w.ask(act(campaign.ActionPause))
	w.durable()
	w.refused(r, "stale_epoch")
}

func TestSeatsThatLinesReliedOnBeforeATakeOverArePresumed(t *testing.T) {
	answered := func(a *attempt.Attempt) { at := t0; a.AnsweredAt = &at }
	for _, c := range []struct {
		what   string
		shared bool
		mode   string
		bot    int
		asked  int // by the previous instance
		want   int
	}{
		{"a bot of one node only", false, campaign.PacingStrict, 9, 0, 0},
		{"every open call", true, campaign.PacingStrict, 9, 0, 2},
		{"of those beyond the seats, only answered ones", true, campaign.PacingHybrid, 9, 0, 1},
		{"no more than the bot has", true, campaign.PacingStrict, 1, 0, 1},
		{"a bot that has none", true, campaign.PacingStrict, -1, 0, 0},
	} {
		w := empty(t)
		w.s.Config.Shared = c.shared
		w.load(set(func(s *campaign.Settings) { s.PacingMode = c.mode }), func(l *Loaded) {
			ended := open(w, "c3", func(a *attempt.Attempt) { a.State = attempt.Ended })
			l.Open = []attempt.Attempt{open(w, "c1", answered), open(w, "c2"), ended}
			l.Bots[0].Seats = c.bot
		})
		eq(w, c.what, []any{w.s.Seats, w.s.SeatTarget, w.s.SeatsAway}, []any{c.want, c.want, c.shared})
		eq(w, c.what+": asked for", len(sent[DemandSeats](w)) == 1, c.want > 0)
	}
	w := loading(t, func(l *Loaded) { l.Seats = 4 })
	eq(w, "those of the life before", one[DemandSeats](w).Want, 4)
}

func TestACrashBetweenTheEndOfARunAndItsContactsIsMadeGood(t *testing.T) {
	for _, waiting := range []int{0, 1} {
		w := ready(t, in(campaign.Completed), func(l *Loaded) {
			l.Campaign.CompletionReason = campaign.ReasonWindowEnded
			l.Counters.Passes = []campaign.Pass{{Number: 1, Waiting: waiting}}
		})
		list := sent[Write](w)
		eq(w, "closed", len(list) == 1 && list[0].Write.Bulk.To == contact.WindowClosed, waiting > 0)
	}
	w := ready(t, in(campaign.Draft), func(l *Loaded) { l.Campaign.Run, l.Campaign.Prepared = 2, true })
	w.noWaits()
	w.durable()
	eq(w, "reset", one[Prepare](w).Event.Type, journal.ContactsReset)
}

func TestAtMost1000CommandsWaitUntilTheRunIsLoaded(t *testing.T) {
	w := loading(t)
	w.do(&DatabaseChanged{}) // nothing waits for it
	var first engine.Request
	for range 999 {
		first = w.ask(&Detail{})
	}
	r := w.ask(&Detail{})
	w.refused(r, "overloaded")
	one[Overloaded](w)
	w.do(&DatabaseChanged{})
	eq(w, "stash", len(w.s.Stash), 1001)
	w.do(&RosterCalled{Life: w.s.Life})
	granted[campaign.Detail](w, first)
}

func TestATicketOfAnEarlierLifeConfirmsNothing(t *testing.T) {
	w := ready(t)
	r := w.ask(act(campaign.ActionPause))
	w.do(&Durable{w.owed[0].ticket - 1})
	w.waits(r)
	if w.owed[0].ticket <= t0.UnixNano() {
		t.Errorf("ticket %d may be one of an earlier incarnation", w.owed[0].ticket)
	}
}

func TestATimerThatWasStoppedOrSetAnewDoesNothing(t *testing.T) {
	w := ready(t)
	w.due(nil, 1)
	old := w.s.Timers[TimerWake]
	w.do(&call.Stopped{})
	w.s.now, w.s.proc = w.now, w.proc
	w.s.expect(w.now.Add(time.Millisecond))
	w.s.out = nil
	inputs := len(w.s.Later)
	w.do(&TimerFired{Timer: TimerWake, Epoch: old})
	eq(w, "timers", len(w.s.Later), inputs)
	eq(w, "wake", w.s.Timers[TimerWake] != 0, true)
}

type strange struct{}

func TestAnEventThatNoRunKnowsIsAnError(t *testing.T) {
	w := ready(t)
	if _, err := w.s.Apply(Input{Now: w.now, Event: &strange{}, Process: w.proc}, nil); err == nil {
		t.Error("it was taken")
	}
	w = loading(t)
	w.do(&strange{}) // it waits
	w.do(&RosterCalled{Life: w.s.Life})
	eq(w, "failed", one[Failed](w).What, "an event was not understood")
}

func TestIdentifiersFollowFromTheSeedAndSortByTime(t *testing.T) {
	a, b, c := ready(t), ready(t), empty(t)
	c.do(&Started{Seed: [32]byte{2}})
	for _, w := range []*world{a, b, c} {
		w.s.now = t0
	}
	x := a.s.newID()
	eq(a, "the same seed", x, b.s.newID())
	eq(a, "another", x == c.s.newID(), false)
	eq(a, "the next", x == a.s.newID(), false)
	a.s.now = t0.Add(time.Millisecond)
	eq(a, "later", a.s.newID() > x && len(x) == 32, true)
}

// A crash takes no seat from lines that were dialled before an edit lowered the concurrency.
func TestAfterACrashLinesInFlightKeepTheSeatsOfAHigherConcurrency(t *testing.T) {
	w := loading(t, set(func(s *campaign.Settings) { s.Concurrency = 2 }), func(l *Loaded) { l.Seats = 4 })
	w.do(&RosterCalled{Life: w.s.Life, Actors: actorsOf("c1", "c2", "c3", "c4")})
	w.seats(4)
	ids := []engine.ContactID{"c1", "c2", "c3", "c4"}
	for _, id := range ids {
		w.do(&Reported{Actor: "actor-" + string(id), Reported: call.Reported{Row: w.row(string(id)),
			Attempt: engine.AttemptID("attempt-" + id), Phase: attempt.PhaseRinging}})
	}
	for _, id := range ids {
		w.moved(id, attempt.PhaseWaiting)
	}
	eq(w, "all are served", []any{w.s.Busy, len(w.s.Waiting)}, "[4 0]")
	for _, id := range ids[:2] {
		w.moved(id, attempt.PhaseOver)
	}
	eq(w, "the new one binds once they are over", []any{w.s.seatCap(), w.s.InFlightCap}, "[2 0]")
}

// Counters and ledgers include what the tables have of a conversation that survived a crash.
func TestAfterACrashTheLedgersShowWhatTheCountersShow(t *testing.T) {
	w := loading(t, func(l *Loaded) { l.Counters.LiveAnswers, l.Counters.ConnectedCalls = 1, 1 })
	w.do(&RosterCalled{Life: w.s.Life, Actors: actorsOf("c1")})
	w.do(&Reported{Actor: "actor-c1", Reported: call.Reported{Row: w.row("c1"), Attempt: "a", Phase: attempt.PhaseServed,
		Tentative: true}})
	for _, what := range []string{"it can turn out a machine's", "it can no more", "it is over"} {
		d := granted[campaign.Detail](w, w.ask(&Detail{}))
		if what != "it can turn out a machine's" {
			eq(w, what, d.Live.Ledgers[0].LiveAnswers, d.Counters.LiveAnswers)
		}
		switch what {
		case "it can turn out a machine's":
			w.do(&call.AnswerStands{Contact: "c1", Attempt: "a"})
		case "it can no more":
			w.moved("c1", attempt.PhaseOver)
		}
	}
}
