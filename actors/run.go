package actors

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/exclusion"
	"dialler/engine/journal"
	core "dialler/engine/run"
	"dialler/engine/tally"
	"dialler/engine/window"
)

// run is a campaign's lifecycle, pace, due queue and tally. It is a leaf of
// the tree: when it crashes nobody else is stopped; it loads what is durable,
// asks its contacts where they stand, and goes on.
type run struct {
	d        *deps
	id       engine.CampaignID
	self     *actor.PID
	contacts *actor.PID
	pool     *actor.PID
	now      time.Time

	// Loading.
	lives    *lives
	loading  bool
	ready    bool
	absent   error // why this node cannot act for the campaign: errCampaignNotFound when nil
	stash    []stashed
	awaited  map[string]struct{} // contacts' actors that have not reported yet, by the names of their PIDs
	heard    map[string]struct{} // those that reported before all were known
	rostered bool                // awaited is known

	m     campaign.Machine
	tally *tally.Tally
	rules *rules
	bot   engine.Bot

	// Contacts.
	queue       core.Queue
	lines       map[engine.ContactID]*line
	byNumber    map[engine.PhoneNumber]*line
	loads       map[engine.ContactID][]any // messages that wait for a contact's row
	refilling   bool
	refillAgain bool
	refillStale bool                          // the rows under way are of before a change of all contacts
	touched     map[engine.ContactID]struct{} // lines that lived during the refill
	looks       map[look]struct{}             // under way
	departed    map[engine.ContactID]look     // who has come to rest since, with the last look that had begun by then
	nextDue     *time.Time
	expected    *time.Time // the earliest that became known during the refill, whose answer may be of before
	openRows    int        // contacts of the run that are not final, as last asked

	// Pace.
	round    *round
	handOver *lastWord // asked for, and owed until all is answered
	// leavesUntil: another node is to act for the campaign, and nothing new is dialled.
	leavesUntil time.Time
	rounds      int
	triggers    []*pendingTrigger
	// triggering are the numbers whose trigger is under way, from the look-up
	// until the contact lives or is stored: another of the number waits.
	triggering map[engine.PhoneNumber]struct{}
	// lookNext is how many triggers more ask for their number first: one of late met
	// a contact that there was.
	lookNext   int
	seats      int     // allotted by the fleet
	seatTarget int     // the fair share of them, as the fleet sees it
	outage     *outage // of the bot, when that is why there are no seats
	// Where another node keeps the count of the seats: nothing is dialled with
	// them after seatsUntil, nor while that node does not answer.
	seatsUntil engine.BootTime
	seatsAway  bool
	asked      int // seats last asked for
	askedN     int // number of the last demand
	// seatsAsked is the demand that the fleet has not answered yet, 0 when none.
	seatsAsked int
	fewerSince time.Time // since when fewer seats would be enough
	waiting    []*line
	busy       int                  // seats held by lines, and for those being reserved
	held       int                  // lines that ring with a seat held, of busy
	phases     [len(phaseOrder)]int // lines by phase
	pace       pace
	live       core.Rates
	windowIs   bool // whether the window is open, as last asked

	windowFrom, windowUntil time.Time
	windowEnds              time.Time // of the open window, as last asked
	own                     ownWindows
	readmission             readmission

	// Requests under way.
	barriers   map[int64]func()
	barrierSeq int64
	owed       campaign.Effect // reset or restore of the contacts, while it is not done
	storing    bool            // the contacts are being prepared, restored or removed
	storingFor []*actor.PID
	heldBack   []heldMessage // for contacts that are being prepared, or closed
	sweeping   *sweeping
	atRest     func() // called once no contact's actor lives
	ops        map[int]*excludeOp
	lifts      map[int]*liftOp
	opSeq      int
	excluded   exclusion.Book

	// Additions, and the switch of an import, which none of them may meet.
	activation *activation
	parked     []parked
	adding     int                              // lists of contacts being added
	additions  int                              // counts the switches: triggers are older or newer than one
	fresh      map[engine.PhoneNumber]int       // contacts that triggers made and that are not stored, with additions
	erasing    map[engine.PhoneNumber]time.Time // persons who are being erased, until when at most

	wake        func() // stops the timer of the next due contact or opening
	ticked      bool
	clocks      window.Reading // at the last tick
	lastOverdue time.Time

	lastReconcile time.Time
	orphans       []attempt.Attempt                          // open in the database, of whom nobody has reported yet
	recovering    bool                                       // the contacts of those of an earlier life are being loaded
	unwanted      map[engine.PhoneNumber]journal.Suppression // of the numbers that those call
}

// lives are those of one campaign's run. One that crashes while it loads must not
// take the campaign over once the next one has.
type lives struct {
	one    sync.Mutex
	newest atomic.Pointer[run]
	seats  atomic.Int64 // that the last demand asked for: the fleet keeps them for the next life
}

func newRun(d *deps, l *lives, id engine.CampaignID, contacts, pool *actor.PID) *run {
	return &run{d: d, lives: l, id: id, contacts: contacts, pool: pool, queue: core.NewQueue(),
		lines: map[engine.ContactID]*line{}, byNumber: map[engine.PhoneNumber]*line{}, loads: map[engine.ContactID][]any{},
		touched: map[engine.ContactID]struct{}{}, looks: map[look]struct{}{}, departed: map[engine.ContactID]look{}, triggering: map[engine.PhoneNumber]struct{}{}, ops: map[int]*excludeOp{}, lifts: map[int]*liftOp{},
		heard: map[string]struct{}{}, fresh: map[engine.PhoneNumber]int{}, erasing: map[engine.PhoneNumber]time.Time{}}
}

type (
	runTick struct{}
	wakeUp  struct{}
)

func (r *run) Receive(ctx actor.Context) {
	r.now = r.d.clock.Now()
	msg := ctx.Message()
	switch m := msg.(type) {
	case *actor.Started:
		r.self = ctx.Self()
		r.lives.newest.Store(r)
		r.d.root.Send(r.d.writerFor(string(r.id)), &barrier{ReplyTo: r.self})
		return
	case *actor.Stopping, *actor.Stopped, *actor.Restarting:
		return
	case *barrierPassed:
		if m.N == 0 {
			r.load()
			return
		}
		if f := r.barriers[m.N]; f != nil {
			delete(r.barriers, m.N)
			f()
			r.pump()
			r.sayLastWord(false)
		}
		return
	case *reload:
		r.load()
		return
	case *runLoaded:
		if m.of == r {
			r.loading = false
			r.loaded(m)
		}
		return
	case *rosterCalled:
		if m.of == r {
			r.rosterKnown(m)
		}
		return
	case *rosterLate:
		if m.of == r {
			r.awaited, r.heard, r.rostered = nil, nil, true
			r.settle()
		}
		return
	case *recovered:
		if m.of != r {
			return
		}
		r.recovered(m)
	case *openListed:
		if m.of == r {
			r.reconcile(m)
		}
		return
	case *call.Reported:
		r.reported(m, ctx.Sender())
		return
	case *lastWord:
		if r.ready || m.HandOver {
			r.lastWord(m)
			return
		}
	case *answersDue:
		if r.handOver == m.of {
			r.sayLastWord(true)
		}
		return
	case *crash:
		panic("fault injected")
	}
	if !r.ready {
		_, own := msg.(call.ToRun)
		if to := ctx.Sender(); to != nil && !own && len(r.stash) >= stashCap {
			r.d.stats.Overloads.Add(1)
			reply(r.d, to, nil, errOverloaded)
			return
		}
		r.stash = append(r.stash, stashed{msg, ctx.Sender()})
		return
	}
	r.handle(msg, ctx.Sender())
	r.pump()
	r.sayLastWord(false)
}

// stashed is a message that waits until the run is loaded.
type stashed struct {
	msg    any
	sender *actor.PID
}

func (r *run) handle(msg any, sender *actor.PID) {
	if r.park(msg, sender) {
		return
	}
	switch m := msg.(type) {
	case *call.Persist:
		r.persist(m, sender)
	case *barrier:
		r.d.root.Send(r.d.writerFor(string(r.id)), m)
	case *persisted:
	case *writeRefused:
		r.refused(m)
	case *call.LineMoved:
		r.lineMoved(m)
	case *call.AnswerStands:
		r.answerStands(m)
	case *call.InviteLeft:
		r.live.Dialled(m.At)
	case *call.Up:
		r.contactUp(m, sender)
	case *call.Idle:
		r.contactIdle(m)
	case *call.Stopped:
		r.contactStopped(m)
	case *call.NotIdle:
		r.contactNotIdle(m)
	case *contactFetched:
		r.contactFetched(m)
	case *refilled:
		r.refilled(m)
	case *trunksReserved:
		r.trunksReserved(m)
	case *numbersReserved:
		r.numbersReserved(m)
	case *roundLate:
		r.roundLate(m)
	case *call.MayDial:
		r.mayDial(m)
	case *seatsAllotted:
		r.seatsAllotted(m)
	case *pulse:
		r.felt(m)
	case *databaseState, *wakeUp:
	case *act:
		r.act(m, sender)
	case *numbersSuppressed:
		r.suppressed(m, sender)
	case *numberChanged:
		r.d.root.Send(r.pool, m)
		r.pace.poolChanged()
	case *suppressedFound:
		r.suppressedFound(m)
	case *suppressedAgain:
		r.findSuppressed(m.numbers, m.after)
	case *beginErasure:
		r.beginErasure(m, sender)
	case *endErasure:
		r.endErasure(m, sender)
	case *preflight:
		r.preflight(sender)
	case *preflightReady:
		r.preflightReady(m)
	case *actReady:
		r.actReady(m)
	case *detail:
		if r.known(sender) {
			reply(r.d, sender, r.detail(), nil)
		}
	case *addRows:
		r.addRows(m, sender)
	case *excludedFound:
		r.excludedFound(m)
	case *readmitLater:
		r.lookUpExcluded(m.list)
	case *rowsAdded:
		r.rowsAdded(m)
	case *mayImport, *beginActivation, *activationDue, *activationGoesOn, *closeGate, *activationEnded, *call.Stored, *parkedLate:
		r.importing(m)
	case *retriggered:
		r.trigger(m.m, m.sender)
	case *trigger:
		r.trigger(m, sender)
	case *triggerFound:
		r.triggerFound(m)
	case *exclude:
		r.exclude(m, sender)
	case *operate:
		r.operate(m, sender)
	case *operateFound:
		r.operateFound(m)
	case *excludeFound:
		r.excludeFound(m)
	case *excludeAgain:
		r.findExcluded(m.op)
	case *call.Excluded:
		r.excludeDone(m)
	case *opPersisted:
		r.opPersisted(m)
	case *exclusionsImported:
		r.exclusionsImported(&m.cmd, sender)
	case *lift:
		r.lift(m, sender)
	case *liftFound:
		r.liftFound(m)
	case *liftAgain:
		r.findLifted(m.op)
	case *call.Lifted:
		r.liftDone(m)
	case *submitResult:
		r.result(m, sender)
	case *call.Show:
		if l := r.lines[m.Contact]; l != nil {
			m.Request = request(sender)
			r.send(l, m)
			return
		}
		reply(r.d, sender, nil, call.ErrCallNotFound)
	case *call.LegsGone:
		if l := r.lines[m.Contact]; l != nil {
			r.send(l, m)
		}
	case *dialNoMore:
		r.dialNoMore(sender)
	case *tellContact:
		r.touch(m.Contact, &call.Keys{Attempt: m.Attempt, Digits: m.Digits, Request: request(sender)})
	case *transferContact:
		r.touch(m.Contact, &call.Transfer{Attempt: m.Attempt, To: m.To, Request: request(sender)})
	case *overdue:
		r.overdue(m)
	case *swept:
		r.swept(m)
	case *lookForSwept:
		r.lookForSwept(m.seq)
	case *restLate:
		r.nowAtRest()
	case *storeAgain:
		r.storeAction(m.effect)
	case *resetDone:
		r.resetDone(m)
	case *refreshBots:
		r.refreshBots(m)
	case *lastWord:
		r.lastWord(m)
	case *runTick:
		r.tick()
	}
}

// persist gives a contact's events their place in the campaign's sequence,
// folds them, and passes the write on.
func (r *run) persist(m *call.Persist, contact *actor.PID) {
	if l := r.lines[m.Contact]; l != nil {
		if _, dup := l.accepted[m.Step]; dup {
			return // repeated after a crash of this run; the first is on its way
		}
		l.accepted[m.Step] = struct{}{}
	}
	p := persist{Write: *m.Write, ReplyTo: contact, Step: m.Step, Run: r.self}
	r.sequence(&p.Write)
	r.d.root.Send(r.d.writerFor(string(r.id)), &p)
}

// sequence numbers and folds a write's events and stamps the owner's epoch.
func (r *run) sequence(w *journal.Write) {
	w.Campaign, w.Epoch = r.id, r.m.C.Epoch
	// Their events are counted once the store has made them.
	if w.Bulk != nil {
		w.Bulk.Event = r.tell(journal.ContactsClosed, w.Bulk.At)
	}
	if w.Retune != nil {
		w.Retune.Event = r.tell(journal.ContactsRetuned, w.Retune.At)
	}
	for i := range w.Events {
		e := &w.Events[i]
		r.m.C.Seq++
		e.Campaign, e.Seq = r.id, r.m.C.Seq
		if e.Run == 0 {
			e.Run = r.m.C.Run
		}
		if e.Run == r.m.C.Run {
			r.tally.Apply(e)
		}
		r.live.Note(e)
	}
}

// refused takes back what was folded of a write that the database did not
// take. One of an earlier life of this run is not among what was loaded.
func (r *run) refused(m *writeRefused) {
	if m.Write.Epoch != r.m.C.Epoch || r.tally == nil {
		return
	}
	for i := range m.Write.Events {
		if e := &m.Write.Events[i]; e.Run == r.m.C.Run {
			r.tally.Revoke(e)
		}
	}
}

// write persists something of the run's own.
func (r *run) write(w journal.Write) {
	r.sequence(&w)
	r.d.root.Send(r.d.writerFor(string(r.id)), &persist{Write: w, ReplyTo: r.self, Run: r.self})
}
