package run

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/exclusion"
	"dialler/engine/journal"
	"dialler/engine/tally"
	"dialler/engine/window"
)

// Config is what the process sets for all its runs.
type Config struct {
	Tick      time.Duration // between two of the periodic checks
	Reconcile time.Duration // between two comparisons with the open attempts of the database
	SendBy    time.Duration // how long after its intent an INVITE may still leave
	LookAhead int           // due contacts that are held in memory
	OptOut    byte          // the key that suppresses the number of somebody who hears the information message, 0: none
	Shared    bool          // other nodes use the same bots
}

// State is a campaign's run. It is used by one actor and is not safe for concurrent
// use. Everything in it is data: what it was and the inputs since then give what it
// is.
type State struct {
	ID     engine.CampaignID
	Config Config

	// Loading.
	Life         int64 // of this state, in time order
	Ready        bool
	Absent       error               // why this node cannot act for the campaign; nil: it does not exist
	Stash        []Deferred          // what came before the run was ready
	ReportsDue   map[string]struct{} // contacts' actors that have not reported yet
	EarlyReports map[string]struct{} // those that reported before all were known
	RosterKnown  bool
	Loading      bool

	M     campaign.Machine
	Tally *tally.Tally
	Bot   engine.Bot
	rules *call.Rules // follow from M and Bot

	// Contacts.
	Queue    Queue
	Lines    map[engine.ContactID]*Line
	ByNumber map[engine.PhoneNumber]*Line
	// Loads are the commands that wait for a contact's row.
	Loads            map[engine.ContactID][]any
	Reading          bool // due contacts are being read
	ReadAgain        bool
	ReadStale        bool // what is being read predates a change of all contacts
	LiveWhileReading map[engine.ContactID]struct{}
	Reads            map[Read]struct{}         // under way
	LastRead         Read                      // the newest that began
	StoppedSince     map[engine.ContactID]Read // who came to rest during one of them, with the newest that had begun by then
	NextDue          *time.Time                // when due contacts are read again
	Expected         *time.Time                // the earliest due time that became known while they were being read
	OpenRows         int                       // contacts of the run that are not final, as last read

	// Pace.
	Round       *Round
	Rounds      int
	HandOver    bool      // it was asked for, and waits until all is answered
	HandOvers   int       // how often it was
	LeavesUntil time.Time // another node is to act for the campaign: nothing new is dialled
	Triggers    []*PendingTrigger
	// TriggersOf are the numbers whose trigger is under way, from the look-up until
	// the contact lives or is stored: another of the number waits.
	TriggersOf map[engine.PhoneNumber]struct{}
	// LookUpNext is how many triggers still look their number up first, because a
	// recent one matched an existing contact.
	LookUpNext int
	LookUps    int              // triggers that are being looked up
	Newer      []NewerExclusion // that came meanwhile
	SeatState
	Pace  Pace
	Rates Rates
	Windows

	// Requests under way.
	Tickets     int64
	Pending     map[int64]Continuation
	BulkOwed    campaign.Effect // reset, restore or removal of the contacts, while it is not done
	OwedAt      time.Time       // when it was decided
	Preparing   bool            // that is under way
	PreparedFor []engine.Request
	AwaitsRest  bool          // it begins once no contact's actor lives
	HeldBack    []HeldCommand // for contacts that are being changed as a whole
	Sweep       *Sweep
	Ops         map[int]*ExcludeOp
	Lifts       map[int]*LiftOp
	OpSeq       int
	Excluded    exclusion.Book
	Readmission Readmission

	// Additions, and the switch of an import, which none of them may meet.
	Activation *Activation
	Parked     []Parked
	Adding     int // lists of contacts being added
	Additions  int // counts the switches: triggers are older or newer than one
	// Fresh are contacts that triggers made and that are not stored, with Additions.
	Fresh   map[engine.PhoneNumber]int
	Erasing map[engine.PhoneNumber]time.Time // persons who are being erased, until when at most

	Ticking       bool
	Timers        map[Timer]int64    // of those alone of their name, the epoch that counts
	Later         map[int64]Deferred // what was put off, by the epoch of its timer
	Epochs        int64
	Clocks        window.Reading // at the last tick
	LastOverdue   time.Time
	LastReconcile time.Time
	Orphans       []attempt.Attempt                          // open in the database, of whom nobody has reported yet
	Recovering    bool                                       // the contacts of lost attempts are being loaded
	Unwanted      map[engine.PhoneNumber]journal.Suppression // of the numbers that those call

	Seed  [32]byte
	Draws uint64 // identifiers given

	now  time.Time
	boot engine.BootTime
	proc Process
	out  []Effect
}

// Deferred is an event that waits, with who asked for it.
type Deferred struct {
	Event any
	From  engine.Request
}

// New gives the run of a campaign that is not loaded yet.
func New(id engine.CampaignID, cfg Config) *State {
	return &State{ID: id, Config: cfg, Queue: NewQueue(), Lines: map[engine.ContactID]*Line{}, ByNumber: map[engine.PhoneNumber]*Line{},
		Loads: map[engine.ContactID][]any{}, LiveWhileReading: map[engine.ContactID]struct{}{}, Reads: map[Read]struct{}{},
		StoppedSince: map[engine.ContactID]Read{}, TriggersOf: map[engine.PhoneNumber]struct{}{}, Pending: map[int64]Continuation{},
		Ops: map[int]*ExcludeOp{}, Lifts: map[int]*LiftOp{}, EarlyReports: map[string]struct{}{}, Fresh: map[engine.PhoneNumber]int{},
		Erasing: map[engine.PhoneNumber]time.Time{}, Timers: map[Timer]int64{}, Later: map[int64]Deferred{}}
}

// Apply takes one input and appends what is to be done, in this order. An error is a
// fault of the caller: an event that no run knows.
func (s *State) Apply(in Input, dst []Effect) ([]Effect, error) {
	s.now, s.boot, s.proc, s.out = in.Now, in.Boot, in.Process, dst
	err := s.receive(in.Event, in.From)
	out := s.out
	s.proc, s.out = nil, nil
	return out, err
}

func (s *State) emit(e Effect) { s.out = append(s.out, e) }

func (s *State) reply(to engine.Request, value any, err error) {
	if to != "" {
		s.emit(Reply{to, value, err})
	}
}

// stashCap is how many commands may wait until the run is loaded.
const stashCap = 1000

// ErrOverloaded refuses a command because too many wait.
var ErrOverloaded = engine.Unavailable("overloaded",
	"the dialler has as many requests under way as it can serve; nothing was done, send more slowly and try again", time.Second)

func (s *State) receive(event any, from engine.Request) error {
	switch e := event.(type) {
	case *TimerFired:
		held, ok := s.fired(e)
		if !ok {
			return nil // it was stopped, or set anew
		}
		return s.receive(held.Event, held.From)
	case *Started:
		s.started(e)
		return nil
	case *Durable:
		if c, ok := s.Pending[e.Ticket]; ok {
			delete(s.Pending, e.Ticket)
			s.follow(c, nil)
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
		s.ReportsDue, s.EarlyReports, s.RosterKnown = nil, nil, true
		s.settle()
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
		if e.n == s.HandOvers {
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

// Events that the run gives itself, after a time.
type (
	tick          struct{}
	woken         struct{}
	roundLate     struct{ n int }
	loadAgain     struct{}
	rosterLate    struct{}
	answersDue    struct{ n int } // of the hand-over that was asked for then
	restLate      struct{}
	activationDue struct{ id engine.ImportID }
	parkedLate    struct{}
	findAgain     struct{ op int }
	readmitLater  struct{ list []campaign.NewContact }
	suppressAgain struct {
		numbers []engine.PhoneNumber
		after   engine.ContactID
	}
	readBulkAgain struct{ seq int64 }
	prepareAgain  struct{ effect campaign.Effect }
)

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
	case *ContactRead:
		s.contactRead(e)
	case *DueRead:
		s.dueRead(e)
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
		s.findSuppressed(e.numbers, e.after)
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
		if s.known(from) {
			s.reply(from, s.detail(), nil)
		}
	case *AddRows:
		s.addRows(e, from)
	case *ExcludedRead:
		s.excludedRead(e)
	case *readmitLater:
		s.Readmission.Running = max(s.Readmission.Running, 1) // an earlier life may have begun it
		s.lookUpExcluded(e.list)
	case *RowsAdded:
		s.rowsAdded(e)
	case *MayImport, *BeginActivation, *activationDue, *ActivationGoesOn, *CloseGate, *ActivationEnded, *call.Stored, *parkedLate:
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
		s.findContacts(e.op)
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
	case *BulkRead:
		s.bulkRead(e)
	case *readBulkAgain:
		s.emit(ReadBulk{e.seq, s.M.C.Epoch})
	case *restLate:
		s.nowAtRest()
	case *prepareAgain:
		s.prepare(e.effect)
	case *Prepared:
		s.prepared(e)
	case *BotsChanged:
		s.botsChanged(e)
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

// --- time and chance -----------------------------------------------------------

// later gives the run an event once some time has passed.
func (s *State) later(after time.Duration, event any, from engine.Request) {
	s.arm(TimerAgain, after, Deferred{event, from})
}

// owe is later for what somebody waits for, or what nobody would do again: the next
// life of a run that crashes meanwhile is given it too.
func (s *State) owe(after time.Duration, event any, from engine.Request) {
	held := Deferred{event, from}
	s.Epochs++
	s.Later[s.Epochs] = held
	s.emit(Arm{Timer: TimerAgain, Epoch: s.Epochs, After: max(after, 0), Owed: &held})
}

func (s *State) arm(t Timer, after time.Duration, held Deferred) {
	s.Epochs++
	if t.Single() {
		delete(s.Later, s.Timers[t])
		s.Timers[t] = s.Epochs
	}
	s.Later[s.Epochs] = held
	s.emit(Arm{Timer: t, Epoch: s.Epochs, After: max(after, 0)})
}

func (s *State) disarm(t Timer) {
	if e, ok := s.Timers[t]; ok {
		delete(s.Timers, t)
		delete(s.Later, e)
		s.emit(Disarm{t})
	}
}

// fired gives what a timer was for; ok is false when it was stopped.
func (s *State) fired(e *TimerFired) (Deferred, bool) {
	held, ok := s.Later[e.Epoch]
	delete(s.Later, e.Epoch)
	if !ok && e.Owed != nil && e.Epoch < s.Life { // armed by an earlier life
		return *e.Owed, true
	}
	if s.Timers[e.Timer] == e.Epoch {
		delete(s.Timers, e.Timer)
	}
	return held, ok
}

// newID is 32 hex digits: 48 bits of Unix milliseconds, so that identifiers sort by
// creation and index pages stay hot, and 80 bits that follow from the seed.
func (s *State) newID() string {
	var of [40]byte
	copy(of[:], s.Seed[:])
	s.Draws++
	binary.BigEndian.PutUint64(of[32:], s.Draws)
	drawn := sha256.Sum256(of[:])
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(s.now.UnixMilli())<<16) //nolint:gosec // after 1970
	copy(b[6:], drawn[:])
	return hex.EncodeToString(b[:])
}

func (s *State) newAttemptID() engine.AttemptID { return engine.AttemptID(s.newID()) }
func (s *State) newContactID() engine.ContactID { return engine.ContactID(s.newID()) }

func (s *State) needsSeat(n engine.PhoneNumber) bool { return s.proc.NeedsSeat(n, s.now) }

// --- writes --------------------------------------------------------------------

// persist gives a contact's events their places in the campaign's sequence, folds
// them, and passes the write on.
func (s *State) persist(m *call.Persist) {
	if l := s.Lines[m.Contact]; l != nil && !l.Accepted.Add(m.Step) {
		return // repeated after a crash of this run; the first is on its way
	}
	s.sequence(m.Write)
	s.emit(PassOn{m})
}

// sequence numbers and folds a write's events and stamps the owner's epoch.
func (s *State) sequence(w *journal.Write) {
	w.Campaign, w.Epoch = s.ID, s.M.C.Epoch
	// Their events are counted once the store has made them.
	if w.Bulk != nil {
		w.Bulk.Event = s.bulkEvent(journal.ContactsClosed, w.Bulk.At)
	}
	if w.Retune != nil {
		w.Retune.Event = s.bulkEvent(journal.ContactsRetuned, w.Retune.At)
	}
	for i := range w.Events {
		e := &w.Events[i]
		s.M.C.Seq++
		e.Campaign, e.Seq = s.ID, s.M.C.Seq
		if e.Run == 0 {
			e.Run = s.M.C.Run
		}
		if e.Run == s.M.C.Run {
			s.Tally.Apply(e)
		}
		s.Rates.Note(e)
	}
}

// refused takes back what was folded of a write that the database did not take. A
// write of an earlier life was never folded into this one.
func (s *State) refused(m *WriteRefused) {
	if m.Write.Epoch != s.M.C.Epoch || s.Tally == nil {
		return
	}
	for i := range m.Write.Events {
		if e := &m.Write.Events[i]; e.Run == s.M.C.Run {
			s.Tally.Revoke(e)
		}
	}
}

// write persists something of the run's own.
func (s *State) write(w journal.Write) {
	s.sequence(&w)
	s.emit(Write{Write: &w, Revoke: true})
}

// Continuation is what follows a write, or everything written before.
type Continuation struct {
	Do      Then
	Request engine.Request
	Value   any
	Op      int   // of an exclusion or lift
	Seq     int64 // of a write to all contacts
	Number  engine.PhoneNumber
	// Contacts were put off.
	Contacts []engine.ContactID
	Import   engine.ImportID
	Trigger  *call.Trigger
	Effect   campaign.Effect
}

// Then names a Continuation.
type Then string

// What follows once everything before is durable.
const (
	thenLoad          Then = "load"
	thenReply         Then = "reply"
	thenReplyDetail   Then = "reply_detail"
	thenPutOff        Then = "put_off"
	thenTriggerStored Then = "trigger_stored"
	thenFindExcluded  Then = "find_excluded"
	thenFindLifted    Then = "find_lifted"
	thenBegin         Then = "begin_activation"
	thenPassGate      Then = "pass_gate"
	thenReadBulk      Then = "read_bulk"
	thenPrepare       Then = "prepare"
	// What follows one write: the queued trigger's answer.
	thenAnswerTrigger Then = "answer_trigger"
)

func (s *State) ticket(c Continuation) int64 {
	s.Tickets++
	s.Pending[s.Tickets] = c
	return s.Tickets
}

// afterWrites has the run go on once everything written so far is durable.
func (s *State) afterWrites(c Continuation) { s.emit(Fence{s.ticket(c)}) }

// follow goes on. err is that of the write, if it was one that the continuation
// waited for.
func (s *State) follow(c Continuation, err error) {
	switch c.Do {
	case thenLoad:
		s.load()
	case thenReply:
		s.reply(c.Request, c.Value, nil)
	case thenReplyDetail:
		s.reply(c.Request, s.detail(), nil)
	case thenPutOff:
		s.putOff(c.Contacts)
	case thenTriggerStored:
		delete(s.TriggersOf, c.Number)
		s.settled(c.Number)
	case thenAnswerTrigger:
		if errors.Is(err, journal.ErrContactExists) {
			s.owe(0, &Trigger{Command: c.Trigger.Command, LookUp: true}, c.Request)
			return
		}
		s.reply(c.Request, c.Value, err)
	case thenFindExcluded:
		if op := s.Ops[c.Op]; op != nil {
			op.Persisted = true
			s.finishExclude(c.Op)
		}
		s.findContacts(c.Op)
	case thenFindLifted:
		s.findContacts(c.Op)
	case thenBegin:
		s.reply(c.Request, ActivationStart{Run: s.M.C.Run, Max: s.M.C.Settings.MaxAttempts, Sticky: s.M.C.Settings.StickyExclusion, At: s.now}, nil)
	case thenPassGate:
		s.M.C.Seq++
		s.reply(c.Request, GatePass{Epoch: s.M.C.Epoch, Seq: s.M.C.Seq, At: s.now}, nil)
	case thenReadBulk:
		s.emit(ReadBulk{c.Seq, s.M.C.Epoch})
	case thenPrepare:
		s.prepareNow(c.Effect)
	}
}

// --- questions to the tables ---------------------------------------------------

func (s *State) beginRead() Read {
	s.LastRead++
	s.Reads[s.LastRead] = struct{}{}
	return s.LastRead
}

func (s *State) endRead(r Read) {
	delete(s.Reads, r)
	if len(s.Reads) == 0 {
		clear(s.StoppedSince)
	}
}

// --- errors --------------------------------------------------------------------

// Errors of commands.
var (
	ErrCampaignNotFound = engine.NotFound("campaign_not_found", "no campaign has this identifier")
	errContactGone      = engine.NotFound("contact_not_found", "the contact does not exist any more")
	errPreparing        = engine.TemporaryConflict("contacts_being_prepared", "the contacts are being prepared for the run; try again in a moment", time.Second)
	errBeingErased      = engine.Conflict("person_being_erased", "the person is being erased; trigger again in a minute, if it is to be called at all")
	errDeadlinePassed   = engine.Unavailable("deadline_passed", "the command waited too long and was not executed; try again", time.Second)
)

// known refuses a request when the run has no campaign to act for.
func (s *State) known(from engine.Request) bool {
	err := s.missing()
	if err != nil {
		s.reply(from, nil, err)
	}
	return err == nil
}

// missing says why the run has no campaign to act for, nil when it has one.
func (s *State) missing() error {
	if s.M.C.ID != "" {
		return nil
	}
	return cmp.Or(s.Absent, error(ErrCampaignNotFound))
}

// past refuses a command whose deadline has passed.
func (s *State) past(deadline time.Time, from engine.Request) bool {
	if deadline.IsZero() || s.now.Before(deadline) {
		return false
	}
	s.reply(from, nil, errDeadlinePassed)
	return true
}

// linesInOrder lists the lines, always in the same order.
func (s *State) linesInOrder() []*Line {
	list := make([]*Line, 0, len(s.Lines))
	for _, l := range s.Lines {
		list = append(list, l)
	}
	slices.SortFunc(list, func(a, b *Line) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// awaitedContacts lists the contacts whose rows are being read, always in the same
// order.
func (s *State) awaitedContacts() []engine.ContactID {
	list := make([]engine.ContactID, 0, len(s.Loads))
	for id := range s.Loads {
		list = append(list, id)
	}
	slices.Sort(list)
	return list
}
