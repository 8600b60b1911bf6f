package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
	"dialler/engine/attempt"
	core "dialler/engine/call"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/number"
)

// rules are the campaign's settings as a contact needs them.
type rules = core.Rules

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

	asking     bool              // whether it may be called
	suppressed bool              // its number is on the suppression list, as was told since it is up
	reserving  [2]*contact.Facts // the facts around the reservation of the live attempt
	refused    []journal.Event   // of an intent that the database refused
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
		if _, stops := msg.(*actor.Stopping); stops && a.call != nil && a.call.m.A.Live() {
			a.d.stats.Released.Add(1) // another node goes on with it
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
	case *eligibilityKnown:
		a.eligible(msg)
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
	case *actOnContact:
		a.actedOn(msg)
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
	case *legsGone:
		a.legsGone(msg)
	case *liveAttempt:
		if a.call == nil || a.call.m.A.ID != msg.Attempt {
			reply(a.d, msg.ReplyTo, nil, errCallNotFound)
			break
		}
		a.call.show(msg, a.pending)
	case *rules:
		a.rules = msg
		a.retune()
		a.pause()
	case *report:
		a.asking = false // the run that was to be asked is no more
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
	a.settleSuppressed()
	a.idle()
}

func (a *contactActor) attempt(msg any) {
	if a.call != nil {
		a.call.receive(msg, a.now)
	}
}

// busy says whether the actor has something that only it knows or awaits.
func (a *contactActor) busy() bool {
	return a.loading || a.lingering || a.asking || len(a.pending) > 0 || a.watching > 0 || a.fetching > 0 || (a.call != nil && a.call.m.A.Live())
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
	ev.At, ev.Policy = a.now, a.rules.PolicyFor(a.m.C.Number, number.Zones)
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
