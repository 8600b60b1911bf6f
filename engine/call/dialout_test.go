package call

import (
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/journal"
)

func dialoutRig(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	r.dialout = NewDialout(first, engine.Bot{ID: "bot", Active: true, Endpoints: []string{"ws://bot"}}, limits, false)
	r.call = &r.dialout.Call
	return r
}

func placed1(id engine.AttemptID) *PlaceDialout {
	return &PlaceDialout{Command: campaign.Dialout{Bot: "bot", To: callee, Variables: map[string]string{"name": "Ann"}},
		Request: someone, Attempt: id, Trunk: "trunk",
		From: caller, Media: &engine.MediaProfile{}, Socket: "dialout/a"}
}

func (r *rig) place() {
	r.t.Helper()
	r.on(placed1(first), "own a", "count attempt", "write 1 attempt.reserved +intent")
}

func TestADialoutFromItsPlaceToItsEnd(t *testing.T) {
	r := dialoutRig(t)
	r.place()
	w := r.write()
	if a := w.Attempts[0]; a.Node != 8 || a.Bot != "bot" || a.To != callee || a.From != caller || a.Number != 1 ||
		a.Pass != 1 || a.Campaign != "" || a.Epoch != 0 ||
		a.Variables["name"] != "Ann" || a.ResultToken != tokenHash("token of "+string(first.Call())) ||
		!a.SendBy.Equal(start.Add(10*time.Second)) {
		t.Errorf("%+v", a)
	}
	if e := w.Events[0]; e.Campaign != "" || e.Contact != "" || e.Attempt != first || e.Data.Trunk != "trunk" ||
		w.Campaign != "" || w.Epoch != 0 || w.Intent.KeyCap != nil {
		t.Errorf("%+v", e)
	}
	r.on(&Durable{Step: 1}, "answer someone ok", "open media", "count leg_placed", "place leg a.1")
	if a := last[*Answer](r).Value.(campaign.DialoutReply); a.CallID != first.Call() || a.ToNumber != string(callee) ||
		a.FromNumber != string(caller) || a.BotID != "bot" ||
		!a.CreatedAt.Equal(start) {
		t.Errorf("%+v", a)
	}
	r.on(r.leg(1, engine.LegSent), "count leg_sent", "trunk trunk a.1 sent", "arm ring 30s")
	r.now = r.now.Add(4 * time.Second)
	r.on(r.leg(1, engine.LegAnswered, answered), "trunk trunk a.1", "answermedia", "to self *call.SeatGranted",
		"arm bridge 1.8s", "write 2 attempt.answered")
	if d := r.write().Events[0].Data; d.RingMS != 4000 { // as a contact's
		t.Errorf("%+v", d)
	}
	r.on(&Durable{Step: 2}, "confirm a.1")
	r.on(last[*ToSelf](r).Event, "attach bot")
	if b := last[*AttachBot](r).Attach; b.Parameters["name"] != "Ann" || b.Parameters["campaign_id"] != "" ||
		b.Parameters["call_id"] != string(first.Call()) || b.Socket != "dialout/a" {
		t.Errorf("%+v", b)
	}
	r.on(r.mediaEvent(engine.MediaBotConnected), "bot settled telling", "bot tried ", "arm call 15m0s", "count served",
		"write 3 attempt.connected")
	r.on(&Durable{Step: 3})
	r.on(r.leg(1, engine.LegHungUp), "trunk trunk a.1 over", "closemedia", "release number of a answered", "over",
		"write 4 attempt.ended +free")
	r.on(&Durable{Step: 4}, "forget legs of a", "dialout over 0")
	r.on(&SayAgain{}, "dialout over 0")
	r.on(resultOf(first), "count result", "write 5 result.stored")
	if o := r.write().Events[0].Data.Outcome; o != engine.OutcomeCompleted {
		t.Errorf("the result of a dialout that is over says %q", o)
	}
	r.on(&Durable{Step: 5}, "answer someone", "dialout over 1")
}

func TestADialoutsCaps(t *testing.T) {
	r := dialoutRig(t)
	p := placed1(first)
	p.Command.DayCap, p.Command.Who.Key, p.Command.Trunk = 5, "key", "trunk"
	p.Command.Idempotency = idempotency("k")
	p.Command.Transfers = attempt.TransferRules{Limit: 2}
	p.Validity.By = 3000
	r.apply(p)
	w := r.write()
	if c := w.Intent.KeyCap; c == nil || *c != (journal.KeyCap{Key: "key", Calls: 5, Now: start}) || w.Reply == nil ||
		w.Reply.Status != 201 || w.Attempts[0].Key != "key" {
		t.Errorf("%+v", w.Intent)
	}
	if cfg := r.call.Machine.Config; cfg.Transfers.Limit != 2 || cfg.CallLimit != dialoutLimit || cfg.OptOut != '9' ||
		cfg.RingTimeout != 30*time.Second || cfg.AMD != engine.AMDOff {
		t.Errorf("%+v", cfg)
	}
	r.clear()
	r.apply(&Durable{Step: 1})
	if by := last[*PlaceLeg](r).Leg.SendBy; by != 3000 {
		t.Errorf("send by %d", by)
	}
	r.apply(r.leg(1, engine.LegNotSent, func(e *engine.LegEvent) { e.NotSent = engine.NotSentNoRoute }))
	if only := last[*ReserveTrunk](r).Only; only != "trunk" {
		t.Errorf("only %q", only)
	}
}

func TestARefusedDialoutIsAnsweredWithWhy(t *testing.T) {
	r := dialoutRig(t)
	r.place()
	r.on(&Durable{Step: 1, Err: journal.ErrSuppressed}, "answer someone ok suppressed", "trunk trunk a.1 over",
		"release number of a not dialled", "over",
		"write 2 attempt.reserved attempt.ended +free")
	r.on(&Durable{Step: 2}, "forget legs of a", "dialout over 0")
}

func TestAnAbandonedDialoutIsRemembered(t *testing.T) {
	r := dialoutRig(t)
	r.place()
	r.durable(1)
	r.apply(r.leg(1, engine.LegSent))
	r.apply(r.leg(1, engine.LegAnswered, answered))
	bridge := last[*Arm](r)
	r.now = r.now.Add(attempt.BridgeBudget)
	r.clear()
	r.apply(&bridge.Fired)
	if !r.has("abandoned") || last[*Abandoned](r).Number != callee {
		t.Errorf("%v", r.log)
	}
}

func TestSuppressedNumbersOfDialouts(t *testing.T) {
	these := map[engine.PhoneNumber]struct{}{callee: {}}
	r := dialoutRig(t)
	r.place()
	r.on(&NumbersSuppressed{Numbers: map[engine.PhoneNumber]struct{}{caller: {}}, Op: 3}, "suppressed 3")
	r.durable(1)
	r.apply(r.leg(1, engine.LegSent))
	r.clear()
	r.p.away = true
	r.on(&NumbersSuppressed{Numbers: these, Op: 4}, "cancel a.1", "when settled: suppressed 4")
	r.p.away = false
	r.apply(r.leg(1, engine.LegRefused, code(487)))
	r.clear()
	r.on(&NumbersSuppressed{Numbers: these, Op: 5}, "suppressed 5")
	if r.write().Attempts[0].HungUpBy != engine.PartySystem {
		t.Errorf("%s", r.write().Attempts[0].HungUpBy)
	}
}

// overRig has a dialout that is over, and was started anew for a result.
func overRig(t *testing.T) (r *rig, at attempt.Attempt, m *StoreResult) {
	at = ended(t, first)
	at.Campaign, at.Contact = "", ""
	r = newRig(t)
	r.dialout = NewDialout(first, engine.Bot{}, limits, true)
	r.call = &r.dialout.Call
	return r, at, resultOf(first)
}

// A result arrives for a call that is over: its actor was started for that.
func TestAResultOfADialoutThatIsOver(t *testing.T) {
	_, at, m := overRig(t)
	for name, c := range map[string]struct {
		at   *attempt.Attempt
		err  error
		want []string
	}{
		"stored": {at: &at, want: []string{"own a", "count result", "write 1 result.stored"}},
		"unknown": {err: ErrCallNotFound, want: []string{"answer someone call_not_found",
			"dialout over 1"}},
		"the database is away": {err: engine.Unavailable("database_unavailable", "", 0),
			want: []string{"answer someone database_unavailable", "dialout over 1"}},
		"another node has it, or is to close it": {at: &attempt.Attempt{ID: first, State: attempt.Connected},
			want: []string{"answer someone call_being_closed", "dialout over 1"}},
		"its person was erased": {at: &attempt.Attempt{ID: first, State: attempt.Ended,
			To: engine.PhoneNumber(engine.ErasedPrefix + "1")}, want: []string{"answer someone person_erased",
			"dialout over 1"}},
	} {
		r, _, _ := overRig(t)
		r.on(&SayAgain{}) // one is on its way
		r.on(m, "fetch a")
		r.apply(fetched(m, c.at, c.err))
		if t.Run(name, func(t *testing.T) { r.t = t; r.want(c.want...) }); c.at != &at {
			continue
		}
		r.on(&Durable{Step: 1}, "answer someone", "dialout over 1")
	}
}

// Another node has the call since: the result is neither stored here nor taken for stored when it comes again.
func TestAResultThatTheDatabaseRefusesIsForTheNextOwner(t *testing.T) {
	r, at, m := overRig(t)
	r.on(m, "fetch a")
	r.apply(fetched(m, &at, nil))
	r.clear()
	r.on(&Durable{Step: 1, Err: journal.ErrStaleEpoch}, "answer someone stale_epoch", "dialout over 1")
	r.on(m, "answer someone call_being_closed", "dialout over 2")
}

func TestTwoResultsOfADialoutAtOnce(t *testing.T) {
	r, at, m := overRig(t)
	r.on(m, "fetch a")
	r.on(m, "fetch a")
	r.apply(fetched(m, &at, nil))
	r.clear()
	r.on(&Durable{Step: 1}, "answer someone") // the other result is being read
	r.on(fetched(m, &at, nil), "count result", "write 2 result.stored")
	if r.write().Events[0].Data.Connected {
		t.Error("counted as another conversation")
	}
	r.on(&Durable{Step: 2}, "answer someone", "dialout over 2")
}

// The message that an actor crashed with is lost: a result, or the attempt that it is about. Nothing waits for it.
func TestADialoutThatCrashedWithItsResultIsOver(t *testing.T) {
	r, at, m := overRig(t)
	r.on(&Restarted{}, "dialout over 0") // while one was passed on
	r.on(&SayAgain{Results: 1}, "dialout over 1")
	r.on(m, "fetch a")
	r.on(&Restarted{}, "dialout over 2")
	r.on(fetched(m, &at, nil), "own a", "count result", "write 1 result.stored") // it comes all the same
	r.on(&Durable{Step: 1}, "answer someone", "dialout over 2")
}

func TestADialoutOfAnEarlierLifeIsLost(t *testing.T) {
	at := live(t, true)
	r := dialoutRig(t)
	r.on(&Started{Lost: &at}, "own a", "count recovered", "attach legs of a", "recover leg a.1",
		"trunk trunk a.1 over", "closemedia", "release number of a answered", "over", "write 1 attempt.ended +owed")
	if o := r.write().Attempts[0].Outcome; o != engine.OutcomeLost {
		t.Errorf("%s", o)
	}
	over := r.call.snapshot()
	// It continues if its node, closed as lost, can still be asked for the legs.
	r = dialoutRig(t)
	r.known = 1
	r.apply(&Started{Lost: &at})
	if !r.has("attach media of a") || !r.call.Live() {
		t.Errorf("%v", r.log)
	}
	r.clear()
	r.on(&Taken{Attempt: first}, "dialout over 0") // until another node has it
	r = dialoutRig(t)
	r.on(&Started{Lost: &over}, "own a", "recover leg a.1")
}

func TestADialoutOutlivesACrash(t *testing.T) {
	for known := range 2 {
		r := dialoutRig(t)
		r.place()
		r.durable(1)
		r.apply(r.leg(1, engine.LegSent))
		r.known = known
		r.clear()
		r.apply(&Restarted{})
		if lost := r.has("write 2 attempt.ended"); lost != (known == 0) || r.has("attach media of a") {
			t.Errorf("%d legs are known: %v", known, r.log)
		}
		if known == 0 && r.write().Attempts[0].Outcome != engine.OutcomeSystemError {
			t.Errorf("%s", r.write().Attempts[0].Outcome)
		}
		if known > 0 { // what its bot did counts from the seat on, which comes with the answer
			r.apply(r.leg(1, engine.LegAnswered, answered))
			seat := last[*ToSelf](r).Event
			r.clear()
			r.on(r.mediaEvent(engine.MediaBotConnected))
			r.on(seat, "attach bot", "attach media of a")
			r.apply(r.mediaEvent(engine.MediaBotConnected))
			if !r.has("write 3 attempt.connected") {
				t.Errorf("its bot is there: %v", r.log)
			}
		}
	}
	// It had ended except for its last leg.
	r := dialoutRig(t)
	r.place()
	r.durable(1)
	r.apply(r.leg(1, engine.LegSent))
	r.clear()
	effects := r.dialout.Apply(Input{Now: r.now, Boot: r.boot, Event: r.leg(1, engine.LegRefused, code(486)),
		Process: r.p}, nil)
	if n := len(effects); n == 0 || r.name(effects[n-1]) != "closemedia" {
		t.Fatalf("%v", effects)
	}
	r.on(&Restarted{}, "release number of a", "over", "write 2 attempt.ended +free")
	r.on(&Restarted{}, "write 2 attempt.ended +free", "attach media of a") // whether it was stored may be what was lost
}

// A node whose way to the database is cut goes on with its calls; the next owner knows from the
// database that they ring, or that they are answered, and finds them served.
func TestADialoutThatIsTakenOverIsServedByTheBotThatItHas(t *testing.T) {
	for _, stored := range []attempt.State{attempt.Ringing, attempt.Answered} {
		r := dialoutRig(t)
		r.place()
		r.durable(1)
		r.apply(r.leg(1, engine.LegSent))
		r.apply(r.leg(1, engine.LegProvisional, code(180)))
		ringing := r.call.Machine.A
		r.apply(r.leg(1, engine.LegAnswered, answered))
		row := r.write().Attempts[0]
		if row.Seated || row.State != attempt.Answered || ringing.State != attempt.Ringing {
			t.Fatalf("%+v", row)
		}
		answer := r.now
		next := dialoutRig(t)
		next.now, next.known = r.now.Add(7*time.Second), 1
		bot := next.mediaEvent
		if stored == attempt.Ringing {
			next.apply(&Started{Lost: &ringing})
			next.seq[first.Leg(1)] = 2
			next.apply(next.leg(1, engine.LegAnswered, answered, func(e *engine.LegEvent) { e.At = answer }))
			seat := last[*ToSelf](next).Event
			next.apply(bot(engine.MediaBotConnected)) // ahead of the seat: it comes again
			next.apply(seat)
		} else {
			next.apply(&Started{Lost: &row})
		}
		if !next.has("attach bot") || !next.has("attach media of a") {
			t.Fatalf("%s: %v", stored, next.log)
		}
		e := bot(engine.MediaBotConnected)
		e.At = answer.Add(time.Second)
		next.apply(e)
		if a := &next.call.Machine.A; a.State != attempt.Connected || !a.BotConnectedAt.Equal(e.At) {
			t.Errorf("%s: %s, %v", stored, a.State, next.log)
		}
	}
}

func TestADialoutForgetsAnErasedPerson(t *testing.T) {
	const tombstone = engine.PhoneNumber(engine.ErasedPrefix + "1")
	r := dialoutRig(t)
	r.place()
	r.apply(&Erased{Number: callee, Tombstone: tombstone})
	if r.call.Machine.A.To != callee {
		t.Error("a call that lives is forgotten")
	}
	r.apply(&Durable{Step: 1, Err: journal.ErrNumberHeld})
	r.apply(&Erased{Number: caller, Tombstone: tombstone})
	if r.call.Machine.A.To != callee {
		t.Error("another one is forgotten")
	}
	r.apply(&Erased{Number: callee, Tombstone: tombstone})
	if r.call.Machine.A.To != tombstone || r.call.Machine.A.Variables != nil {
		t.Errorf("%+v", r.call.Machine.A)
	}
}

func TestHowADialoutStands(t *testing.T) {
	r := dialoutRig(t)
	r.apply(&Show{Attempt: first, Request: someone})
	if r.log[0] != "answer someone call_not_found" {
		t.Errorf("%v", r.log)
	}
	r.clear()
	r.place()
	r.on(&Show{Attempt: first, Request: someone}, "answer someone reserved")
	r.on(&Transfer{Attempt: first, Request: someone, To: "+4930"}, "answer someone transfer_not_allowed")
	r.on(&LegsGone{Attempt: second})
	r.apply(&Keys{Attempt: first, Request: someone})
	if r.log[len(r.log)-1] != "answer someone" || !r.has("write 2 attempt.ended") {
		t.Errorf("%v", r.log)
	}
}

// A dialout whose classification was revised by a beep reports which verdict stands, as a contact's
// call does: they share the record.
func TestADialoutTellsItsVerdict(t *testing.T) {
	r := dialoutRig(t)
	r.place()
	r.durable(1)
	r.call.Machine.Config.AMD, r.call.Machine.Config.Listen.Revise = engine.AMDParallel, 10*time.Second
	r.apply(r.leg(1, engine.LegSent))
	r.apply(r.leg(1, engine.LegAnswered, answered))
	r.durable(2)
	r.apply(&SeatGranted{Attempt: first})
	r.apply(r.mediaEvent(engine.MediaBotConnected))
	r.apply(r.mediaEvent(engine.MediaVerdict, func(e *engine.MediaEvent) { e.Verdict = engine.VerdictHuman }))
	r.apply(r.mediaEvent(engine.MediaVerdict, func(e *engine.MediaEvent) { e.Verdict = engine.VerdictMachine }))
	if w := r.write(); w.Events[0].Type != journal.AttemptRevised || w.Events[0].Data.Verdict != engine.VerdictMachine {
		t.Errorf("%+v", w.Events[0])
	}
}

// scheduledRig is a dialout whose time has come and which expires in a minute.
func scheduledRig(t *testing.T) *rig {
	t.Helper()
	r := dialoutRig(t)
	until := start.Add(time.Minute)
	p := placed1(first)
	p.Scheduled, p.Request, p.Command.Times.ExpiresAt = true, "", &until
	r.on(p, "own a", "count attempt", "write 1 attempt.reserved +intent")
	w := r.write()
	if !w.Unschedule || w.Reply != nil || !w.Intent.NotAfter.Equal(w.Attempts[0].SendBy) {
		t.Errorf("%+v", w)
	}
	return r
}

func TestAScheduledDialoutIsPlacedByTheWriteOfItsIntent(t *testing.T) {
	r := scheduledRig(t)
	r.on(&Durable{Step: 1}, "open media", "count leg_placed", "place leg a.1")
	r.apply(r.leg(1, engine.LegSent))
	r.clear()
	r.apply(r.leg(1, engine.LegRefused, code(486)))
	if w := r.write(); w.Unschedule || w.Attempts[0].Outcome != engine.OutcomeBusy {
		t.Errorf("%+v", w)
	}
}

func TestAScheduledDialoutWhoseIntentIsRefusedWaitsOn(t *testing.T) {
	for _, err := range []error{journal.ErrNumberHeld, journal.ErrNotInTime, journal.ErrNotScheduled} {
		r := scheduledRig(t)
		r.on(&Durable{Step: 1, Err: err}, "trunk trunk a.1 over", "release number of a not dialled",
			"returned "+engine.ErrorCode(err), "dialout over 0")
	}
	// What forbids the call ends it, as it ends others.
	r := scheduledRig(t)
	r.on(&Durable{Step: 1, Err: journal.ErrSuppressed}, "trunk trunk a.1 over", "release number of a not dialled", "over",
		"write 2 attempt.reserved attempt.ended +free")
	if w := r.write(); !w.Unschedule || w.Attempts[0].Outcome != engine.OutcomeBlocked {
		t.Errorf("%+v", w)
	}
	r.on(&Durable{Step: 2}, "forget legs of a", "dialout over 0")
}

// Somebody hangs it up before its intent is known to be stored.
func TestAScheduledDialoutThatIsGivenUpDoesNotComeAgain(t *testing.T) {
	r := scheduledRig(t)
	r.apply(&Keys{Attempt: first, Request: someone})
	if w := r.write(); !w.Unschedule || w.Attempts[0].Outcome != engine.OutcomeCancelled {
		t.Errorf("%v, %+v", r.log, w)
	}
	r.clear()
	r.on(&Durable{Step: 1, Err: journal.ErrNumberHeld}, "write 3 attempt.reserved")
	r = scheduledRig(t)
	r.apply(&Keys{Attempt: first, Request: someone})
	r.clear()
	r.on(&Durable{Step: 1, Err: journal.ErrNotScheduled}) // another node has it, and tells
	r.on(&Durable{Step: 2, Err: journal.ErrNotScheduled}, "forget legs of a", "dialout over 0")
}

func TestADialoutLeavesNoLaterThanItExpires(t *testing.T) {
	r := dialoutRig(t)
	until := start.Add(3 * time.Second)
	p := placed1(first)
	p.Command.Times.ExpiresAt = &until
	r.apply(p)
	if by := r.write().Attempts[0].SendBy; !by.Equal(until) {
		t.Errorf("send by %s", by)
	}
	r.durable(1)
	r.now = until
	r.apply(r.leg(1, engine.LegNotSent, func(e *engine.LegEvent) { e.NotSent = engine.NotSentExpired }))
	if a := r.write().Attempts[0]; a.Outcome != engine.OutcomeExpired || a.Consumed || a.Live() {
		t.Errorf("%s, consumed %v", a.Outcome, a.Consumed)
	}
}
