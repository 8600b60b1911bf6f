package sim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/eligibility"
	"dialler/engine/fleet"
	"dialler/engine/journal"
	"dialler/engine/lease"
	phone "dialler/engine/number"
	"dialler/engine/numberpool"
	"dialler/engine/pacing"
	"dialler/engine/run"
	"dialler/engine/trunk"
	"dialler/engine/window"
)

// Timing of the process, as in the shipped one.
const (
	tick         = 500 * time.Millisecond
	leaseTTL     = 30 * time.Second
	channelTTL   = 5 * time.Hour
	sendBy       = 10 * time.Second
	ringGrace    = 35 * time.Second
	resultLinger = 3 * time.Second
	reconcile    = 30 * time.Second
	optOut       = '9' // the key that opts a callee out during the information message
)

// botID is the one bot.
const botID engine.BotID = "bot"

// process is one incarnation of the dialler's process. Its knowledge is lost with it; the store and
// the legs on the network stay. It answers what the cores ask of a process (run.Process,
// call.Process).
type process struct {
	call.Alone
	w         *campaignWorld
	life      int
	runs      []*runner // by campaign; nil while one is handed over
	writer    writer
	dbDown    bool // the database is known to be unavailable
	waiting   map[engine.Request]*request
	fences    map[engine.Request]*contactActor
	owned     map[engine.AttemptID]callShell
	callsIn   *callsIn                         // nil in a world in which nobody calls us
	abandoned map[engine.PhoneNumber]time.Time // of the last 72 hours, as far as this process was told
	port      map[engine.AttemptID][]*leg      // legs that this process placed or took over
	media     map[engine.AttemptID]*mediaPath
	sockets   map[engine.SocketID]*botSocket // not taken by a call
	callees   map[string]window.Home

	fleet                           *fleet.Fleet
	trunks                          []*trunk.Trunk
	answered                        []bool // trunks that answered OPTIONS
	slots                           []*numberpool.Slot
	homes                           []numberpool.Candidate // areas and countries of the slots
	trunkLane, numberLane, seatLane lane
	strayLegs                       []lease.Strays[engine.LegID]     // by trunk
	strays                          []lease.Strays[engine.AttemptID] // by slot
	effects                         []call.Effect
	actors                          int // contact actors started so far
	fencesAsked                     int
}

// boot starts the process from the durable state.
func (w *campaignWorld) boot() {
	w.lives++
	p := &process{w: w, life: w.lives, waiting: map[engine.Request]*request{}, fences: map[engine.Request]*contactActor{},
		owned: map[engine.AttemptID]callShell{}, abandoned: map[engine.PhoneNumber]time.Time{},
		port: map[engine.AttemptID][]*leg{}, media: map[engine.AttemptID]*mediaPath{},
		sockets: map[engine.SocketID]*botSocket{}, callees: map[string]window.Home{}}
	w.process, p.writer.p = p, p
	p.own()
	_ = w.store.Maintain(background, w.wall())
	if w.in.CallsBack > 0 {
		p.bringUpCallsIn()
	}
	for _, c := range w.campaigns {
		p.runs = append(p.runs, nil)
		p.bringUp(c)
	}
}

// --- what the cores ask ----------------------------------------------------------------

func (p *process) Draining() bool     { return false }
func (p *process) DatabaseAway() bool { return p.dbDown }
func (p *process) TrunksDown() bool {
	return !slices.ContainsFunc(p.trunks, func(t *trunk.Trunk) bool {
		c := t.Candidate(p.w.mono())
		return !c.Down()
	})
}
func (p *process) Fenced() bool                            { return false }
func (p *process) CommitLate() time.Duration               { return p.writer.late() }
func (p *process) BotLate(engine.BotID) time.Duration      { return 0 }
func (p *process) Owned(id engine.AttemptID) bool          { return p.owned[id] != nil }
func (p *process) AsksEligibility(h eligibility.Hook) bool { return h.URL != "" }

func (p *process) NeedsSeat(n engine.PhoneNumber, now time.Time) bool {
	return pacing.NeedsSeat(p.abandoned[n], now)
}

func (p *process) CalleeCap(_ engine.PhoneNumber, now time.Time) *journal.CalleeCap {
	if len(p.w.in.CalleeLimits) == 0 {
		return nil
	}
	return &journal.CalleeCap{Limits: p.w.in.CalleeLimits, Now: now}
}

func (p *process) Home(n engine.PhoneNumber) window.Home {
	key := string(n[:max(len(n)-7, 0)])
	h, ok := p.callees[key]
	if !ok {
		h = phone.HomeOf(n)
		p.callees[key] = h
	}
	return h
}

// --- runs --------------------------------------------------------------------------------

// runner carries out the decisions of a campaign's run.
type runner struct {
	p        *process
	c        *campaignRecord
	state    *run.State
	contacts map[engine.ContactID]*contactActor
	numbers  []engine.PhoneNumber // of the pool
	local    bool
	asked    int // seats asked for, as the next instance of the run is told
	name     string
	stopped  func()
	gone     bool
	effects  []run.Effect
}

// runner returns the runner of a campaign, nil if there is none.
func (w *campaignWorld) runner(c *campaignRecord) *runner {
	if w.process == nil {
		return nil
	}
	return w.process.runs[c.i]
}

// bringUp starts a campaign's actors.
func (p *process) bringUp(c *campaignRecord) {
	p.w.ups++
	r := &runner{p: p, c: c, name: "run-" + strconv.Itoa(p.w.ups), contacts: map[engine.ContactID]*contactActor{}}
	p.runs[c.i] = r
	r.start()
}

// start starts an instance of the run.
func (r *runner) start() {
	look := 100
	if r.p.w.in.Large {
		look = 2000
	}
	look = cmp.Or(r.p.w.in.LookAhead, look)
	r.state = run.New(r.c.id, run.Config{Tick: tick, Reconcile: reconcile, SendBy: sendBy, LookAhead: look,
		OptOut: optOut})
	e := &run.Started{}
	for i := range e.Seed {
		e.Seed[i] = byte(r.p.w.draw()) //nolint:gosec // the low bits
	}
	r.apply(e, "")
}

// tell sends the run a message.
func (r *runner) tell(event any) { r.p.after(0, r, event) }

func (r *runner) receive(event any, from engine.Request) {
	if !r.gone {
		r.apply(event, from)
	}
}

// apply takes an event through the core and carries out the effects.
func (r *runner) apply(event any, from engine.Request) {
	w := r.p.w
	effects, err := w.applied(r, run.Input{Now: w.wall(), Boot: w.bootTime(), From: from, Event: event, Process: r.p})
	if err != nil {
		w.check.broke(r.c, "%v", err)
	}
	for _, e := range effects {
		r.do(e)
	}
	clear(effects)
	r.effects = effects
	r.c.clock.pass(w, r.c)
}

// do carries out one effect of the run.
func (r *runner) do(effect run.Effect) {
	p, w := r.p, r.p.w
	switch e := effect.(type) {
	case run.PassOn:
		p.writer.submit(queued{write: e.Write, contact: r.contacts[e.Contact], step: e.Step, run: r, revoke: true})
	case run.Write:
		p.writer.submit(queued{write: e.Write, run: r, revoke: e.Revoke, then: e.Then})
	case run.Fence:
		p.writer.submit(queued{run: r, ticket: e.Ticket})
	case run.PassFence:
		p.writer.submit(queued{contact: p.fences[e.Request]})
		delete(p.fences, e.Request)
	case run.Spawn:
		p.spawn(r, e)
	case run.Tell:
		if a := r.contacts[e.Contact]; a != nil {
			p.after(0, a, e.Command)
		}
	case run.CallRoster:
		r.callRoster(e.Life)
	case run.ReserveTrunks, run.ReleaseTrunk, run.ReserveNumbers, run.ReleaseNumber, run.DemandSeats:
		p.lease(r, e)
	case run.SetPool:
		r.numbers, r.local = e.Numbers, e.LocalMatch
	case run.Reply:
		p.reply(e.Request, e.Value, e.Err)
	case run.Arm:
		r.arm(e)
	case run.SendPulse:
		r.tell(&run.Pulse{At: e.At})
	case run.SayLastWord:
		if stopped := r.stopped; stopped != nil {
			r.stopped = nil
			stopped()
		}
	case run.Abandoned:
		p.abandoned[e.Number] = w.wall()
	case run.Illegal:
		w.check.broke(r.c, "a machine refused an event of the run")
	case run.Failed:
		if !journal.Temporary(e.Err) {
			w.check.broke(r.c, "%s: %v", e.What, e.Err)
		}
	case run.ClockStepped, run.RoundLost, run.Closing:
		w.check.note(r.c, "%T %v", e, e)
	case run.OpenSocket:
		p.openSocket(r, &e.Open)
	case run.CloseSocket:
		delete(p.sockets, e.Socket)
	case run.CloseSockets:
		maps.DeleteFunc(p.sockets, func(_ engine.SocketID, x *botSocket) bool { return x.r.c == r.c })
	case run.PoolChanged, run.Disarm, run.Publish, run.Overloaded, run.Leave, *call.BotTried:
		// Ignored here; a stopped timer is ignored, too.
	default:
		if !r.ask(effect) {
			// An effect that is silently dropped would hide a fault.
			panic(fmt.Sprintf("sim: no handler for a run's effect %T", effect)) //nolint:forbidigo // the simulator would lie
		}
	}
}

// arm starts a timer. A run that checks its clock twice a second while nothing can happen is of no
// use, so a run at rest has fewer ticks.
func (r *runner) arm(e run.Arm) {
	w := r.p.w
	event := simEvent{life: r.p.life, to: r, event: &run.TimerFired{Timer: e.Timer, Epoch: e.Epoch, Owed: e.Owed}}
	after := e.After
	if s := r.state; len(r.contacts) == 0 && s.Round == nil && s.Tally != nil && s.Asked == 0 &&
		(e.Timer == run.TimerTick || e.Timer == run.TimerWake) {
		c := &s.M.C
		event.idle = c.State != campaign.Running && c.WindowEndsAt == nil && s.Tally.C.States[contact.Connected] == 0
		now := w.wall()
		rare := restTick
		if event.idle {
			rare = closedTick
		}
		if !c.Settings.Window.ContactZone && !c.Settings.Window.Open(now) {
			rare = closedTick
			if at, ok := c.Settings.Window.NextOpening(now); ok {
				rare = min(rare, at.Sub(now))
			}
		} else if e.Timer == run.TimerWake {
			rare = 0
		}
		if c.WindowEndsAt != nil {
			rare = min(rare, c.WindowEndsAt.Sub(now))
		}
		after = max(after, rare)
	}
	w.push(after, event)
}

// Ticks of a run at rest: within its window, and outside.
const (
	restTick   = 2 * time.Second
	closedTick = 20 * time.Second
)

// after sends a message after a delay, unless the process has gone by then.
func (p *process) after(d time.Duration, to receiver, event any) {
	p.w.push(d, simEvent{life: p.life, to: to, event: event})
}

// do schedules something that the process does.
func (p *process) do(d time.Duration, f func()) { p.w.push(d, simEvent{life: p.life, f: f}) }

// again is do for recurring events.
func (p *process) again(d time.Duration, f func()) {
	p.w.push(d, simEvent{life: p.life, idle: true, f: f})
}

// callRoster names the contacts with an actor; each of them reports.
func (r *runner) callRoster(life int64) {
	called := &run.RosterCalled{Life: life}
	for _, a := range r.inOrder() {
		c := &a.core.Machine.C
		called.Actors = append(called.Actors, run.ContactActor{Actor: a.name, Contact: c.ID, Number: c.Number})
		r.p.after(0, a, &call.Report{})
	}
	r.tell(called)
}

// inOrder lists the contact actors in the order of their start.
func (r *runner) inOrder() []*contactActor {
	return slices.SortedFunc(maps.Values(r.contacts), func(a, b *contactActor) int { return a.no - b.no })
}

// --- contacts ----------------------------------------------------------------------------

// contactActor carries out the decisions of a contact and its call.
type contactActor struct {
	r     *runner
	core  *call.Contact
	no    int
	name  string
	owned engine.AttemptID
	gone  bool
}

func (p *process) limits() call.Limits {
	return call.Limits{RingGrace: ringGrace, ResultLinger: resultLinger, SendByTimeout: sendBy,
		DialoutRing: 30 * time.Second, OptOutDigit: optOut}
}

func (p *process) spawn(r *runner, e run.Spawn) {
	p.actors++
	a := &contactActor{r: r, no: p.actors, name: "contact-" + string(e.Row.ID) + "." + strconv.Itoa(p.actors),
		core: call.NewContact(e.Row, e.Rules, p.limits(), e.First)}
	r.contacts[e.Row.ID] = a
	p.after(0, a, &call.Started{Lost: e.Lost})
}

// restart replaces a contact whose actor crashed.
func (a *contactActor) restart() {
	a.core = call.NewContact(a.core.Machine.C, a.core.Rules, a.r.p.limits(), a.core.Stash)
	a.disown()
	a.r.p.after(0, a, &call.Restarted{})
}

func (a *contactActor) stop() {
	a.gone = true
	a.disown()
	delete(a.r.contacts, a.core.Machine.C.ID)
}

// disown gives up the ownership of the contact's attempt.
func (a *contactActor) disown() { a.r.p.disowned(a, &a.owned) }

// receive takes an event, and then those that waited until the contact was loaded.
func (a *contactActor) receive(event any, _ engine.Request) {
	for ok := !a.gone; ok; event, ok = a.core.Next() {
		a.apply(event)
		if a.gone {
			return
		}
	}
}

func (a *contactActor) apply(event any) { a.r.p.applyTo(a.core, event, a.do) }

func (a *contactActor) in() *process             { return a.r.p }
func (a *contactActor) of() *campaignRecord      { return a.r.c }
func (a *contactActor) call() *call.Call         { return &a.core.Call }
func (a *contactActor) owns(id engine.AttemptID) { a.r.p.ownedBy(a, &a.owned, id) }

// do carries out one effect of the contact.
func (a *contactActor) do(effect call.Effect) {
	r, p, w := a.r, a.r.p, a.r.p.w
	switch e := effect.(type) {
	case *call.Stopped:
		a.stop()
		r.tell(e)
	case *call.Reported:
		r.tell(&run.Reported{Actor: a.name, Reported: *e})
	case call.ToRun:
		r.tell(e)
	case *call.WhenSettled: // there is no other node
		r.tell(e.Message)
	case *call.LoadContact:
		p.fencesAsked++
		id := engine.Request("load-" + strconv.Itoa(p.fencesAsked))
		p.fences[id] = a
		p.do(0, func() { r.receive(&run.FenceFor{}, id) })
	case *call.AskEligibility:
		p.askHook(a, e)

	case *call.PlaceLeg:
		w.place(a, &e.Leg)
	case *call.ReserveTrunk, *call.TrunkEvent, *call.ReleaseNumber:
		p.lease(a, e)
	default:
		if !p.carryOut(a, effect) {
			panic(fmt.Sprintf("sim: no handler for a contact's effect %T", effect)) //nolint:forbidigo // as above
		}
	}
}

// askHook answers the question for the eligibility hook.
func (p *process) askHook(a *contactActor, e *call.AskEligibility) {
	w, v := p.w, eligibility.Verdict{Decision: eligibility.Allow}
	switch u := w.draw() % 100; {
	case u < 5:
		v = eligibility.Verdict{Decision: eligibility.Defer, Until: w.wall().Add(10 * time.Minute),
			Code: engine.CodeNotEligible}
	case u < 8:
		v = eligibility.Verdict{Decision: eligibility.Exclude, Reason: "moved"}
	}
	p.after(w.delay(time.Second), a, &call.EligibilityKnown{Dial: e.Dial, Verdict: v})
}
