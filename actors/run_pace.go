package actors

import (
	"context"
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/fleet"
	"dialler/engine/numberpool"
	"dialler/engine/pacing"
)

// A round of reservations is for roundLeast to roundCap contacts.
const (
	roundLeast = 4
	roundCap   = 256
)

// roundTimeout gives up a round whose answers were lost with a crashed actor.
const roundTimeout = 5 * time.Second

// round is one reservation of trunk channels and caller IDs for the next
// contacts. One is under way at a time; its contacts count as lines.
type round struct {
	n     int
	cands []candidate
	stop  func()
	// touched are the contacts whose actors came up while the round was under
	// way: their candidates' rows are out of date.
	touched map[engine.ContactID]struct{}
}

type candidate struct {
	row     contact.Contact
	attempt engine.AttemptID
	trunk   engine.TrunkID
	media   *engine.MediaProfile // the trunk's
	trigger *triggerContext
	seated  bool // a seat is held for it from now on
	// overtaken: an exclusion came while this trigger was being reserved for.
	overtaken bool
}

// pendingTrigger is a fresh contact whose trigger waits to learn whether it is
// dialled now.
type pendingTrigger struct {
	row contact.Contact
	ctx *triggerContext
}

type (
	refilled struct {
		exhausted bool // nobody is open any more, and somebody used up its attempts
		rows      []contact.Contact
		next      *time.Time
		open      int
		err       error
	}
	roundLate struct{ N int }
	overdue   struct{ rows []contact.Contact }
)

// pump is called after every message: it dials what the pace allows.
func (r *run) pump() {
	if !r.ready || r.tally == nil {
		return
	}
	r.grantSeats()
	r.giveSeatsBack()
	if r.m.C.State == campaign.Running {
		r.askSeats()
		r.dialNext()
	} else {
		r.settleTriggers(string(engine.ConstraintPaused))
		switch {
		case r.m.C.State == campaign.Paused:
			r.askSeats()
		case r.asked > 0 && r.engagedLines() == 0:
			r.wantSeats(0)
		}
	}
}

func (r *run) dialNext() {
	if r.round != nil {
		return
	}
	dec := r.decide()
	k := min(dec.Dials, max(r.pace.batch, roundLeast))
	if k <= 0 && r.seatsAsked == 0 {
		r.settleTriggers(string(dec.Constraint))
	}
	if r.queue.len() <= r.d.cfg.LookAhead/2 {
		r.refill()
	}
	if k <= 0 {
		return
	}
	var cands []candidate
	for seats := dec.Seated; len(cands) < k; {
		c, ok := r.nextCandidate(seats > 0)
		if !ok {
			break
		}
		if c.seated {
			r.busy++
			seats--
		}
		cands = append(cands, c)
	}
	r.deferClosed()
	if len(cands) == 0 {
		return
	}
	r.startRound(cands)
}

// order is that of the campaign's due contacts now.
func (r *run) order() contact.Order { return r.m.C.Order(r.now) }

// nextCandidate: due callbacks, then triggers, then the rest of the queue. A
// number that was abandoned of late takes a seat, or stands aside.
func (r *run) nextCandidate(seat bool) (candidate, bool) {
	for len(r.triggers) > 0 {
		t := r.triggers[0]
		if head := r.queue.head(r.order(), seat); head != nil && r.order().Before(head, &t.row) {
			break
		}
		r.triggers[0] = nil
		r.triggers = r.triggers[1:]
		needs := r.d.abandons.needsSeat(t.row.Number, r.now)
		switch {
		case r.callableFor(t.row.Number) <= 0:
			t.ctx.reason = string(engine.ConstraintWindow)
			r.queueTrigger(t)
		case needs && !seat:
			t.ctx.reason = string(engine.ConstraintSeats)
			r.queueTrigger(t)
		default:
			return candidate{row: t.row, attempt: newAttemptID(r.now), trigger: t.ctx, seated: needs}, true
		}
	}
	for len(r.own.closed) < deferBatch {
		row, ok := r.queue.pop(r.order(), seat)
		if !ok {
			break
		}
		needs := r.d.abandons.needsSeat(row.Number, r.now)
		switch {
		case r.lines[row.ID] != nil || r.excluded.covers(&row):
		case r.callableFor(row.Number) <= 0:
			r.own.closed = append(r.own.closed, row)
		case needs && !seat:
			r.queue.setAside(row)
		default:
			return candidate{row: row, attempt: newAttemptID(r.now), seated: needs}, true
		}
	}
	return candidate{}, false
}

func (r *run) startRound(cands []candidate) {
	r.rounds++
	n := r.rounds
	legs := make([]engine.LegID, len(cands))
	for i := range cands {
		legs[i] = cands[i].attempt.Leg(1)
	}
	r.round = &round{n: n, cands: cands, stop: r.d.after(roundTimeout, r.self, &roundLate{N: n})}
	r.d.root.Send(r.d.trunks, &reserveTrunkBatch{Round: n, Legs: legs, ReplyTo: r.self})
}

// trunksReserved: the contacts that got a channel ask for a caller ID, the
// others go back to the queue.
func (r *run) trunksReserved(m *trunksReserved) {
	if r.round == nil || r.round.n != m.Round {
		r.giveBackTrunks(m)
		return
	}
	var keep []candidate
	for i := range r.round.cands {
		c := r.round.cands[i]
		if c.trunk = m.Trunks[i]; c.trunk == "" {
			r.unreserve(c, m.Constraint)
			continue
		}
		c.media = m.Media[i]
		keep = append(keep, c)
	}
	r.pace.granted(len(r.round.cands), len(keep))
	if len(keep) < len(r.round.cands) {
		r.holdPace(m.Constraint, m.RetryAt)
	}
	r.round.cands = keep
	if len(keep) == 0 {
		r.endRound()
		return
	}
	want := make([]numberWant, len(keep))
	for i := range keep {
		want[i] = numberWant{Attempt: keep[i].attempt, To: keep[i].row.Number}
		if r.m.C.Settings.StickyNumber {
			want[i].Sticky = keep[i].row.CalledFrom
		}
	}
	r.d.root.Send(r.pool, &reserveNumbers{Round: m.Round, Want: want, ReplyTo: r.self})
}

func (r *run) giveBackTrunks(m *trunksReserved) {
	for i, t := range m.Trunks {
		if t != "" {
			r.d.root.Send(r.d.trunks, &trunkEvent{Trunk: t, Leg: m.Legs[i], Over: true, At: r.now})
		}
	}
}

// numbersReserved: who has everything is dialled.
func (r *run) numbersReserved(m *numbersReserved) {
	if r.round == nil || r.round.n != m.Round {
		for _, g := range m.Got {
			if g.From != "" {
				r.d.root.Send(r.pool, &releaseNumber{Attempt: g.Attempt, Number: g.From, End: numberpool.End{NotDialled: true}})
			}
		}
		return
	}
	cands := r.round.cands
	open := r.m.C.State == campaign.Running
	for i := range cands {
		c, g := cands[i], m.Got[i]
		within := r.callableFor(c.row.Number)
		switch {
		case g.From == "":
			r.releaseTrunk(c)
			r.holdPace(g.Constraint, g.RetryAt)
			r.unreserve(c, g.Constraint)
		case !open || c.overtaken || r.excluded.covers(&c.row) || r.wasTouched(c.row.ID),
			!c.seated && r.d.abandons.needsSeat(c.row.Number, r.now):
			// Stopped, paused, excluded, touched, or abandoned by another campaign
			// while the round was under way.
			r.releaseTrunk(c)
			r.d.root.Send(r.pool, &releaseNumber{Attempt: g.Attempt, Number: g.From, End: numberpool.End{NotDialled: true}})
			r.unreserve(c, engine.ConstraintPaused)
		case within <= 0:
			r.releaseTrunk(c)
			r.d.root.Send(r.pool, &releaseNumber{Attempt: g.Attempt, Number: g.From, End: numberpool.End{NotDialled: true}})
			r.unreserve(c, engine.ConstraintWindow)
		default:
			l := r.spawn(c.row, nil, []any{&dial{Attempt: c.attempt, Trunk: c.trunk, Media: c.media, From: g.From,
				Callback: c.row.DueClass == contact.DueCallback, Trigger: c.trigger, SendWithin: within}})
			l.attempt = c.attempt
			if c.seated {
				r.holdSeat(l)
			}
			if c.trigger != nil {
				l.variables = c.row.Variables
				delete(r.triggering, c.row.Number)
			}
			r.setPhase(l, attempt.PhaseDialling)
		}
	}
	r.endRound()
}

func (r *run) wasTouched(id engine.ContactID) bool {
	_, ok := r.round.touched[id]
	return ok || r.lines[id] != nil
}

func (r *run) releaseTrunk(c candidate) {
	r.d.root.Send(r.d.trunks, &trunkEvent{Trunk: c.trunk, Leg: c.attempt.Leg(1), Over: true, At: r.now})
}

// unreserve puts a candidate back: it is dialled when there is room.
func (r *run) unreserve(c candidate, why engine.Constraint) {
	if c.seated {
		r.busy--
	}
	if c.overtaken {
		delete(r.triggering, c.row.Number)
		r.settled(c.row.Number)
		reply(r.d, c.trigger.replyTo, nil, errContactExcluded)
		return
	}
	if c.trigger != nil {
		c.trigger.reason = string(why)
		r.queueTrigger(&pendingTrigger{row: c.row, ctx: c.trigger})
		return
	}
	if r.wasTouched(c.row.ID) {
		return // the look-ahead finds it again, as it is by then
	}
	if (r.m.C.State == campaign.Running || r.m.C.State == campaign.Paused) && !r.excluded.covers(&c.row) {
		r.queue.push(c.row)
	}
}

// holdPace stops asking for what was refused until it is worth asking again,
// and looks again then.
func (r *run) holdPace(c engine.Constraint, until time.Time) {
	r.pace.hold(c, until, r.now)
	r.d.after(r.pace.heldUntil.Sub(r.now), r.self, &wakeUp{})
}

func (r *run) endRound() {
	r.round.stop()
	r.round = nil
}

func (r *run) roundLate(m *roundLate) {
	if r.round == nil || r.round.n != m.N {
		return
	}
	r.d.log.Warn().Str("campaign_id", string(r.id)).Msg("a reservation was not answered; its contacts go back")
	for _, c := range r.round.cands {
		if c.trunk != "" {
			r.releaseTrunk(c)
		}
		r.unreserve(c, engine.ConstraintNone)
	}
	r.round = nil
}

// settleTriggers answers triggers that cannot be dialled now.
func (r *run) settleTriggers(reason string) {
	if r.round != nil {
		return
	}
	for _, t := range r.triggers {
		t.ctx.reason = reason
		r.queueTrigger(t)
	}
	r.triggers = nil
}

// --- look-ahead --------------------------------------------------------------

func (r *run) refill() {
	if r.refilling || r.sweeping != nil || (r.nextDue != nil && r.nextDue.After(r.now)) {
		return
	}
	r.refilling = true
	// A contact whose line lives is hardly ever due in the table; refilled()
	// leaves out the few whose intent is on its way there.
	except := make([]engine.ContactID, 0, r.queue.len()+len(r.loads))
	for id := range r.lines {
		r.touched[id] = struct{}{}
	}
	for id := range r.queue.byID {
		except = append(except, id)
	}
	for id := range r.loads {
		except = append(except, id)
		r.touched[id] = struct{}{}
	}
	if r.round != nil {
		for i := range r.round.cands {
			except = append(except, r.round.cands[i].row.ID)
		}
	}
	n := max(r.d.cfg.LookAhead-r.queue.len(), r.d.cfg.LookAhead/2)
	d, id, self, now, order, run := r.d, r.id, r.self, r.now, r.order(), r.m.C.Run
	ends := !r.m.C.Settings.AlwaysOn
	go func() {
		ctx, cancel := context.WithTimeout(d.ctx, d.cfg.CommitTimeout)
		defer cancel()
		m := &refilled{}
		m.rows, m.err = d.store.DueContacts(ctx, id, run, order, n, except)
		if m.err == nil {
			m.err = d.lookForAbandons(ctx, m.rows, now)
		}
		if m.err == nil && len(m.rows) < n {
			m.next, m.open, m.err = d.store.NextDue(ctx, id, run)
			if m.err == nil && m.open == 0 && ends { // all of it is durable then
				m.exhausted, m.err = d.store.Exhausted(ctx, id, run)
			}
		} else {
			m.open = -1
		}
		d.root.Send(self, m)
	}()
}

// lookForAbandons notes which of the contacts' numbers were abandoned of late.
func (d *deps) lookForAbandons(ctx context.Context, rows []contact.Contact, now time.Time) error {
	if len(rows) == 0 {
		return nil
	}
	numbers := make([]engine.PhoneNumber, len(rows))
	for i := range rows {
		numbers[i] = rows[i].Number
	}
	found, err := d.store.AbandonedSince(ctx, numbers, now.Add(-pacing.SeatedAfterAbandon))
	for n, at := range found {
		d.abandons.add(n, at, now)
	}
	return err
}

func (r *run) refilled(m *refilled) {
	r.refilling = false
	touched := r.touched
	r.touched = map[engine.ContactID]struct{}{}
	if m.err != nil {
		if !passes(m.err) {
			r.d.log.Error().Err(m.err).Str("campaign_id", string(r.id)).Msg("look-ahead not loaded")
		}
		retry := r.now.Add(time.Second)
		r.nextDue = &retry
		r.setWake()
		return
	}
	if r.refillStale || r.sweeping != nil || r.over() {
		r.refillStale, r.refillAgain, r.nextDue = false, false, nil // of before all contacts were changed
		return
	}
	added := 0
	for i := range m.rows {
		row := &m.rows[i]
		if _, ok := touched[row.ID]; ok || r.lines[row.ID] != nil {
			continue
		}
		if r.excluded.covers(row) {
			// Stored, but a crash came before its contact: that one is owed still.
			r.touchRow(*row, &excludeContact{Reason: r.excluded.numbers[row.Number], ReplyTo: r.self})
			continue
		}
		r.queue.push(*row)
		added++
	}
	if r.refillAgain {
		r.refillAgain = false
		r.nextDue = nil
		return
	}
	if m.open < 0 { // the page was full: more are due now
		r.nextDue = nil
		return
	}
	r.openRows = m.open
	r.nextDue = nil
	// What is due now is in the queue or lives; the next look is when something
	// else becomes due, or soon, while a number hold delays a due contact.
	next := r.now.Add(time.Second)
	if m.next != nil && m.next.After(next) {
		next = *m.next
	}
	if m.next == nil {
		next = r.now.Add(5 * time.Second)
	}
	r.nextDue = &next
	r.setWake()
	if m.open == 0 {
		r.maybeExhausted(m.exhausted)
	}
}

// lookAgain makes the next pump ask the database, whatever it said before.
func (r *run) lookAgain() {
	r.nextDue = nil
	if r.refilling {
		r.refillAgain = true
	}
}

// dropLookAhead forgets the rows at hand, whose contacts the database is about
// to change.
func (r *run) dropLookAhead() {
	r.queue.clear()
	if r.round != nil {
		if r.round.touched == nil {
			r.round.touched = map[engine.ContactID]struct{}{}
		}
		for i := range r.round.cands {
			if c := &r.round.cands[i]; c.trigger == nil {
				r.round.touched[c.row.ID] = struct{}{}
			}
		}
	}
	r.lookAgain()
	r.refillStale = r.refilling
}

// maybeExhausted completes the run when no contact will ever be due again.
// exhausted says whether any of them used up its attempts.
func (r *run) maybeExhausted(exhausted bool) {
	if r.m.C.State != campaign.Running || r.openRows != 0 || r.queue.len() > 0 || len(r.lines) > 0 ||
		len(r.loads) > 0 || len(r.triggers) > 0 || r.round != nil || len(r.ops) > 0 || r.activation != nil || r.sweeping != nil || r.adding > 0 {
		return
	}
	// A running campaign takes it.
	_ = r.applyCampaign(campaign.Event{Kind: campaign.Exhausted, At: r.now, Reason: campaign.Complete(r.tally.C, exhausted)})
}

// --- lines and seats ---------------------------------------------------------

func (r *run) lineMoved(m *lineMoved) {
	l := r.lines[m.Contact]
	if l == nil {
		return
	}
	if l.attempt != m.Attempt {
		return // of an older attempt
	}
	if l.phase == attempt.PhaseOver && m.Phase != attempt.PhaseOver {
		return
	}
	r.setPhase(l, m.Phase)
	switch m.Phase {
	case attempt.PhaseDialling, attempt.PhaseRinging, attempt.PhaseListening:
	case attempt.PhaseWaiting:
		r.enqueueWaiting(l)
		r.grantSeats()
	case attempt.PhaseServed:
		r.count(l, false, m.Cause)
	case attempt.PhaseAbandoned:
		r.count(l, true, m.Cause)
		r.freeSeat(l)
	case attempt.PhaseReleased:
		if m.Machine {
			r.machine(l)
		}
		r.freeSeat(l)
	case attempt.PhaseOver:
		r.dropLine(l)
	}
	r.live.moved(m)
}

// count adds a live answer to the ledgers, once.
func (r *run) count(l *line, abandoned bool, cause engine.AbandonCause) {
	if l.counted {
		return
	}
	l.counted = true
	r.modelAnswer(abandoned)
	if abandoned {
		r.d.abandons.add(l.number, r.now, r.now)
		c := pacing.Counts{Live: 1, Abandoned: 1}
		if cause == engine.AbandonCapacityLoss {
			c.CapacityLoss = 1
			r.pace.books.Lost()
		} else {
			r.pace.books.Abandoned()
		}
		r.pace.hours.Count(r.now, c)
		r.d.log.Info().Str("campaign_id", string(r.id)).Str("cause", string(cause)).Msg("live answer abandoned")
		return
	}
	r.pace.books.Served()
	r.pace.hours.Count(r.now, pacing.Counts{Live: 1})
}

func (r *run) enqueueWaiting(l *line) {
	if slices.Contains(r.waiting, l) {
		return
	}
	if l.seated {
		r.useHeld(l)
		r.send(l, &seatGranted{Attempt: l.attempt})
		return
	}
	r.waiting = append(r.waiting, l)
}

// grantSeats serves the waiting answers, first come first served.
func (r *run) grantSeats() {
	for len(r.waiting) > 0 && r.busy < r.seatCap() {
		l := r.waiting[0]
		r.waiting = slices.Delete(r.waiting, 0, 1) // and holds the line no more
		r.takeSeat(l)
		r.send(l, &seatGranted{Attempt: l.attempt})
	}
}

func (r *run) freeSeat(l *line) {
	if l.seated {
		l.seated = false
		r.busy--
		if l.held {
			l.held = false
			r.held--
		}
		r.modelSeat(l, false)
	}
	if i := slices.Index(r.waiting, l); i >= 0 {
		r.waiting = slices.Delete(r.waiting, i, i+1)
	}
}

func (r *run) dropLine(l *line) {
	r.freeSeat(l)
	r.setPhase(l, attempt.PhaseOver)
	l.counted, l.machine, l.attempt = false, false, ""
}

// phaseOrder numbers the phases for counting lines.
var phaseOrder = [...]attempt.Phase{attempt.PhaseDialling, attempt.PhaseRinging, attempt.PhaseListening,
	attempt.PhaseWaiting, attempt.PhaseServed, attempt.PhaseAbandoned, attempt.PhaseReleased, attempt.PhaseOver}

func phaseIndex(p attempt.Phase) int {
	for i := range phaseOrder {
		if phaseOrder[i] == p {
			return i
		}
	}
	return len(phaseOrder) - 1 // a line without an attempt is over
}

// setPhase moves a line and keeps the count.
func (r *run) setPhase(l *line, p attempt.Phase) {
	r.modelLine(l, p)
	r.phases[phaseIndex(l.phase)]--
	l.phase = p
	r.phases[phaseIndex(p)]++
}

func (r *run) takeSeat(l *line) {
	if !l.seated {
		l.seated = true
		r.busy++
		r.modelSeat(l, true)
	}
}

// holdSeat gives a line the seat that was kept for it, before anybody answers:
// it is busy from the dial on, and no other answer takes it.
func (r *run) holdSeat(l *line) {
	l.seated, l.held = true, true
	r.held++
}

// useHeld: the answer has come for which the seat was held.
func (r *run) useHeld(l *line) {
	if l.held {
		l.held = false
		r.held--
		r.modelSeat(l, true)
	}
}

// seatCap is N: Concurrency, within the fleet's allotment.
func (r *run) seatCap() int { return min(r.m.C.Settings.Concurrency, r.seats) }

// engagedLines counts the lines with a live attempt.
func (r *run) engagedLines() int {
	return len(r.lines) - r.phases[phaseIndex(attempt.PhaseOver)]
}

// tellPool gives the pool its numbers.
func (r *run) tellPool() {
	s := &r.m.C.Settings
	r.d.root.Send(r.pool, &poolNumbers{Numbers: s.Numbers, LocalMatch: s.LocalMatch})
}

// askSeats: a campaign that has somebody to dial now wants its concurrency; one
// that is idle, paused, or outside its window, keeps only what its calls need, so that
// others can have the seats.
func (r *run) askSeats() {
	want := r.m.C.Settings.Concurrency
	if r.m.C.State != campaign.Running || r.round == nil && (!r.windowOpen() || r.queue.len() == 0 && len(r.triggers) == 0) {
		want = min(want, r.busy+len(r.waiting)+r.flying())
	}
	// Giving seats back waits for the next renewal: the queue may only be
	// empty between two looks at the database.
	if want > r.asked || (want < r.asked && r.idleSince(want)) {
		r.wantSeats(want)
	}
}

// seatsIdle is how long fewer seats must be enough before the rest goes back.
const seatsIdle = 5 * time.Second

func (r *run) idleSince(want int) bool {
	if want >= r.asked {
		r.fewerSince = time.Time{}
		return false
	}
	if r.fewerSince.IsZero() {
		r.fewerSince = r.now
	}
	return r.now.Sub(r.fewerSince) >= seatsIdle
}

func (r *run) wantSeats(n int) {
	r.asked, r.fewerSince = n, time.Time{}
	r.lives.seats.Store(int64(n))
	r.askedN++
	r.seatsAsked = r.askedN
	r.d.root.Send(r.d.fleet, &seatDemand{Holder: fleet.Holder(r.id), Bot: r.m.C.Settings.Bot, Want: n, Weight: r.m.C.Settings.Weight, N: r.askedN, ReplyTo: r.self})
}

// seatsAllotted: a target below the grant means that others wait. No dial
// relies on the seats beyond it any more, and they go back as they come free.
func (r *run) seatsAllotted(m *seatsAllotted) {
	if m.Bot != r.m.C.Settings.Bot {
		return
	}
	if m.N == r.seatsAsked {
		r.seatsAsked = 0
	}
	r.seats, r.seatTarget, r.outage = m.Seats, m.Target, m.Outage
	r.grantSeats()
}

// giveSeatsBack gives seats beyond the fair share back that no line relies on.
func (r *run) giveSeatsBack() {
	if r.seatTarget >= r.seats {
		return
	}
	give := min(r.seats-r.busy-r.flying()-len(r.waiting), r.seats-r.seatTarget)
	if give <= 0 {
		return
	}
	r.seats -= give
	r.d.root.Send(r.d.fleet, &seatDemand{Holder: fleet.Holder(r.id), Bot: r.m.C.Settings.Bot, Want: r.asked,
		Weight: r.m.C.Settings.Weight, GiveUp: give, ReplyTo: r.self})
}

// flying counts r of the gate: dials placed, or being reserved, that are not
// answered or over; one with a seat held counts as busy instead.
func (r *run) flying() int {
	n := r.phases[phaseIndex(attempt.PhaseDialling)] + r.phases[phaseIndex(attempt.PhaseRinging)] + r.phases[phaseIndex(attempt.PhaseListening)] - r.held
	if r.round != nil {
		for i := range r.round.cands {
			if !r.round.cands[i].seated {
				n++
			}
		}
	}
	return n
}
