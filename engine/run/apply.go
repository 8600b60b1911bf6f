package run

import (
	"errors"
	"fmt"
	"time"

	"dialler/engine"
	"dialler/engine/calendar"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/journal"
)

// Apply takes one input and appends the effects to dst in the order in which they must be carried
// out. An error is a fault of the caller: an event that no run knows.
func (s *State) Apply(in Input, dst []Effect) ([]Effect, error) {
	s.now, s.boot, s.proc, s.out = in.Now, in.Boot, in.Process, dst
	err := s.receive(in.Event, in.From)
	out := s.out
	s.proc, s.out = nil, nil
	return out, err
}

// stashCap is how many commands may wait for the run to load.
const stashCap = 1000

// ErrOverloaded refuses a command because too many are waiting.
var ErrOverloaded = engine.Unavailable("overloaded",
	"",
	time.Second)

func (s *State) receive(event any, from engine.Request) error {
	switch e := event.(type) {
	case *TimerFired:
		held, ok := s.fired(e)
		if !ok {
			return nil // it was stopped or rearmed
		}
		return s.receive(held.Event, held.From)
	case *Started:
		s.started(e)
		return nil
	case *Durable:
		if c, ok := s.Pending[e.Ticket]; ok {
			delete(s.Pending, e.Ticket)
			s.follow(c, s.durable())
			s.pump()
			s.sayLastWord(false)
		}
		return nil
	case *Written:
		s.follow(*e.Then, e.Err)
		return nil
	case *loadAgain:
		s.load()
		return nil
	case *Loaded:
		if e.Life == s.Life {
			s.Loading = false
			s.loaded(e)
		}
		return nil
	case *RosterCalled:
		if e.Life == s.Life {
			s.rosterKnown(e)
		}
		return nil
	case *rosterLate:
		s.reportsLate()
		return nil
	case *Recovered:
		if e.Life != s.Life {
			return nil
		}
		s.recovered(e)
	case *OpenListed:
		if e.Life == s.Life {
			s.reconcile(e)
		}
		return nil
	case *Reported:
		s.reported(e)
		return nil
	case *LastWord:
		if s.Ready || e.HandOver {
			s.lastWord(e)
			return nil
		}
	case *answersDue:
		if e.N == s.HandOvers {
			s.sayLastWord(true)
		}
		return nil
	}
	if !s.Ready {
		if from != "" && len(s.Stash) >= stashCap {
			s.emit(Overloaded{})
			s.reply(from, nil, ErrOverloaded)
			return nil
		}
		s.Stash = append(s.Stash, Deferred{event, from})
		return nil
	}
	err := s.handle(event, from)
	s.pump()
	s.sayLastWord(false)
	return err
}

func (s *State) handle(event any, from engine.Request) error {
	if s.park(event, from) {
		return nil
	}
	switch e := event.(type) {
	case *call.Persist:
		s.persist(e)
	case *FenceFor:
		s.emit(PassFence{from})
	case *WriteRefused:
		s.refused(e)
	case *call.LineMoved:
		s.lineMoved(e)
	case *call.AnswerStands:
		s.answerStands(e)
	case *call.InviteLeft:
		s.Rates.Dialled(e.At)
	case *call.Up:
		s.contactUp(e)
	case *call.Idle:
		s.contactIdle(e)
	case *call.Stopped:
		s.contactStopped(e)
	case *call.NotIdle:
		s.contactNotIdle(e)
	case *call.Watches:
		s.contactWatches(e)
	case *ContactRead:
		s.contactRead(e)
	case *DueRead:
		if s.dueRead(e) {
			s.maybeExhausted(e.Exhausted)
		}
	case *TrunksReserved:
		s.trunksReserved(e)
	case *NumbersReserved:
		s.numbersReserved(e)
	case *roundLate:
		s.roundLate(e)
	case *call.MayDial:
		s.mayDial(e)
	case *SeatsAllotted:
		s.seatsAllotted(e)
	case *engine.SocketEvent:
		s.socketEvent(e)
	case *Pulse:
		s.felt(e)
	case *DatabaseChanged, *woken:
	case *NotSaved:
		s.emit(Failed{"what pacing has learnt was not stored; it is tried again", e.Err})
	case *Act:
		s.act(e, from)
	case *Suppressed:
		s.suppressed(e, from)
	case *NumberChanged:
		s.emit(PoolChanged{e.Number})
		s.Pace.poolChanged()
	case *SuppressedRead:
		s.suppressedRead(e)
	case *suppressAgain:
		s.findSuppressed(e.Numbers, e.After)
	case *BeginErasure:
		s.beginErasure(e, from)
	case *EndErasure:
		s.endErasure(e, from)
	case *Preflight:
		s.preflight(from)
	case *PreflightReady:
		s.preflightReady(e)
	case *ActReady:
		s.actReady(e)
	case *Detail:
		s.supplies = e.Supplies
		if s.known(from) {
			s.reply(from, s.detail(), nil)
		}
	case *AddRows:
		s.addRows(e, from)
	case *ExcludedRead:
		s.excludedRead(e)
	case *readmitLater:
		s.Readmission.Running = max(s.Readmission.Running, 1) // an earlier instance of the run may have begun it
		s.lookUpExcluded(e.List)
	case *RowsAdded:
		s.rowsAdded(e)
	case *MayImport, *BeginActivation, *activationDue, *ActivationGoesOn, *CloseGate, *ActivationEnded, *call.Stored,
		*parkedLate:
		return s.importing(event, from)
	case *Trigger:
		s.trigger(e, from)
	case *TriggerFound:
		s.triggerFound(e)
	case *Exclude:
		s.exclude(e, from)
	case *Operate:
		s.operate(e, from)
	case *OperateFound:
		return s.operateFound(e)
	case *ContactsFound:
		s.contactsFound(e)
	case *findAgain:
		s.findContacts(e.Op)
	case *call.Excluded:
		s.excludeDone(e)
	case *ExclusionsImported:
		s.exclusionsImported(&e.Command, from)
	case *Lift:
		s.lift(e, from)
	case *call.Lifted:
		s.liftDone(e)
	case *SubmitResult:
		r := e.Result
		r.Request = from
		s.touch(e.Contact, &r)
	case *call.Show:
		if l := s.Lines[e.Contact]; l != nil {
			e.Request = from
			s.send(l, e)
			return nil
		}
		s.reply(from, nil, call.ErrCallNotFound)
	case *call.LegsGone:
		if l := s.Lines[e.Contact]; l != nil {
			s.send(l, e)
		}
	case *DialNoMore:
		s.dialNoMore(from)
	case *Keys:
		k := e.Keys
		k.Request = from
		s.touch(e.Contact, &k)
	case *Transfer:
		t := e.Transfer
		t.Request = from
		s.touch(e.Contact, &t)
	case *OverdueRead:
		s.overdueRead(e)
	case *ExpiredRead:
		s.expiredRead(e)
	case *BulkRead:
		s.bulkRead(e)
	case *UndoImport:
		s.takeBack(e, from)
	case *takeBackAgain:
		s.nextPage()
	case *TookBack:
		return s.tookBack(e)
	case *readBulkAgain:
		s.emit(ReadBulk{e.Seq, s.M.C.Epoch})
	case *restLate:
		s.restLate()
	case *prepareAgain:
		s.prepare(e.Effect)
	case *Prepared:
		s.prepared(e)
	case *BotsChanged:
		s.botsChanged(e)
	case *CadencesChanged:
		s.Cadences = e.Cadences
		s.makeRules()
		s.broadcast(s.rules)
	case *CalendarsChanged:
		if calendar.Same(s.M.Calendars, e.Calendars) {
			break
		}
		s.M.Calendars = e.Calendars
		s.makeRules()
		s.broadcast(s.rules)
		s.WindowUntil = time.Time{} // the window may have changed
		s.lookAgain()
	case *HoursLearned:
		s.Hours = e.Hours
	case *LastWord:
		s.lastWord(e)
	case *Recovered: // carried out already
	case *tick:
		s.tick()
	default:
		return fmt.Errorf("run: no run knows a %T", event)
	}
	return nil
}

// pump is called after every message: it dials what the pace allows.
func (s *State) pump() {
	if !s.Ready || s.Tally == nil {
		return
	}
	s.lowerCap()
	s.grantSeats()
	s.giveSeatsBack()
	if s.M.C.State == campaign.Running {
		s.askSeats()
		s.beat()
		s.dialNext()
	} else {
		s.settleTriggers(string(engine.ConstraintPaused))
		if s.hasSockets() && (s.engagedLines() > 0 || len(s.Sockets) > 0) {
			s.tendSockets(s.decide().Sockets)
		}
		switch {
		case s.M.C.State == campaign.Paused:
			s.askSeats()
		case s.Asked > 0 && s.engagedLines() == 0:
			s.wantSeats(0)
		}
	}
}

// follow carries out a continuation. err says that what it waited for is not stored.
func (s *State) follow(c Continuation, err error) {
	switch c.Do {
	case thenLoad:
		s.load()
	case thenReply:
		s.reply(c.Request, c.Value, err)
	case thenReplyDetail:
		s.reply(c.Request, s.detail(), err)
	case thenPutOff:
		s.putOff(c.Contacts)
	case thenTriggerStored:
		delete(s.TriggersOf, c.Number)
		s.settled(c.Number)
	case thenAnswerTrigger:
		newer, cmd := s.newerThan(c.Read), &c.Trigger.Command
		s.endRead(c.Read)
		switch {
		case !errors.Is(err, journal.ErrContactExists) && !errors.Is(err, journal.ErrSuppressed):
			s.reply(c.Request, c.Value, err)
		case concern(newer, cmd.Number, cmd.Alternates, cmd.Variables):
			s.reply(c.Request, nil, call.ErrContactExcluded)
		default:
			s.owe(0, &Trigger{Command: *cmd, LookUp: true, Newer: newer}, c.Request)
		}
	case thenFindExcluded:
		if op := s.Ops[c.Op]; op != nil {
			op.Persisted = true
			s.finishExclude(c.Op)
		}
		s.findContacts(c.Op)
	case thenFindLifted:
		s.findContacts(c.Op)
	case thenBegin:
		s.reply(c.Request, ActivationStart{Run: s.M.C.Run, Max: s.M.C.Settings.MaxAttempts,
			Sticky: s.M.C.Settings.StickyExclusion, At: s.now}, nil)
	case thenPassGate:
		s.M.C.Seq++
		s.reply(c.Request, GatePass{Epoch: s.M.C.Epoch, Seq: s.M.C.Seq, At: s.now}, nil)
	case thenReadBulk:
		s.emit(ReadBulk{c.Seq, s.M.C.Epoch})
	case thenPrepare:
		s.prepareNow(c.Effect)
	case thenTakeBack:
		if s.takingPage() {
			s.emit(TakeBack{*s.TakingBack.Page})
		}
	}
}
