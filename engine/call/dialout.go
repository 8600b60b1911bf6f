package call

import (
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/numberpool"
)

// dialoutLimit bounds the conversation of a call outside campaigns.
const dialoutLimit = 15 * time.Minute

// Dialout is one call outside campaigns.
type Dialout struct {
	Of   engine.AttemptID
	Call Call

	Came   *TakeCall     // of a call that came in, until its process ends
	Placed *PlaceDialout // nil means that it was placed by an earlier process, or is over
	// Awaiting says that the dialout has ended before, and that its only event is a result on its
	// way.
	Awaiting bool
	Taken    int // results that were passed on to it
	// Unplaced says that it was scheduled, and that its intent is not known to be stored.
	Unplaced bool
}

// NewDialout returns a call that is about to be placed (PlaceDialout follows) or whose legs remain
// from an earlier process (Started follows). With ended it is over, and StoreResult follows.
func NewDialout(id engine.AttemptID, bot engine.Bot, limits Limits, ended bool) *Dialout {
	return &Dialout{Of: id, Call: Call{Bot: bot, Limits: limits}, Awaiting: ended}
}

// Apply takes one event and appends the effects to dst.
func (d *Dialout) Apply(in Input, dst []Effect) []Effect {
	d.Call.enter(in, dst, d)
	d.handle(in.Event)
	if !d.Awaiting && !d.Call.waits() {
		d.emit(&DialoutOver{Attempt: d.Of, Results: d.Taken})
	}
	return d.Call.leave()
}

func (d *Dialout) handle(event any) {
	switch e := event.(type) {
	case *PlaceDialout:
		d.place(e)
	case *TakeCall:
		d.take(e)
	case *Started:
		if e.Lost != nil {
			d.recover(e.Lost)
		}
	case *Restarted:
		d.restart()
	case *Durable:
		if !d.returned(e) {
			d.Call.durable(e)
		}
	case *engine.LegEvent:
		if e.NotSent == engine.NotSentExpired && d.expired() {
			outdated := *e
			outdated.NotSent = engine.NotSentOutdated
			e = &outdated
		}
		d.Call.receive(e)
	case *StoreResult:
		if !e.Fetched {
			d.Taken++
		}
		d.Call.result(e)
		if e.Fetched {
			d.Awaiting = false
		}
	case *LegsGone:
		d.Call.legsGone(e.Attempt)
	case *Taken:
		d.Call.Taken = d.Call.is(e.Attempt)
	case *Show:
		if d.Call.Has() {
			d.Call.show(e.Request)
		} else {
			d.Call.answer(e.Request, nil, ErrCallNotFound)
		}
	case *Keys:
		d.Call.keys(e)
	case *Transfer:
		d.Call.transfer(e)
	case *NumbersSuppressed:
		d.suppressed(e)
	case *Erased:
		if d.number() == e.Number && d.Call.Has() && !d.Call.Live() {
			scrub(&d.Call.Machine.A, e.Tombstone)
		}
	case *SayAgain:
		d.Taken = e.Results
	case *SeatGranted:
		d.Call.receive(e)
		d.follow()
	default:
		d.Call.receive(e)
	}
}

func (d *Dialout) emit(e Effect) { d.Call.emit(e) }

func (d *Dialout) place(p *PlaceDialout) {
	d.Placed, d.Unplaced = p, p.Scheduled
	cmd, process := &p.Command, d.Call.in.Process
	d.adopt(attempt.Attempt{ID: p.Attempt, Run: 0, Pass: 1, Number: 1, Bot: d.Call.Bot.ID, To: cmd.To, From: p.From,
		Trunk: p.Trunk, Node: process.Here(), Variables: cmd.Variables, Key: cmd.Who.Key, State: attempt.Reserved,
		ResultToken: tokenHash(process.ResultToken(p.Attempt.Call()))})
	d.Call.Only = cmd.Trunk
	d.Call.begin(cmd.Times.Within(d.Call.in.Now, d.Call.Limits.SendByTimeout), p.Validity, p.Media)
}

// takeWithin is how soon after its intent a call that came in is answered, or not at all.
const takeWithin = 10 * time.Second

// take begins a call that came in.
func (d *Dialout) take(e *TakeCall) {
	d.Came = e
	process, id := d.Call.in.Process, e.Call.Attempt
	d.adopt(attempt.Attempt{ID: id, Inbound: true, Returns: e.Returns, Pass: 1, Bot: e.Bot, To: e.Caller, From: e.To,
		Trunk: e.Call.Trunk, Node: process.Here(), Variables: e.Variables, State: attempt.Reserved,
		ResultToken: tokenHash(process.ResultToken(id.Call()))})
	d.Call.take(e, takeWithin)
}

// returned gives a scheduled dialout back whose intent was refused: it waits on, or another node has it.
// What forbids the call for good ends it, as any other dialout.
func (d *Dialout) returned(e *Durable) bool {
	c := &d.Call
	if !d.Unplaced || len(c.Pending) == 0 || c.Pending[0].Step != e.Step || c.Pending[0].Write.Intent == nil {
		return false
	}
	code := engine.ErrorCode(e.Err)
	switch a := &c.Machine.A; {
	case e.Err == nil:
		d.Unplaced = false
		return false
	case code == engine.CodeSuppressed, code == engine.CodeDestination:
		return false
	case a.State != attempt.Reserved: // it was given up meanwhile
		if code == engine.CodeDialoutPlaced {
			c.Pending[0].Write.Events = nil // whoever placed it has told them
		}
		return false
	default:
		d.emit(&TrunkEvent{Trunk: a.Trunk, Leg: a.ID.Leg(1), Over: true, At: c.in.Now})
		d.emit(&ReleaseNumber{Attempt: a.ID, Number: a.From, End: numberpool.End{NotDialled: true}})
		d.emit(&DialoutReturned{Attempt: a.ID, Times: d.Placed.Command.Times, Err: e.Err})
		c.Pending, c.Gated, c.Taken = nil, nil, true
		return true
	}
}

// expired says that it must not be dialled any more.
func (d *Dialout) expired() bool {
	return d.Placed != nil && d.Placed.Command.Times.Within(d.Call.in.Now, 1) <= 0
}

// recover ends what an earlier process left of the call.
func (d *Dialout) recover(at *attempt.Attempt) {
	d.adopt(*at)
	if !at.Live() {
		d.Call.recoverLegs()
		return
	}
	d.emit(CountRecovered)
	d.Call.reattach("")
}

// restart handles a crash of the shell, which loses the message that caused it.
func (d *Dialout) restart() {
	// What any of these waits for may be the message that was lost.
	d.Awaiting, d.Call.Fetching = false, 0
	d.Call.persistAgain()
	switch {
	case d.Call.Closed: // it never received the audio statistics
		d.Call.goOn()
	case d.Call.Live():
		d.Call.reattach("gone")
	case d.Call.Has():
		d.emit(&AttachMedia{d.Call.Machine.A.ID})
	}
}

// suppressed cancels a dial that waits or rings, and leaves a conversation alone.
func (d *Dialout) suppressed(m *NumbersSuppressed) {
	done := &DialoutSuppressed{Attempt: d.Of, Op: m.Op}
	if _, ok := m.Numbers[d.number()]; ok && d.Call.Live() {
		d.Call.apply(attempt.Event{Kind: attempt.CancelRequested, At: d.Call.in.Now, By: engine.PartySystem})
		if id := d.Call.elsewhere(); id != "" {
			d.Call.say(&WhenSettled{Attempt: id, Message: done})
			return
		}
	}
	d.Call.say(done)
}

// --- what contact and dialout decide each for themselves ---------------------------

func (d *Dialout) number() engine.PhoneNumber   { return d.Call.Machine.A.To } // "" before it is known
func (d *Dialout) contact() engine.ContactID    { return "" }
func (d *Dialout) stamp(*journal.Write)         {}
func (d *Dialout) rest()                        {}
func (d *Dialout) triggerRefused(*Trigger)      {}
func (d *Dialout) identify(map[string]string)   {}
func (d *Dialout) variables() map[string]string { return d.Call.Machine.A.Variables }

// awaitsResult is false: nothing waits for the result of a dialout.
func (d *Dialout) awaitsResult(engine.AttemptID) bool { return false }

func (d *Dialout) config() attempt.Config {
	cfg := attempt.Config{RingTimeout: d.Call.Limits.DialoutRing, CallLimit: dialoutLimit, AMD: engine.AMDOff,
		OptOut: d.Call.Limits.OptOutDigit}
	switch {
	case d.Placed != nil:
		cfg.Transfers = d.Placed.Command.Transfers
	case d.Came != nil && d.Came.Bot == "":
		cfg.Plays, cfg.Message = true, d.Came.Message
	}
	return cfg
}

func (d *Dialout) adopt(at attempt.Attempt) { d.Call.own(at, d.config(), d.Call.Bot) }

// adopted takes the media path over too. What the bot did under the earlier owner means nothing
// before the call has its seat (attempt's table), so that comes first.
func (d *Dialout) adopted() {
	m := &d.Call.Machine
	switch {
	case m.A.AnsweredAt == nil && m.A.Ending == nil: // the seat comes with the answer
		return
	case !m.A.Seated && m.PhaseNow() == attempt.PhaseWaiting:
		d.Call.apply(attempt.Event{Kind: attempt.SeatGranted, At: d.Call.in.Now})
	}
	d.follow()
}

// follow has the events of a media path that is taken over replayed.
func (d *Dialout) follow() {
	if d.Call.Replays {
		d.Call.Replays = false
		d.emit(&AttachMedia{d.Call.Machine.A.ID})
	}
}

func (d *Dialout) event(t journal.Type) journal.Event {
	return journal.Event{At: d.Call.in.Now, Type: t, Version: 1, Attempt: d.Call.Machine.A.ID}
}

func (d *Dialout) recorded(what attempt.What, w *journal.Write) (then Then) {
	if what == attempt.WhatReserved && d.Came != nil {
		then.Returned = d.callsBack(&w.Attempts[0])
	}
	if what != attempt.WhatReserved || d.Came != nil {
		return then
	}
	at, cmd, now := &w.Attempts[0], &d.Placed.Command, d.Call.in.Now
	if cmd.DayCap > 0 {
		w.Intent.KeyCap = &journal.KeyCap{Key: cmd.Who.Key, Calls: cmd.DayCap, Now: now}
	}
	if w.Unschedule = d.Unplaced; w.Unschedule {
		w.Intent.NotAfter = at.SendBy
		return then
	}
	w.Status = journal.StatusOf(string(at.ID), cmd.Status, now)
	r := campaign.DialoutReply{Status: "ok", CallID: at.ID.Call(), AttemptID: at.ID, BotID: at.Bot,
		ToNumber: at.To.E164(), FromNumber: at.From.E164(), CreatedAt: now.UTC()}
	if cmd.Idempotency.Present() {
		w.Reply = journal.StoredReply(cmd.Idempotency, 201, r, now)
	}
	then.Answer = &Answer{Request: d.Placed.Request, Value: r}
	return then
}

func (d *Dialout) ended(w *journal.Write) Then {
	w.Unschedule = d.Unplaced
	if d.Call.RefusedEvents != nil { // nobody was told that it begins
		return Then{}
	}
	return Then{Returned: CalledBack(&w.Attempts[0])}
}

// callsBack tells the contact who calls back that the call begins; nil when nobody is known to.
func (d *Dialout) callsBack(at *attempt.Attempt) *Returned {
	if at.Returns == "" {
		return nil
	}
	talk := d.Call.Machine.Config.CallLimit
	if at.Bot == "" {
		talk = attempt.MessageLimit
	}
	return &Returned{campaign.SubmitResult{Call: at.Returns.Call(), CalledBack: &campaign.CalledBack{
		Attempt: at.ID, News: contact.BackBegins, AtMost: takeWithin + talk}}}
}

// CalledBack tells the contact who called back how that call ended; nil when nobody is known to. A conversation
// without a result so far may still get it.
func CalledBack(at *attempt.Attempt) *Returned {
	if at.Returns == "" {
		return nil
	}
	back := &campaign.CalledBack{Attempt: at.ID, From: at.To, Talk: at.Talk(),
		OptedOut: at.OptedOut()}
	r := &Returned{campaign.SubmitResult{Call: at.Returns.Call(), CalledBack: back}}
	switch {
	case at.Bot == "" || at.ServedAt == nil:
		back.News = contact.BackOver
	case at.Result == nil:
		back.News = contact.BackOwes
	default:
		r.Command.Result = *at.Result
	}
	return r
}

func (d *Dialout) refusedLate(*journal.Write) Then { return Then{} }

// line manages the seat, which was held before the call: it is granted when requested, and given
// back when the call no longer needs it.
func (d *Dialout) line(_ engine.AttemptID, l attempt.Line, _ time.Time) {
	switch l.Phase {
	case attempt.PhaseAbandoned:
		if d.Call.Machine.A.Inbound {
			return
		}
		d.emit(&Abandoned{d.Call.Machine.A.To})
	case attempt.PhaseWaiting:
		granted := &SeatGranted{Attempt: d.Call.Machine.A.ID}
		if d.Placed != nil {
			granted.Socket = d.Placed.Socket
		}
		d.emit(&ToSelf{granted})
	default:
	}
}
