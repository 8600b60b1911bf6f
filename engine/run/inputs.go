package run

import (
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/fleet"
	"dialler/engine/journal"
	"dialler/engine/numberpool"
	"dialler/engine/pacing"
	"dialler/engine/trunk"
)

// Input is one thing that happened, with all that the run may need to know of it.
type Input struct {
	Now     time.Time       // by the wall clock, with a monotonic reading where there is one
	Boot    engine.BootTime // by the boot-time clock
	From    engine.Request  // who waits for an answer, "" when nobody does
	Event   any             // a pointer to one of the types of this file, or to one of package call
	Process Process
}

// Process is what the run may ask the process that it lives in. Every answer belongs
// to the input: who keeps a run's inputs keeps these too.
type Process interface {
	Draining() bool     // it is being stopped and dials nobody
	DatabaseAway() bool // nothing can be made durable
	Fenced() bool       // its lease ran out: another node may act
	TrunksDown() bool   // no trunk is known to take calls: each is down
	// CommitLate and BotLate are how far behind the writer of the campaign and the
	// connects to its bot are.
	CommitLate() time.Duration
	BotLate(engine.BotID) time.Duration
	// Carrier is the node that is to carry a call over a trunk, 0 outside a cluster.
	Carrier(engine.TrunkID) engine.Incarnation
	// NeedsSeat says whether the number was abandoned in the last 72 hours, by
	// whatever campaign.
	NeedsSeat(engine.PhoneNumber, time.Time) bool
	// Owned says whether an actor of this process has the attempt.
	Owned(engine.AttemptID) bool
}

// Read numbers a question about contacts to the tables, within the process. When its
// answer comes a contact may have been called and be at rest again: then the row in
// the answer is outdated.
type Read uint64

// The life of a run.
type (
	// Started: the run has come up, for the first time or after a crash. Seed is
	// random; from it follow the identifiers that the run gives.
	Started struct{ Seed [32]byte }
	// Loaded brings what is durable of the campaign.
	Loaded struct {
		Life       int64 // of the Load that it answers
		Campaign   campaign.Campaign
		Counters   campaign.Counters
		Contacts   int // the run that the contacts are in
		Exclusions []journal.Exclusion
		Bots       []engine.Bot
		Open       []attempt.Attempt // that have not ended, or whose legs are watched
		Ledgers    Ledgers
		Learnt     *pacing.State
		Suppressed map[engine.PhoneNumber]journal.Suppression // of the numbers in Open
		Seats      int                                        // that the life before asked for
		Err        error
	}
	// RosterCalled names the contacts' actors; each of them reports.
	RosterCalled struct {
		Life   int64
		Actors []ContactActor
	}
	// ContactActor is the actor of a contact.
	ContactActor struct {
		Actor   string
		Contact engine.ContactID
		Number  engine.PhoneNumber
	}
	// Reported is a contact's word where it stands, by the name of its actor.
	Reported struct {
		Actor string
		call.Reported
	}
	// Recovered brings the contacts of attempts that nobody has.
	Recovered struct {
		Life int64
		Rows []RecoveredContact
	}
	RecoveredContact struct {
		Row     contact.Contact
		Attempt attempt.Attempt
	}
	// OpenListed brings the attempts that the database calls open.
	OpenListed struct {
		Life int64
		Open []attempt.Attempt
	}
	// LastWord asks whether the campaign's actors may stop.
	LastWord struct{ HandOver bool }
)

// What becomes of the run's own writes.
type (
	// Durable: everything written before the Fence is.
	Durable struct{ Ticket int64 }
	// Written says what became of a Write, of this life or of an earlier one: who
	// waits for it is answered in any case.
	Written struct {
		Then *Continuation
		Err  error
	}
	// WriteRefused brings a write back that the database did not take.
	WriteRefused struct{ Write *journal.Write }
	// FenceFor has whoever asks, a contact that was restarted, told once everything
	// written before is durable.
	FenceFor struct{}
	// NotSaved: what pacing has learnt was not stored; it is tried again in a while.
	NotSaved struct{ Err error }
	// BulkRead brings the event of a write to all contacts, as it was stored.
	BulkRead struct {
		Seq, Epoch int64
		Event      journal.Event
		Stored     bool
		Err        error
	}
	// Prepared: the contacts are prepared for a run, restored, or removed.
	Prepared struct {
		Of       campaign.Effect
		Counters campaign.Counters
		Ledgers  Ledgers // of the run that a cancelled restart shows again
		Err      error
	}
)

// Leases.
type (
	// TrunksReserved answers ReserveTrunks: a trunk for each leg, "" when refused.
	TrunksReserved struct {
		Round      int
		Legs       []engine.LegID
		Trunks     []engine.TrunkID
		Media      []*engine.MediaProfile
		Validity   []call.Validity
		Constraint engine.Constraint
		RetryAt    time.Time
	}
	// NumbersReserved answers ReserveNumbers.
	NumbersReserved struct {
		Round int
		Got   []NumberGrant
	}
	NumberGrant struct {
		Attempt    engine.AttemptID
		From       engine.PhoneNumber // "" when refused
		UseBy      engine.BootTime    // when the grant ends unused, 0: never
		Constraint engine.Constraint
		RetryAt    time.Time
	}
	// SeatsAllotted is the fleet's word on the campaign's seats.
	SeatsAllotted = fleet.Allotted
	// *engine.SocketEvent answers OpenSocket, and comes again when the socket is gone.
)

// What the tables say.
type (
	// ContactRead brings the row that a message for a contact waits for.
	ContactRead struct {
		Contact engine.ContactID
		Row     contact.Contact
		OK      bool
		Err     error
	}
	// DueRead brings due contacts for the look-ahead.
	DueRead struct {
		Rows []contact.Contact
		// Open is how many contacts are not final, -1 when the page was full; Next
		// when the next of them is due. Exhausted: none is, and some used up their
		// attempts.
		Next      *time.Time
		Open      int
		Exhausted bool
		Err       error
	}
	// OverdueRead brings contacts whose results are overdue.
	OverdueRead struct {
		Read Read
		All  bool // whose results are awaited
		Rows []contact.Contact
		Err  error
	}
	// ContactsFound brings the contacts that an exclusion is about.
	ContactsFound struct {
		Read Read
		Op   int
		Rows []contact.Contact
		Err  error
	}
	// ExcludedRead brings those of some numbers' contacts that are excluded.
	ExcludedRead struct {
		Read  Read
		Again []campaign.NewContact
		Left  []campaign.NewContact // to look up after these
		Rows  []contact.Contact
		Err   error
	}
	// SuppressedRead brings contacts that wait for a dial though their numbers are
	// suppressed.
	SuppressedRead struct {
		Read    Read
		Run     int
		Numbers []engine.PhoneNumber
		After   engine.ContactID
		Rows    []contact.Contact
		Err     error
	}
)

// Commands. Each is answered by a Reply.
type (
	// Act is a lifecycle command.
	Act struct{ Command campaign.Act }
	// ActReady brings what an Act had to ask for.
	ActReady struct {
		Command campaign.Act
		Request engine.Request
		Facts   campaign.PreflightFacts
		Bots    []engine.Bot
		Err     error
		Config  *FetchedConfig // of a Start with a Config URL, once it was fetched
	}
	FetchedConfig struct {
		Document campaign.Document
		Err      error
	}
	// Detail asks for the campaign as it stands. Supplies are trunks and numbers at this
	// moment, nil when they are not known.
	Detail struct{ Supplies *campaign.Supplies }
	// Preflight asks whether the campaign can be started, and what is ahead of it.
	Preflight      struct{}
	PreflightReady struct {
		Request engine.Request
		Facts   campaign.PreflightFacts
		Outlook campaign.Outlook
		Bots    []engine.Bot
		Seats   int // of the bot
		Free    int // of them, that nobody holds
		Outage  *fleet.Outage
		Trunks  []trunk.Candidate
		Err     error
	}
	// AddRows adds a list of contacts.
	AddRows struct {
		Command campaign.AddContacts
		Batch   *campaign.AddBatch // whose contacts are the command's; nil for a plain list
		Newer   []campaign.Exclude // exclusions that came while it waited: they stand
	}
	RowsAdded struct {
		Read    Read
		Request engine.Request
		Report  campaign.AddReport
		Batch   *campaign.BatchReply
		Epoch   int64 // of the run that added them
		Command campaign.AddContacts
		Again   []contact.Contact // excluded ones that were added again
		Lifting bool              // exclusions are not sticky
		Event   journal.Event
		Err     error
	}
	// Trigger adds one contact and dials or queues it.
	Trigger struct {
		Command campaign.Trigger
		// LookUp: the tables are asked before a contact is made. Unanswered: no reply
		// is stored under its Idempotency-Key.
		LookUp, Unanswered bool
	}
	TriggerFound struct {
		Read    Read
		Request engine.Request
		Command campaign.Trigger
		// Live: nothing but the stored reply was asked for, since its contact is up.
		Live bool
		Row  contact.Contact
		OK   bool
		Err  error
		// Staged: there is no such contact, but a row of the import that was being
		// activated when the database was asked.
		Importing engine.ImportID
		Staged    bool
	}
	// Exclude excludes a number, or those with some metadata.
	Exclude struct {
		Command campaign.Exclude
		Who     *engine.Who // the operator who excludes one contact, else nil
	}
	// ExclusionsImported is the history's entry of a file of numbers, each of which
	// was excluded by itself.
	ExclusionsImported struct{ Command campaign.ExclusionsImported }
	// Lift takes an exclusion back.
	Lift struct{ Command campaign.Lift }
	// Operate is what an operator does to one contact.
	Operate      struct{ Command campaign.ActOnContact }
	OperateFound struct {
		Read    Read
		Request engine.Request
		Command campaign.ActOnContact
		Row     contact.Contact
		OK      bool
		Err     error
	}
	// SubmitResult stores a result of one of the campaign's contacts.
	SubmitResult struct {
		Contact engine.ContactID
		Result  call.StoreResult
	}
	// Keys and Transfer act on a live call.
	Keys struct {
		Contact engine.ContactID
		Keys    call.Keys
	}
	Transfer struct {
		Contact  engine.ContactID
		Transfer call.Transfer
	}
	// BeginErasure keeps triggers of a number away; it is answered once everything
	// written before is durable. EndErasure makes everybody forget the number, and the
	// exclusions that were this person's alone.
	BeginErasure struct{ Number engine.PhoneNumber }
	EndErasure   struct {
		Number, Tombstone engine.PhoneNumber
		Matches           []map[string]string
	}
	// DialNoMore has the run dial nobody for a while, and asks what is being placed.
	DialNoMore struct{}
	// Placing answers it: the attempts whose INVITE may not have left, with their
	// contacts. Round: more may follow.
	Placing struct {
		Attempts map[engine.AttemptID]engine.ContactID
		Round    bool
	}
)

// The switch of an import (ADR 11).
type (
	// MayImport asks whether the campaign takes contacts; answered by ImportTerms.
	MayImport   struct{}
	ImportTerms struct{ Sticky bool }
	// BeginActivation asks for the moment in which no addition is under way; answered
	// by ActivationStart.
	BeginActivation struct{ Import engine.ImportID }
	ActivationStart struct {
		Run, Max int
		Sticky   bool
		At       time.Time
	}
	// ActivationGoesOn reminds a run that was restarted meanwhile.
	ActivationGoesOn struct{ Import engine.ImportID }
	// CloseGate asks for the event's place in the sequence; answered by GatePass once
	// everything that was let through before is durable.
	CloseGate struct {
		Import engine.ImportID
		Run    int
	}
	GatePass struct {
		Epoch, Seq int64
		At         time.Time
	}
	// ActivationEnded tells how the switch ended.
	ActivationEnded struct {
		Import engine.ImportID
		Done   bool
		Epoch  int64 // of the run that let it pass
		Event  journal.Event
		Out    journal.Activated
	}
)

// News.
type (
	// Suppressed tells of numbers that are on the suppression list now; it is answered
	// once none of the campaign's calls to them can begin any more.
	Suppressed struct {
		Numbers map[engine.PhoneNumber]struct{}
	}
	// NumberChanged: an outbound number was edited.
	NumberChanged struct{ Number engine.PhoneNumber }
	// BotsChanged brings the bots as they are configured now.
	BotsChanged struct{ Bots []engine.Bot }
	// DatabaseChanged: it went away, or came back.
	DatabaseChanged struct{}
	// Pulse is the run's message to itself, by which it knows how long messages wait.
	Pulse struct{ At engine.BootTime }
	// TimerFired is told when a timer's time has come.
	TimerFired struct {
		Timer Timer
		Epoch int64
		Owed  *Deferred // of the Arm
	}
)

// Timer names what a timer is for. Of those that are alone of their name, a new one
// takes the place of the one before.
type Timer string

// Timers.
const (
	TimerTick  Timer = "tick"  // periodic checks
	TimerWake  Timer = "wake"  // a contact becomes due, or a window opens; alone of its name
	TimerRound Timer = "round" // a reservation is not answered; alone of its name
	TimerAgain Timer = "again" // an event that was put off, given back
)

// Single says whether only one of that name runs.
func (t Timer) Single() bool { return t == TimerWake || t == TimerRound }

// numberEnd of an attempt that was not dialled.
var notDialled = numberpool.End{NotDialled: true}

// Ledgers are what the attempts of earlier lives say.
type Ledgers struct {
	Books pacing.Books
	Hours pacing.Hours
}
