package actors

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/number"
	"dialler/engine/numberpool"
)

// rules are the campaign's settings as a contact needs them; never changed
// once sent.
type rules struct {
	Campaign engine.CampaignID
	Epoch    int64
	Run      int
	Attempt  attempt.Config
	Policy   contact.Policy
	Bot      engine.Bot
	Sticky   bool // Sticky Exclusion: who was excluded is not added again
	// zoned is the campaign, when contacts are called by their own clocks.
	zoned *campaign.Campaign
}

// policyFor is the policy with the window of one contact.
func (rl *rules) policyFor(n engine.PhoneNumber) contact.Policy {
	p := rl.Policy
	if rl.zoned != nil {
		p.Clip = campaign.Clip(rl.zoned, number.Zones(n))
	}
	return p
}

// Messages from the run to a contact.
type (
	// dial starts an attempt whose leases are held.
	dial struct {
		Attempt  engine.AttemptID
		Trunk    engine.TrunkID
		Media    *engine.MediaProfile // the trunk's
		From     engine.PhoneNumber
		Callback bool
		Trigger  *triggerContext // the trigger that asked for it, if any
		// SendWithin is how long the INVITE may take to leave: its contact's window
		// may close before.
		SendWithin time.Duration
	}
	seatGranted struct{ Attempt engine.AttemptID }
	// excludeContact suppresses the contact; excludeDone follows.
	excludeContact struct {
		Reason  string
		ReplyTo *actor.PID
		Op      int
	}
	excludeDone struct {
		Op                int
		Cancelled, InCall bool
		Excluded          bool
	}
	// triggerContact merges into or reopens the contact; the trigger's reply
	// commits with it.
	triggerContact struct{ Trigger *triggerContext }
	// storeResult stores a conversation's result; Attempt is the stored row
	// when it is not the live one.
	storeResult struct {
		Attempt *attempt.Attempt
		Call    engine.CallID
		Result  attempt.Result
		ReplyTo *actor.PID
		fetched bool // Attempt (nil when there is none), err: read by the contact itself
		err     error
	}
	resultTimeout struct{}
	// rest ends the wait for a result: the actor's own timer, or a run whose
	// contacts are about to change as a whole.
	rest struct{}
	// endAttempt: Stop cancels ringing legs, and hangs up too when HangUp.
	endAttempt struct {
		HangUp bool
		Reason string // of the contact that is failed by it, "" = the outcome's name
	}
	// tellCall sends keys to the callee of a call, or ends it.
	tellCall struct {
		Attempt engine.AttemptID
		Digits  string // "": hang up
		ReplyTo *actor.PID
	}
	// liveAttempt asks for an attempt as it stands: between durable steps it is
	// further than its row.
	liveAttempt struct {
		Contact engine.ContactID
		Attempt engine.AttemptID
		ReplyTo *actor.PID
	}
	// report asks where the contact stands, for a run that counts anew.
	report struct{ ReplyTo *actor.PID }
	// stopNow asks an idle contact to stop; stopped or notIdle follows.
	stopNow struct{}
	// crash is a fault injected by tests: at once, or with every lease that is
	// given back.
	crash struct{ onRelease bool }
)

// Messages from a contact to its run.
type (
	contactUp struct {
		ID  engine.ContactID
		PID *actor.PID
	}
	// lineMoved tells where the contact's line stands.
	lineMoved struct {
		Contact engine.ContactID
		Attempt engine.AttemptID
		Phase   attempt.Phase
		Cause   engine.AbandonCause
		Machine bool // classification took it for no person
		At      time.Time
	}
	// inviteLeft: an attempt's first INVITE left.
	inviteLeft struct{ At time.Time }
	// persistFor is a write on its way through the run, which gives its events
	// their sequence.
	persistFor struct {
		Contact engine.ContactID
		persist
	}
	contactIdle struct {
		ID  engine.ContactID
		PID *actor.PID
	}
	contactStopped struct {
		Row contact.Contact
		PID *actor.PID
	}
	contactNotIdle struct{ ID engine.ContactID }
	contactReport  struct {
		PID     *actor.PID
		Row     contact.Contact
		Attempt engine.AttemptID // "" when none lives
		Phase   attempt.Phase
		Seated  bool
	}
	// reattached is the run's word on a line that was reported: its seat.
	reattached struct {
		Attempt engine.AttemptID
		Seated  bool
	}
)

// contactSeed is what a contact actor starts from; a restarted one finds it
// taken and loads what is durable.
type contactSeed struct {
	run   *actor.PID
	pool  *actor.PID
	row   contact.Contact
	rules *rules
	taken bool
	// first are the messages that wait for it.
	first []any
	// stash are the messages that came while it loads.
	stash []any
	// lost: the attempt of the row is of an earlier process life.
	recover *attempt.Attempt
}

// contactActor is one person in a running campaign, alive while there is
// something to do.
type contactActor struct {
	d     *deps
	seed  *contactSeed
	self  *actor.PID
	m     contact.Machine
	rules *rules
	call  *call

	step          int
	pending       []pendingWrite // not yet durable, oldest first
	loading       bool
	watching      int  // recovered legs that are not over yet
	fetching      int  // results whose attempt is being read
	lingering     bool // for the result of the call that has ended
	stopLinger    func()
	trigger       *triggerContext
	now           time.Time
	pendingResult *storeResult // whose write is being built

	// older are earlier attempts with the results that are on their way to the
	// table: another result of one must not count again.
	older map[engine.AttemptID]attempt.Attempt

	reserving [2]*contact.Facts // the facts around the reservation of the live attempt
	refused   []journal.Event   // of an intent that the database refused
}

type pendingWrite struct {
	persist
	then    func(err error)
	spooled bool // durable, but not in the database
}

// spooledAt marks the write of a step.
func spooledAt(pending []pendingWrite, step int) {
	for i := range pending {
		if pending[i].Step == step {
			pending[i].spooled = true
		}
	}
}

func (a *contactActor) Receive(ctx actor.Context) {
	a.now = a.d.clock.Now()
	switch msg := ctx.Message().(type) {
	case *actor.Started:
		a.self = ctx.Self()
		a.start()
		return
	case *actor.Stopping, *actor.Stopped, *actor.Restarting:
		if a.call != nil {
			a.d.owners.remove(a.call.m.A.ID)
		}
		return
	case *barrierPassed:
		a.load()
		return
	case *contactLoaded:
		a.loaded(msg)
		return
	case *retryLoad:
		a.d.root.Send(a.seed.run, &barrier{ReplyTo: a.self})
		return
	default:
		if a.loading {
			a.seed.stash = append(a.seed.stash, msg)
			return
		}
		a.handle(msg, ctx)
	}
}

func (a *contactActor) handle(msg any, ctx actor.Context) {
	switch msg := msg.(type) {
	case *persisted:
		a.durable(msg)
	case *dial:
		a.dial(msg)
	case *seatGranted:
		if a.call != nil && a.call.m.A.ID == msg.Attempt {
			a.call.apply(attempt.Event{Kind: attempt.SeatGranted, At: a.now})
		} else {
			a.lineOf(msg.Attempt, attempt.Line{Phase: attempt.PhaseOver}, a.now)
		}
	case *reattached:
		a.reattached(msg)
	case *excludeContact:
		a.exclude(msg)
	case *forgetPerson:
		a.forget(msg)
	case *triggerContact:
		a.triggered(msg)
	case *readmitContact:
		a.readmit(msg)
	case *storeResult:
		a.result(msg)
	case *resultTimeout:
		a.resultTimeout()
	case *rest:
		a.rest()
	case *runEnded:
		a.runEnded(msg)
	case *endAttempt:
		a.endAttempt(msg)
	case *tellCall:
		a.tell(msg)
	case *transferCall:
		if a.call == nil || a.call.m.A.ID != msg.Attempt || !a.call.m.A.Live() {
			reply(a.d, msg.ReplyTo, nil, errCallEnded)
			break
		}
		a.call.transfer(msg, a.now)
	case *liveAttempt:
		if a.call == nil || a.call.m.A.ID != msg.Attempt {
			reply(a.d, msg.ReplyTo, nil, errCallNotFound)
			break
		}
		a.call.show(msg, a.pending)
	case *rules:
		a.rules = msg
		a.retune()
	case *report:
		a.report()
		for _, p := range a.pending { // what the run's crash may have lost
			a.d.root.Send(a.seed.run, &persistFor{Contact: a.m.C.ID, persist: p.persist})
		}
	case *stopNow:
		if a.busy() {
			a.d.root.Send(a.seed.run, &contactNotIdle{ID: a.m.C.ID})
			return
		}
		a.d.root.Send(a.seed.run, &contactStopped{Row: a.m.C, PID: a.self})
		ctx.Stop(ctx.Self())
		return
	case *crash:
		panic("fault injected")
	case *engine.LegEvent:
		if a.watching > 0 && (a.call == nil || a.call.m.A.ID != msg.Attempt || !a.call.m.A.Live()) {
			a.watched(msg)
			break
		}
		a.attempt(msg)
	default:
		a.attempt(msg)
	}
	a.idle()
}

func (a *contactActor) attempt(msg any) {
	if a.call != nil {
		a.call.receive(msg, a.now)
	}
}

// busy says whether the actor has something that only it knows or awaits.
func (a *contactActor) busy() bool {
	return a.loading || a.lingering || len(a.pending) > 0 || a.watching > 0 || a.fetching > 0 || (a.call != nil && a.call.m.A.Live())
}

// rest ends the wait for a result.
func (a *contactActor) rest() {
	if a.lingering {
		a.lingering = false
		a.stopLinger()
	}
}

func (a *contactActor) idle() {
	if !a.busy() {
		a.d.root.Send(a.seed.run, &contactIdle{ID: a.m.C.ID, PID: a.self})
	}
}

// --- start, restart ----------------------------------------------------------

type contactLoaded struct {
	row     contact.Contact
	attempt *attempt.Attempt
	err     error
}
type retryLoad struct{}

func (a *contactActor) start() {
	s := a.seed
	a.rules = s.rules
	a.m.C = s.row
	if s.taken {
		// A crash before: everything not durable is gone. Load behind the
		// writes that are still queued.
		a.loading = true
		a.d.root.Send(s.run, &barrier{ReplyTo: a.self})
		return
	}
	s.taken = true
	a.d.root.Send(s.run, &contactUp{ID: s.row.ID, PID: a.self})
	a.retune() // the row may be from before an edit
	if s.recover != nil {
		a.recover(s.recover)
	}
	first := s.first
	s.first = nil
	for _, msg := range first {
		a.handle(msg, nil)
	}
	a.idle()
}

func (a *contactActor) load() {
	id, d, self := a.m.C.ID, a.d, a.self
	go func() {
		ctx, cancel := context.WithTimeout(d.ctx, d.cfg.CommitTimeout)
		defer cancel()
		row, ok, err := d.store.ContactByID(ctx, id)
		m := &contactLoaded{row: row, err: err}
		if err == nil && !ok {
			m.err = engine.NotFound("contact_not_found", "the contact is not stored")
		}
		if m.err == nil && row.Attempt != "" {
			at, ok, err := d.store.Attempt(ctx, row.Attempt)
			if m.err = err; err == nil && ok {
				m.attempt = &at
			}
		}
		d.root.Send(self, m)
	}()
}

func (a *contactActor) loaded(msg *contactLoaded) {
	if msg.err != nil && engine.ErrorCode(msg.err) != "contact_not_found" {
		a.d.after(time.Second, a.self, &retryLoad{})
		return
	}
	a.loading = false
	if msg.err == nil {
		a.m.C = msg.row
	}
	if msg.attempt != nil && msg.attempt.State != attempt.Ended {
		a.adopt(*msg.attempt)
		if a.call.reattach(a.now) {
			// The seat comes first: replayed media events presume it.
			a.report()
			if a.m.C.State == contact.Excluded && a.call.m.A.AnsweredAt == nil {
				a.call.apply(attempt.Event{Kind: attempt.ExcludeRequested, At: a.now})
			}
		} else {
			a.lost("gone")
		}
	} else {
		a.report()
	}
	for len(a.seed.stash) > 0 { // one that it faults on is not handled again
		m := a.seed.stash[0]
		a.seed.stash = a.seed.stash[1:]
		a.handle(m, nil)
	}
	a.seed.stash = nil
	a.idle()
}

// own makes the call the contact's.
func (a *contactActor) own(c *call) {
	if a.call != nil {
		a.d.owners.remove(a.call.m.A.ID)
	}
	a.call = c
	a.d.owners.add(c.m.A.ID, owner{campaign: a.m.C.Campaign, contact: a.m.C.ID})
}

func (a *contactActor) adopt(at attempt.Attempt) {
	a.own(&call{d: a.d, self: a.self, owner: a, bot: a.rules.Bot,
		m: attempt.Machine{A: at, Config: a.rules.Attempt}})
	a.call.m.Config.BotURIs = a.rules.Bot.URIs()
	a.call.m.Config.MustConsume = a.m.C.Unconsumed >= contact.MaxUnconsumed
}

// recover closes an attempt of an earlier process life. One that had been
// closed there has legs that were still watched.
func (a *contactActor) recover(at *attempt.Attempt) {
	a.adopt(*at)
	if !at.Live() {
		a.watching = a.call.recoverLegs()
		return
	}
	a.d.stats.Recovered.Add(1)
	a.lost("")
}

// lost ends the attempt whose legs nobody holds and watches them to their end.
func (a *contactActor) lost(why string) {
	a.watching = a.call.recoverLegs()
	a.call.apply(attempt.Event{Kind: attempt.OwnerLost, At: a.now, Err: why})
}

// watched follows the legs of a lost attempt: with the last one's end the
// number is free again.
func (a *contactActor) watched(e *engine.LegEvent) {
	if !e.Kind.Final() {
		return
	}
	a.watching--
	a.call.closed(e)
	at := a.call.snapshot()
	w := journal.Write{Attempts: []attempt.Attempt{at}}
	w.Events = []journal.Event{a.event(journal.LegClosed, journal.Data{Leg: e.Leg})}
	if a.watching == 0 {
		w.Holds = []journal.HoldRelease{{Attempt: at.ID, Number: at.To}}
	}
	a.persist(w, func(error) { a.d.phone.ForgetLegs(at.ID) })
}

func (a *contactActor) report() {
	r := &contactReport{PID: a.self, Row: a.m.C}
	if a.call != nil && a.call.m.A.Live() {
		r.Attempt, r.Phase, r.Seated = a.call.m.A.ID, a.call.m.PhaseNow(), a.call.m.A.Seated
	}
	a.d.root.Send(a.seed.run, r)
}

func (a *contactActor) reattached(msg *reattached) {
	if a.call == nil || a.call.m.A.ID != msg.Attempt {
		return
	}
	if msg.Seated && !a.call.m.A.Seated {
		a.call.apply(attempt.Event{Kind: attempt.SeatGranted, At: a.now})
	}
	a.d.media.AttachMedia(msg.Attempt, a.call.mediaSink())
}

// --- writes ------------------------------------------------------------------

func (a *contactActor) event(t journal.Type, data journal.Data) journal.Event {
	e := journal.Event{Campaign: a.rules.Campaign, Run: a.m.C.Run, At: a.now, Type: t, Version: 1, Contact: a.m.C.ID, Data: data}
	if a.call != nil {
		e.Attempt = a.call.m.A.ID
	}
	return e
}

// persist sends a write through the run; then is called once it is durable or
// refused.
func (a *contactActor) persist(w journal.Write, then func(error)) int {
	w.Campaign, w.Epoch = a.rules.Campaign, a.rules.Epoch
	a.step++
	p := persist{Write: w, ReplyTo: a.self, Step: a.step}
	a.pending = append(a.pending, pendingWrite{persist: p, then: then})
	a.d.root.Send(a.seed.run, &persistFor{Contact: a.m.C.ID, persist: p})
	return a.step
}

func (a *contactActor) durable(msg *persisted) {
	if msg.Spooled {
		// The actor stays until the database has it: the row there is an older one.
		spooledAt(a.pending, msg.Step)
		if a.call != nil {
			a.call.durable(msg.Step, nil, a.now)
		}
		return
	}
	for len(a.pending) > 0 && a.pending[0].Step <= msg.Step {
		p := a.pending[0]
		a.pending = a.pending[1:]
		if msg.Err != nil && p.Write.Intent != nil {
			// The history tells it all the same, with the end of the attempt.
			a.refused = p.Write.Events
		}
		if p.then != nil {
			p.then(msg.Err)
		}
	}
	if a.call != nil {
		a.call.durable(msg.Step, msg.Err, a.now)
	}
	if a.refused != nil { // the attempt had been given up before
		w := journal.Write{Events: a.refused}
		a.refused = nil
		a.persist(w, nil)
	}
}

// change applies an event to the contact and gives the facts before and after.
func (a *contactActor) change(ev contact.Event) (before, after *contact.Facts, ok bool) {
	ev.At, ev.Policy = a.now, a.rules.policyFor(a.m.C.Number)
	b := a.m.C.Facts()
	if err := a.m.Apply(ev); err != nil {
		a.d.stats.Illegal.Add(1)
		a.d.log.Warn().Err(err).Str("contact_id", string(a.m.C.ID)).Msg("event refused by the contact")
		return nil, nil, false
	}
	n := a.m.C.Facts()
	return &b, &n, true
}

// retune: Max Attempts was edited.
func (a *contactActor) retune() {
	if a.m.C.Max == a.rules.Policy.MaxAttempts || !a.m.C.Open() {
		return
	}
	if before, after, ok := a.change(contact.Event{Kind: contact.Retuned}); ok {
		a.persist(journal.Write{Contacts: []contact.Contact{a.m.C},
			Events: []journal.Event{a.event(journal.ContactChanged, journal.Data{Before: before, After: after})}}, nil)
	}
}

// --- attempts ----------------------------------------------------------------

func (a *contactActor) dial(msg *dial) {
	if a.m.C.Attempt != "" || a.m.C.DueAt == nil {
		// Excluded or dialled meanwhile: the leases go back unused.
		a.d.root.Send(a.d.trunks, &trunkEvent{Trunk: msg.Trunk, Leg: msg.Attempt.Leg(1), Over: true, At: a.now})
		a.d.root.Send(a.seed.pool, &releaseNumber{Attempt: msg.Attempt, Number: msg.From, End: numberpool.End{NotDialled: true}})
		a.lineOf(msg.Attempt, attempt.Line{Phase: attempt.PhaseOver}, a.now)
		if msg.Trigger != nil {
			a.triggered(&triggerContact{Trigger: msg.Trigger})
		}
		return
	}
	before, after, ok := a.change(contact.Event{Kind: contact.Reserved, Attempt: &contact.Attempt{ID: msg.Attempt, From: msg.From}})
	if !ok {
		return
	}
	a.reserving = [2]*contact.Facts{before, after}
	c := &a.m.C
	a.trigger = msg.Trigger
	at := attempt.Attempt{
		ID: msg.Attempt, Campaign: c.Campaign, Contact: c.ID, Run: a.rules.Run, Pass: c.Used + 1, Number: c.Used + 1,
		Bot: a.rules.Bot.ID, To: c.Number, From: msg.From, Trunk: msg.Trunk, Callback: msg.Callback,
		Epoch: a.rules.Epoch, State: attempt.Reserved, ResultToken: tokenHash(a.d.cfg.ResultToken(msg.Attempt.Call())),
	}
	if msg.Callback {
		at.CallbackAt = c.CallbackAt
	}
	a.rest()
	a.own(&call{d: a.d, self: a.self, owner: a, bot: a.rules.Bot, m: attempt.Machine{A: at, Config: a.rules.Attempt}, last: a.step, acked: a.step})
	a.call.m.Config.MustConsume = c.Unconsumed >= contact.MaxUnconsumed
	a.call.m.Config.BotURIs = a.rules.Bot.URIs()
	a.call.begin(a.now, msg.SendWithin, msg.Media)
}

var whatType = map[attempt.What]journal.Type{
	attempt.WhatReserved: journal.AttemptReserved, attempt.WhatLeg: journal.LegAdded, attempt.WhatAnswered: journal.AttemptAnswered,
	attempt.WhatConnected: journal.AttemptConnected, attempt.WhatAbandoned: journal.AttemptAbandoned, attempt.WhatOptedOut: journal.AttemptOptedOut, attempt.WhatResult: journal.ResultStored,
}

func (a *contactActor) record(what attempt.What, now time.Time) int {
	at := a.call.snapshot()
	w := journal.Write{Attempts: []attempt.Attempt{at}}
	data := journal.Data{Trunk: at.Trunk, Number: at.Number, Pass: at.Pass}
	var then func(error)
	switch what {
	case attempt.WhatReserved:
		w.Intent = &journal.Intent{Attempt: at.ID, Number: at.To, Refused: a.d.destinations.judge(at.To, at.From), Cap: a.d.calleeCap(a.now)}
		w.Contacts = []contact.Contact{a.m.C}
		data.Before, data.After = a.reserving[0], a.reserving[1]
		if t := a.trigger; t != nil {
			a.trigger = nil
			then = t.attach(&w, a, "dialled", at.ID)
		}
	case attempt.WhatConnected:
		data.Before, data.After, _ = a.change(contact.Event{Kind: contact.Reached})
		data.Verdict = at.Verdict
		w.Contacts = []contact.Contact{a.m.C}
	case attempt.WhatAbandoned:
		data.Cause = at.Ending.Cause
	case attempt.WhatOptedOut:
		w.Suppressions = []journal.Suppression{{Number: at.To, Reason: journal.SuppressedByOptOut, CreatedAt: a.now}}
	case attempt.WhatResult:
		// the contact's part is added by result()
		data.Connected = at.CountsResult()
		data.Disposition = at.Result.Disposition
	case attempt.WhatAnswered:
		data.RingMS = at.Ring().Milliseconds()
	case attempt.WhatLeg, attempt.WhatEnded:
	}
	if what == attempt.WhatResult {
		return a.recordResult(w, data)
	}
	w.Events = []journal.Event{a.event(whatType[what], data)}
	if then != nil {
		w.Events = append([]journal.Event{a.event(journal.ContactTriggered, journal.Data{After: data.Before})}, w.Events...)
	}
	return a.persist(w, then)
}

func (a *contactActor) line(l attempt.Line, now time.Time) { a.lineOf(a.call.m.A.ID, l, now) }

func (a *contactActor) lineOf(id engine.AttemptID, l attempt.Line, now time.Time) {
	m := &lineMoved{Contact: a.m.C.ID, Attempt: id, Phase: l.Phase, Cause: l.Cause, At: now}
	if c := a.call; c != nil && c.m.A.ID == id {
		m.Machine = c.m.A.Verdict != "" && !c.m.A.Verdict.Live()
	}
	a.d.root.Send(a.seed.run, m)
}

func (a *contactActor) dialled(at time.Time) { a.d.root.Send(a.seed.run, &inviteLeft{At: at}) }

func (a *contactActor) numberFree(strike bool) {
	at := &a.call.m.A
	a.d.root.Send(a.seed.pool, &releaseNumber{Attempt: at.ID, Number: at.From,
		End: numberpool.End{NotDialled: at.InviteAt == nil, Strike: strike, Answered: at.AnsweredAt != nil}})
}

func (a *contactActor) parameters() map[string]string {
	p := maps.Clone(a.m.C.Variables)
	if p == nil {
		p = map[string]string{}
	}
	p["campaign_id"], p["contact_id"] = string(a.m.C.Campaign), string(a.m.C.ID)
	p["run"] = strconv.Itoa(a.rules.Run)
	return p
}

// over: the attempt has ended; the contact decides what that means.
func (a *contactActor) over(now time.Time) {
	at := a.call.snapshot()
	sum := summary(&at)
	sum.Refusal = a.call.m.Refusal
	before, after, ok := a.change(contact.Event{Kind: contact.Attempted, Attempt: sum})
	data := endedData(&at)
	if ok {
		data.Before, data.After, data.DueAt = before, after, a.m.C.DueAt
		if a.m.C.State == contact.Failed {
			data.Reason = a.m.C.Reason
		}
	}
	hold := journal.HoldRelease{Attempt: at.ID, Number: at.To}
	if a.watching == 0 {
		a.watching = at.OpenPeers() // the bot's leg, which is being ended
	}
	if a.watching > 0 {
		hold.Until = now.Add(a.rules.Attempt.RingTimeout + a.d.cfg.RingGrace)
	}
	w := journal.Write{
		Attempts: []attempt.Attempt{at}, Contacts: []contact.Contact{a.m.C},
		Holds: []journal.HoldRelease{hold}, Events: []journal.Event{a.event(journal.AttemptEnded, data)},
	}
	if a.refused != nil {
		w.Events = append(slices.Clip(a.refused), w.Events...)
		a.refused = nil
	}
	watching := a.watching > 0
	if a.m.C.ResultDueAt != nil {
		a.lingering = true
		a.stopLinger = a.d.after(a.d.cfg.ResultLinger, a.self, &rest{})
	}
	// An intent that the database refused was never held: nothing to release.
	if t := a.trigger; t != nil {
		a.trigger = nil
		if sum.Refusal == engine.CodeCalleeCap {
			t.nextAt = a.m.C.DueAt
		}
		then := t.attach(&w, a, "queued", "")
		a.persist(w, then)
		return
	}
	a.persist(w, func(error) {
		if !watching {
			a.d.phone.ForgetLegs(at.ID)
		}
	})
}

// summary is what the contact's machine needs to know of an attempt.
func summary(at *attempt.Attempt) *contact.Attempt {
	s := &contact.Attempt{
		ID: at.ID, Run: at.Run, Outcome: at.Outcome, Consumed: at.Consumed, Connected: at.WasConnected(), Rang: at.RangUnanswered(),
		Talk: at.Talk(), RetryAfter: at.RetryAfter,
	}
	if at.EndedAt != nil {
		s.EndedAt = *at.EndedAt
	}
	if r := at.Result; r != nil {
		s.HasResult, s.Disposition = true, r.Disposition
		if r.Callback != nil && r.Callback.Requested {
			s.Callback = &contact.CallbackWish{At: r.Callback.At}
		}
	}
	return s
}

func (a *contactActor) endAttempt(msg *endAttempt) {
	if a.call == nil || !a.call.m.A.Live() {
		return
	}
	kind := attempt.CancelRequested
	if msg.HangUp {
		kind = attempt.HangUpRequested
	}
	a.call.m.Refusal = msg.Reason
	a.call.apply(attempt.Event{Kind: kind, At: a.now, By: engine.PartySystem})
}

func (a *contactActor) tell(msg *tellCall) { reply(a.d, msg.ReplyTo, nil, a.call.tell(msg, a.now)) }

// --- exclusion, results ------------------------------------------------------

func (a *contactActor) exclude(msg *excludeContact) {
	done := &excludeDone{Op: msg.Op}
	live := a.call != nil && a.call.m.A.Live()
	done.InCall = live && a.call.m.A.AnsweredAt != nil && a.call.m.A.Ending == nil
	was := a.m.C.State
	before, after, ok := a.change(contact.Event{Kind: contact.ExcludedBy, Reason: msg.Reason, InCall: done.InCall})
	if live && !done.InCall {
		done.Cancelled = a.call.m.A.Ending == nil
		// From here on the INVITE is known not to have left, or its CANCEL is owed.
		a.call.apply(attempt.Event{Kind: attempt.ExcludeRequested, At: a.now})
	}
	if !ok || was == contact.Excluded {
		done.Excluded = was == contact.Excluded
		a.d.root.Send(msg.ReplyTo, done)
		return
	}
	done.Excluded = true
	w := journal.Write{Contacts: []contact.Contact{a.m.C},
		// The reason is somebody's own words, which may be erased some day: they
		// stand in rows, not in the history.
		Events: []journal.Event{a.event(journal.ContactExcluded, journal.Data{Before: before, After: after})}}
	to := msg.ReplyTo
	a.persist(w, func(error) { a.d.root.Send(to, done) })
}

// result stores what a bot reports; it may come before the call's end, after
// it, or late.
func (a *contactActor) result(msg *storeResult) {
	if a.m.C.Number.Erased() {
		if msg.fetched {
			a.fetching--
		}
		reply(a.d, msg.ReplyTo, nil, errPersonErased)
		return
	}
	id, _ := msg.Call.Attempt()
	if a.call == nil || a.call.m.A.ID != id {
		if !msg.fetched {
			// What the sender saw of the attempt may be older than its end.
			a.fetching++
			a.d.fetchAttempt(id, a.self, msg)
			return
		}
		a.fetching--
		if newer, ok := a.older[id]; ok && msg.Attempt != nil {
			msg.Attempt = &newer
		}
		switch {
		case msg.Attempt == nil:
			reply(a.d, msg.ReplyTo, nil, msg.err)
			return
		case a.call != nil && a.call.m.A.Live(), a.watching > 0, msg.Attempt.State != attempt.Ended:
			a.olderResult(msg)
			return
		}
		a.adopt(*msg.Attempt)
	} else if msg.fetched {
		a.fetching--
	}
	a.rest()
	a.pendingResult = msg
	r := msg.Result
	a.call.apply(attempt.Event{Kind: attempt.ResultStored, At: a.now, Result: &r})
}

// olderResult: a result of an earlier attempt while a newer one lives.
func (a *contactActor) olderResult(msg *storeResult) {
	at := *msg.Attempt
	m := attempt.Machine{A: at, Config: a.rules.Attempt}
	r := msg.Result
	if _, err := m.Apply(attempt.Event{Kind: attempt.ResultStored, At: a.now, Result: &r}, nil); err != nil {
		reply(a.d, msg.ReplyTo, nil, err)
		return
	}
	if a.older == nil {
		a.older = map[engine.AttemptID]attempt.Attempt{}
	}
	a.older[at.ID] = m.A
	a.pendingResult = msg
	a.recordResult(journal.Write{Attempts: []attempt.Attempt{m.A}}, journal.Data{Connected: m.A.CountsResult(), Disposition: r.Disposition})
}

func (a *contactActor) recordResult(w journal.Write, data journal.Data) int {
	at := &w.Attempts[0]
	sum := summary(at)
	if at.EndedAt == nil {
		sum.EndedAt = a.now
	}
	data.Before, data.After, _ = a.change(contact.Event{Kind: contact.ResultStored, Attempt: sum})
	data.DueAt = a.m.C.DueAt
	data.Outcome = at.Outcome
	w.Contacts = []contact.Contact{a.m.C}
	ev := a.event(journal.ResultStored, data)
	ev.Attempt = at.ID
	if at.Run != ev.Run { // late, of a run before: nothing here changes
		ev.Run, ev.Data.Before, ev.Data.After = at.Run, nil, nil
	}
	w.Events = []journal.Event{ev}
	if at.Result.DoNotCall {
		w.Suppressions = []journal.Suppression{{Number: at.To, Reason: journal.SuppressedByResult, CreatedAt: a.now}}
	}
	msg := a.pendingResult
	a.pendingResult = nil
	a.d.stats.Results.Add(1)
	return a.persist(w, func(err error) {
		if msg != nil {
			reply(a.d, msg.ReplyTo, nil, err)
		}
	})
}

func (a *contactActor) resultTimeout() {
	if a.m.C.ResultDueAt == nil || a.m.C.ResultDueAt.After(a.now) {
		return
	}
	before, after, ok := a.change(contact.Event{Kind: contact.ResultTimedOut})
	if !ok {
		return
	}
	a.persist(journal.Write{Contacts: []contact.Contact{a.m.C},
		Events: []journal.Event{a.event(journal.ContactChanged, journal.Data{Before: before, After: after, DueAt: a.m.C.DueAt, Reason: "result_timeout"})}}, nil)
}

// --- trigger -----------------------------------------------------------------

// triggerContext carries a trigger through to the write that answers it.
type triggerContext struct {
	cmd     campaign.Trigger
	replyTo *actor.PID
	reason  string
	nextAt  *time.Time
}

// attach adds the reply to the write, so that contact, intent, idempotency key
// and response commit together; the returned function answers the caller.
func (t *triggerContext) attach(w *journal.Write, a *contactActor, status string, id engine.AttemptID) func(error) {
	r := campaign.TriggerReply{Status: status, ContactID: a.m.C.ID, CampaignID: a.m.C.Campaign, AttemptID: id}
	if status == "queued" {
		r.NextEligibleAt, r.Reason = t.nextAt, t.reason
	}
	if t.cmd.Idempotency.Present() {
		w.Reply = storedReply(t.cmd.Idempotency, 200, r, a.now)
	}
	return func(err error) {
		if err != nil {
			if code := engine.ErrorCode(err); code == engine.CodeNumberHeld || code == engine.CodeSuppressed || code == engine.CodeDestination || code == engine.CodeCalleeCap {
				// The intent was refused; the contact is written without it.
				if t.reason == "" {
					t.reason = code
				}
				a.trigger = t
				return
			}
		}
		if err == nil {
			a.d.root.Send(a.seed.run, &contactStored{a.m.C.Number})
		}
		reply(a.d, t.replyTo, r, err)
	}
}

// readmit: the contact was added again on purpose.
func (a *contactActor) readmit(msg *readmitContact) {
	if a.rules.Sticky || a.m.C.State != contact.Excluded {
		return
	}
	before, after, ok := a.change(contact.Event{Kind: contact.Readmitted, Variables: msg.Variables})
	if !ok {
		return
	}
	a.persist(journal.Write{Contacts: []contact.Contact{a.m.C},
		Events: []journal.Event{a.event(journal.ContactChanged, journal.Data{Before: before, After: after, DueAt: a.m.C.DueAt, Reason: "readmitted"})}}, nil)
}

// triggered merges into an open contact or reopens a final one.
func (a *contactActor) triggered(msg *triggerContact) {
	t := msg.Trigger
	if a.rules.Sticky && (a.m.C.State == contact.Excluded || a.m.C.ExcludeAfterCall) {
		reply(a.d, t.replyTo, nil, errContactExcluded)
		return
	}
	open := a.m.C.Open()
	before, after, ok := a.change(contact.Event{Kind: contact.Triggered, Variables: t.cmd.Variables})
	if !ok {
		reply(a.d, t.replyTo, nil, errContactExcluded)
		return
	}
	if open {
		t.reason = "merged"
	}
	t.nextAt = a.m.C.DueAt
	w := journal.Write{Contacts: []contact.Contact{a.m.C},
		Events: []journal.Event{a.event(journal.ContactTriggered, journal.Data{Before: before, After: after, Reason: t.reason})}}
	then := t.attach(&w, a, "queued", "")
	a.persist(w, then)
}
