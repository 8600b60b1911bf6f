package dialout

import (
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/fleet"
	"dialler/engine/journal"
)

func (d *admission) after(t time.Duration) { d.now = d.now.Add(t) }

// later is the request for the dialout that may be placed in a while.
func later(id string, in time.Duration) *Place {
	p := place(id)
	at := t0.Add(in)
	p.Command.Times.NotBefore = &at
	return p
}

// waits is what is stored of it.
func waits(id string, in time.Duration, priority int) campaign.ScheduledDialout {
	p := later(id, in)
	p.Command.Times.Priority = &priority
	return campaign.NewScheduledDialout(p.Attempt, p.Command, t0)
}

func TestADialoutForLaterIsStoredBeforeItIsAnswered(t *testing.T) {
	d := open(t)
	p := later("a", time.Minute)
	p.Command.Idempotency = engine.Idempotency{Key: "key", Token: "k"}
	p.Command.Deadline = t0.Add(time.Second)
	d.give(p)
	w := one[Persist](d)
	none[Answer](d)
	none[Demand](d)
	row := w.Write.Schedule
	if row == nil || row.ID != "a" || !row.NotBefore.Equal(t0.Add(time.Minute)) || !row.NextAt.Equal(row.NotBefore) ||
		!row.ExpiresAt.Equal(row.NotBefore.Add(time.Hour)) || row.Command.Idempotency.Present() ||
		!row.Command.Deadline.IsZero() || w.Attempt != "a" {
		t.Fatalf("%+v", row)
	}
	if e := w.Write.Events; len(e) != 1 || e[0].Type != journal.DialoutScheduled || e[0].Attempt != "a" ||
		w.Write.Reply == nil || w.Write.Reply.Status != 202 {
		t.Fatalf("%+v", w.Write)
	}
	d.give(&call.Durable{Step: w.Step})
	if a := one[Answer](d); a.Request != "who-a" || a.Value.(campaign.DialoutReply).Status != "scheduled" {
		t.Fatalf("%+v", a)
	}
	if c := one[Count](d); c.Type != journal.DialoutScheduled {
		t.Fatalf("%+v", c)
	}
	if l := one[Later](d); l.After != time.Minute { // it is looked for at its time
		t.Fatalf("%+v", l)
	}
	d.give(&call.Durable{Step: w.Step})
	none[Answer](d)
	// What is refused at once is refused now.
	p = later("b", time.Minute)
	p.Command.Bot = "off"
	d.give(p)
	d.refused("bot_inactive")
	d.give(later("c", time.Minute))
	d.give(&call.Durable{Step: one[Persist](d).Step, Err: journal.ErrScheduledFull})
	d.refused("too_many_scheduled")
}

// look has the store asked, and gives its answer.
func (d *admission) look(m *DueRead) {
	d.t.Helper()
	l := one[Later](d)
	d.after(l.After)
	d.give(l.Event)
	if r := one[ReadDue](d); r.Limit != lookBatch || r.Claim <= Patience {
		d.t.Fatalf("%+v", r)
	}
	d.give(m)
}

func TestADialoutIsPlacedAtItsTime(t *testing.T) {
	d := open(t)
	d.give(&Look{})
	one[ReadDue](d)
	next := d.now.Add(2 * time.Second)
	d.give(&DueRead{Next: &next})
	if l := one[Later](d); l.After != 2*time.Second {
		t.Fatalf("%+v", l)
	}
	row := waits("a", 2*time.Second, 5)
	d.look(&DueRead{Rows: []campaign.ScheduledDialout{row}})
	if d.now != next {
		t.Fatalf("looked at %s", d.now)
	}
	one[Demand](d)
	d.seats(1)
	d.give(&call.TrunkReserved{Attempt: "a", Trunk: "trunk"})
	d.give(&NumberLeased{Attempt: "a", Number: "+4930111111"})
	if b := one[Begin](d).Place; !b.Scheduled || b.Request != "" || b.Attempt != "a" ||
		!b.Command.Times.ExpiresAt.Equal(row.ExpiresAt) {
		t.Fatalf("%+v", b)
	}
	// Its claim is over before its write is stored.
	d.give(&DueRead{Rows: []campaign.ScheduledDialout{row}})
	none[Demand](d)
	// The database refuses it: it waits on, and its seat is free.
	d.give(&call.DialoutReturned{Attempt: "a", Err: journal.ErrNumberHeld})
	if p := one[PutOff](d); p.Attempt != "a" || p.Reason != "number_held" || !p.Until.Equal(d.now.Add(againAfter)) {
		t.Fatalf("%+v", p)
	}
	d.give(&call.DialoutReturned{Attempt: "a", Err: journal.ErrNotScheduled})
	none[PutOff](d)
	d.give(&Over{"a"})
	if d.s.Seats["bot"].Used != 0 {
		t.Fatal("its seat is not free")
	}
}

func TestADialoutThatCannotBePlacedWaitsOn(t *testing.T) {
	d := open(t)
	f := func(what, reason string, in time.Duration, row campaign.ScheduledDialout, then func()) {
		t.Helper()
		d.give(&DueRead{Rows: []campaign.ScheduledDialout{row}})
		then()
		if p := one[PutOff](d); p.Reason != reason || !p.Until.Equal(d.now.Add(in)) {
			t.Errorf("%s: %+v", what, p)
		}
		none[Refuse](d)
		if len(d.s.Wants) > 0 {
			t.Errorf("%s: %v", what, d.s.Wants)
		}
	}
	f("no seat", "no_capacity", 0, waits("a", 0, 5), func() { d.seats(0) })
	f("no seat in time", "no_capacity", 0, waits("b", 0, 5), func() { d.give(&TooLate{"b", d.s.Wants["b"].Try}) })
	seated := func() {
		d.seats(1)
		d.give(&call.TrunkReserved{Attempt: "e", Trunk: "trunk"})
	}
	f("no trunk", "no_capacity", againAfter, waits("e", 0, 5), func() {
		d.seats(1)
		d.give(&call.TrunkReserved{Attempt: "e"})
	})
	f("no number", "no_number", againAfter, waits("e", 0, 5), func() {
		seated()
		d.give(&NumberLeased{Attempt: "e", Err: engine.Unavailable("no_number", "none", time.Second)})
	})
	f("nobody counts the number's calls", "keeper_away", time.Second, waits("e", 0, 5), func() {
		seated()
		d.give(&NumberLeased{Attempt: "e", Err: engine.Unavailable("keeper_away", "", time.Second)})
	})
	f("a number that rests for long", "no_number", time.Minute, waits("e", 0, 5), func() {
		seated()
		d.give(&NumberLeased{Attempt: "e", Err: engine.Unavailable("no_number", "none", time.Minute)})
	})
	f("its bot takes no calls", "bot_unavailable", againAfter, waits("e", 0, 5), func() {
		d.give(&fleet.Allotted{Bot: "bot", N: d.s.Seats["bot"].Demands, Outage: &fleet.Outage{Reason: "refused"}})
	})
	off := waits("c", 0, 5)
	off.Command.Bot = "off"
	f("its bot is inactive", "bot_inactive", againAfter, off, func() {})
	off.Command.Bot = "gone"
	f("its bot was deleted", "bot_not_found", againAfter, off, func() {})
	late := waits("d", 0, 5)
	soon := d.now.Add(2 * time.Second)
	late.Command.Bot, late.ExpiresAt, late.Command.Times.ExpiresAt = "off", soon, &soon
	f("it expires before it would be tried again", "bot_inactive", 2*time.Second, late, func() {})
	if d.s.Schedule.At.After(soon) { // it is looked at when it expires
		t.Errorf("at %s", d.s.Schedule.At)
	}
	capped := &engine.Error{Kind: engine.KindConflict, Code: engine.CodeCalleeCap, Until: t0.Add(time.Hour)}
	d.give(&call.DialoutReturned{Attempt: "x", Err: capped})
	if p := one[PutOff](d); !p.Until.Equal(capped.Until) {
		t.Errorf("%+v", p)
	}
	// A process that places no calls leaves it to others.
	d.give(&Look{N: d.s.Schedule.N})
	d.give(&DueRead{})
	l := one[Later](d)
	d.after(l.After)
	d.out = d.s.Apply(Input{Now: d.now, Event: l.Event, Barred: errNoCapacity}, nil)
	none[ReadDue](d)
	one[Later](d)
}

// What no later try can mend ends it.
func TestADialoutWhoseRequestHasBecomeInvalidEnds(t *testing.T) {
	d := open(t)
	asks := waits("a", 0, 5)
	asks.Command.Bot = "asks"
	d.give(&DueRead{Rows: []campaign.ScheduledDialout{asks}})
	ended := func(id engine.AttemptID) {
		t.Helper()
		w := one[Persist](d).Write
		if a := w.Attempts[0]; !w.Unschedule || a.ID != id || a.State != attempt.Ended ||
			a.Outcome != engine.OutcomeBlocked || len(w.Events) != 1 || w.Events[0].Type != journal.AttemptEnded {
			t.Errorf("%+v", w)
		}
		none[PutOff](d)
	}
	ended("a")
	d.give(&DueRead{Rows: []campaign.ScheduledDialout{waits("b", 0, 5)}})
	d.seats(1)
	d.give(&call.TrunkReserved{Attempt: "b", Trunk: "trunk"})
	d.give(&NumberLeased{Attempt: "b", Err: engine.Invalid("from_number_unknown", "")})
	ended("b")
	one[ReleaseTrunk](d)
}

func TestADialoutForLaterFromAnUnknownNumberIsRefused(t *testing.T) {
	d := open(t)
	p := later("a", time.Minute)
	p.Command.From = "+4930111111"
	d.give(p)
	none[Persist](d)
	if a := one[AskNumber](d); a.Place != p {
		t.Errorf("%+v", a)
	}
	d.give(&NumberAsked{Place: p, Err: engine.Invalid("from_number_unknown", "")})
	d.refused("from_number_unknown")
	d.give(p)
	d.give(&NumberAsked{Place: p})
	one[Persist](d)
}

// Answers to an earlier try of a dialout come while it is tried again.
func TestAnEarlierTryDoesNotDisturbTheNext(t *testing.T) {
	row := waits("a", 0, 5)
	again := func(d *admission) (earlier int) {
		t.Helper()
		d.give(&DueRead{Rows: []campaign.ScheduledDialout{row}})
		earlier = d.s.Wants["a"].Try
		d.give(&TooLate{"a", earlier})
		one[PutOff](d)
		d.give(&DueRead{Rows: []campaign.ScheduledDialout{row}})
		return earlier
	}
	// Its timer.
	d := open(t)
	early := again(d)
	d.give(&TooLate{"a", early})
	if len(d.out) > 0 {
		t.Errorf("%+v", d.out)
	}
	// Its trunk, before there is a seat.
	d.give(&call.TrunkReserved{Attempt: "a", Trunk: "trunk", Leg: "leg"})
	none[LeaseNumber](d)
	if r := one[ReleaseTrunk](d); r.Trunk != "trunk" || r.Leg != "leg" {
		t.Errorf("%+v", r)
	}
	d.give(&call.TrunkReserved{Attempt: "a"})
	none[PutOff](d)
	// With a seat it is as good as the one that was asked for, which is given back.
	d.seats(1)
	d.give(&call.TrunkReserved{Attempt: "a", Trunk: "trunk", Leg: "leg"})
	one[LeaseNumber](d)
	d.give(&call.TrunkReserved{Attempt: "a", Trunk: "other", Leg: "leg"})
	if r := one[ReleaseTrunk](d); r.Trunk != "other" || len(d.out) != 1 {
		t.Errorf("%+v", d.out)
	}
	d.give(&call.TrunkReserved{Attempt: "a", Trunk: "trunk", Leg: "leg"}) // the same channel
	if len(d.out) > 0 {
		t.Errorf("%+v", d.out)
	}
	// Nor do they disturb the call.
	d.give(&NumberLeased{Attempt: "a", Number: "+4930111111"})
	one[Begin](d)
	d.give(&call.TrunkReserved{Attempt: "a", Trunk: "trunk", Leg: "leg"})
	d.give(&NumberLeased{Attempt: "a", Number: "+4930111111"})
	if len(d.out) > 0 {
		t.Errorf("%+v", d.out)
	}
	d.give(&NumberLeased{Attempt: "a", Number: "+4930222222"})
	if r := one[ReleaseNumber](d); r.Number != "+4930222222" {
		t.Errorf("%+v", r)
	}
	// Its socket.
	d = open(t)
	d.unheard = true
	gather := func() engine.SocketID {
		t.Helper()
		d.give(&DueRead{Rows: []campaign.ScheduledDialout{row}})
		d.seats(1)
		d.give(&call.TrunkReserved{Attempt: "a", Trunk: "trunk"})
		d.give(&NumberLeased{Attempt: "a", Number: "+4930111111"})
		return one[OpenSocket](d).Open.Socket
	}
	first := gather()
	d.give(&TooLate{"a", d.s.Wants["a"].Try})
	one[CloseSocket](d)
	d.give(&DueRead{Rows: []campaign.ScheduledDialout{row}})
	d.give(&engine.SocketEvent{Socket: first, Stands: true}) // nothing is gathered yet
	if len(d.out) > 0 {
		t.Errorf("%+v", d.out)
	}
	d.give(&TooLate{"a", d.s.Wants["a"].Try})
	second := gather()
	d.give(&engine.SocketEvent{Socket: first, Reason: "closed"})
	if len(d.out) > 0 || first == second {
		t.Errorf("%s, %s: %+v", first, second, d.out)
	}
	d.give(&engine.SocketEvent{Socket: second, Stands: true})
	if b := one[Begin](d).Place; b.Socket != second {
		t.Errorf("%+v", b)
	}
}

func TestADialoutThatExpiredEnds(t *testing.T) {
	d := open(t)
	row := waits("a", -2*time.Hour, 5)
	d.give(&DueRead{Rows: []campaign.ScheduledDialout{row}})
	none[Demand](d)
	p := one[Persist](d)
	w := p.Write
	if a := w.Attempts[0]; !w.Unschedule || a.State != attempt.Ended || a.Outcome != engine.OutcomeExpired || a.Consumed ||
		!a.EndedAt.Equal(d.now) || !a.ReservedAt.Equal(row.NotBefore) || a.Waits != nil {
		t.Errorf("%+v", a)
	}
	if w.Events[0].Type != journal.DialoutExpired || w.Events[1].Type != journal.AttemptEnded ||
		w.Events[1].Data.Outcome != engine.OutcomeExpired {
		t.Errorf("%+v", w.Events)
	}
	d.give(&call.Durable{Step: p.Step})
	if c := one[Count](d); c.Type != journal.DialoutExpired {
		t.Errorf("%+v", c)
	}
	none[Answer](d)
}

func TestADialoutIsCancelledByTheWriteThatTakesItAway(t *testing.T) {
	d := open(t)
	c := &Cancel{Dialout: waits("a", time.Hour, 5), Who: engine.Who{User: "usr"}, Request: "who"}
	d.give(c)
	p := one[Persist](d)
	if w := p.Write; !w.Unschedule || w.Attempts[0].Outcome != engine.OutcomeCancelled ||
		w.Events[0].Type != journal.DialoutCancelled || w.Events[0].Data.Who.User != "usr" {
		t.Errorf("%+v", w)
	}
	none[Answer](d)
	d.give(&call.Durable{Step: p.Step})
	if one[Answer](d).Request != "who" {
		t.Errorf("%+v", d.out)
	}
	d.give(c)
	d.give(&call.Durable{Step: one[Persist](d).Step, Err: journal.ErrNotScheduled})
	d.refused(engine.CodeDialoutPlaced)
}

// Of dialouts that wait for a seat the highest priority gets the next one, and of equal ones the first.
func TestTheHighestPriorityGetsTheNextSeat(t *testing.T) {
	d := open(t)
	for _, x := range []struct {
		id       string
		priority int
	}{{"a", 5}, {"b", 2}, {"c", 9}, {"e", 5}} {
		p := place(x.id)
		p.Command.Times = contact.Times{Priority: &x.priority}
		d.give(p)
	}
	for i, want := range []engine.AttemptID{"c", "a", "e", "b"} {
		d.give(&fleet.Allotted{Bot: "bot", Seats: i + 1, Target: 4, N: d.s.Seats["bot"].Demands})
		if got := one[ReserveTrunk](d).Attempt; got != want {
			t.Errorf("seat %d for %s, want %s", i+1, got, want)
		}
	}
}

// A fault loses the message that caused it, which may be the store's answer, or the timer's.
func TestALostLookIsMadeUpFor(t *testing.T) {
	d := open(t)
	d.give(&Look{})
	d.after(lookLost)
	d.give(&Renew{})
	l := one[Later](d)
	d.after(l.After)
	d.give(l.Event)
	one[ReadDue](d)
	d.give(&Renew{})
	none[Later](d)
}

// A bot without a free seat does not keep the dialouts of others from their turn, and is tried again.
func TestABotWithoutCapacityDoesNotHoldOthersUp(t *testing.T) {
	d := open(t)
	d.give(&Look{})
	d.give(&DueRead{Rows: []campaign.ScheduledDialout{waits("a", 0, 9)}})
	d.seats(0)
	for _, except := range []int{1, 0} {
		l := one[Later](d)
		d.after(l.After)
		d.give(l.Event)
		if r := one[ReadDue](d); len(r.Except) != except {
			t.Errorf("%+v", r)
		}
		if l.After != lookPause {
			t.Errorf("after %s", l.After)
		}
		d.give(&DueRead{})
	}
	if l := one[Later](d); l.After != lookEvery {
		t.Errorf("after %s", l.After)
	}
}
