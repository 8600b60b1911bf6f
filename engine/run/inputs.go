package run

import (
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/besthour"
	"dialler/engine/cadence"
	"dialler/engine/calendar"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/fleet"
	"dialler/engine/journal"
	"dialler/engine/numberpool"
	"dialler/engine/pacing"
	"dialler/engine/trunk"
)

// Input is one thing that happened, with everything that the run may need to know about it.
type Input struct {
	Now     time.Time       // by the wall clock, with a monotonic reading where there is one
	Boot    engine.BootTime // by the boot-time clock
	From    engine.Request  // the request that waits for an answer, "" if there is none
	Event   any             // a pointer to one of the types of this file, or to one of package call
	Process Process
}

// Process is what the run may ask the process it runs in. Every answer belongs to the input: to
// record a run's inputs, record these too.
type Process interface {
	Draining() bool     // it is being stopped and dials nobody
	DatabaseAway() bool // nothing can be made durable
	Fenced() bool       // its lease ran out: another node may act
	TrunksDown() bool   // every trunk is down
	// CommitLate and BotLate are how late the campaign's writer and the connects to its bot are.
	CommitLate() time.Duration
	BotLate(engine.BotID) time.Duration
	// Carrier is the node that should carry a call over a trunk, 0 outside a cluster.
	Carrier(engine.TrunkID) engine.Incarnation
	// NeedsSeat says whether any campaign abandoned the number in the last 72 hours.
	NeedsSeat(engine.PhoneNumber, time.Time) bool
	// Owned says whether an actor of this process has the attempt.
	Owned(engine.AttemptID) bool
}

// Read numbers a query for contacts, within the process. By the time its answer comes a contact may
// have been called and be at rest again: then the row in the answer is outdated.
type Read uint64

// The run's start, loading and end.
type (
	// Started says that the run has started, for the first time or after a crash. Seed is random;
	// the run derives the identifiers that it assigns from it.
	Started struct{ Seed [32]byte }
	// Loaded brings the campaign's durable state.
	Loaded struct {
		Life       int64 // of the Load that it answers
		Campaign   campaign.Campaign
		Counters   campaign.Counters
		Contacts   int // the run that the contacts belong to
		Exclusions []journal.Exclusion
		Bots       []engine.Bot
		Cadences   []cadence.Named
		Calendars  []calendar.Named
		Hours      besthour.Table
		Open       []attempt.Attempt // attempts that have not ended, or whose legs are watched
		Ledgers    Ledgers
		Learnt     *pacing.State
		TakingBack engine.ImportID                            // the import that an earlier owner was taking back
		Suppressed map[engine.PhoneNumber]journal.Suppression // for the numbers in Open
		Seats      int                                        // that the previous instance asked for
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
	// Reported says where a contact stands, with the name of its actor.
	Reported struct {
		Actor string
		call.Reported
	}
	// Recovered brings the contacts of attempts without an owner.
	Recovered struct {
		Life int64
		Rows []RecoveredContact
	}
	RecoveredContact struct {
		Row     contact.Contact
		Attempt attempt.Attempt
	}
	// OpenListed brings the attempts that the database calls open, and the campaign's epoch after that was read.
	OpenListed struct {
		Life  int64
		Epoch int64
		Open  []attempt.Attempt
	}
	// LastWord asks whether the campaign's actors may stop.
	LastWord struct{ HandOver bool }
)

// Results of the run's own writes.
type (
	// Durable says that everything written before the Fence is durable.
	Durable struct{ Ticket int64 }
	// Written reports the result of a Write of this or an earlier instance: the waiting request is
	// answered in either case.
	Written struct {
		Then *Continuation
		Err  error
	}
	// WriteRefused returns a write that the database refused, and why.
	WriteRefused struct {
		Write *journal.Write
		Err   error
	}
	// FenceFor notifies a restarted contact once everything written before is durable.
	FenceFor struct{}
	// NotSaved says that what pacing has learnt was not stored; the run retries after a while.
	NotSaved struct{ Err error }
	// BulkRead brings the event of a write to all contacts, as it was stored.
	BulkRead struct {
		Seq, Epoch int64
		Event      journal.Event
		Stored     bool
		Err        error
	}
	// Prepared says that the contacts are prepared for a run, restored, or removed.
	Prepared struct {
		Of       campaign.Effect
		Counters campaign.Counters
		Ledgers  Ledgers // of the run that is shown again after Cancel Restart
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
		UseBy      engine.BootTime    // when an unused grant ends; 0 means never
		Constraint engine.Constraint
		RetryAt    time.Time
	}
	// SeatsAllotted is the fleet's answer about the campaign's seats.
	SeatsAllotted = fleet.Allotted
	// *engine.SocketEvent answers OpenSocket, and is sent again when the socket is lost.
)

// Answers of the tables.
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
		// Open is how many contacts are not final, -1 when the page was full. Next is when the next
		// of them is due. Exhausted says that none is due any more and that some used up their
		// attempts.
		Next      *time.Time
		Open      int
		Exhausted bool
		Err       error
	}
	// OverdueRead brings contacts whose results are overdue.
	OverdueRead struct {
		Read Read
		All  bool // everybody whose result is awaited
		Rows []contact.Contact
		Err  error
	}
	// ExpiredRead brings contacts that wait for a dial and have expired. More says that there may be
	// others; Next is when the next one expires, nil when none does.
	ExpiredRead struct {
		Read Read
		Run  int
		Rows []contact.Contact
		More bool
		Next *time.Time
		Err  error
	}
	// ContactsFound brings the contacts that an exclusion is about.
	ContactsFound struct {
		Read Read
		Op   int
		Rows []contact.Contact
		Err  error
	}
	// ExcludedRead brings the excluded contacts among those with some numbers.
	ExcludedRead struct {
		Read  Read
		Again []campaign.NewContact
		Left  []campaign.NewContact // to look up after these
		Rows  []contact.Contact
		Err   error
	}
	// SuppressedRead brings contacts that wait for a dial although their numbers are suppressed.
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
		Config  *FetchedConfig // of a Start with a Config URL, once fetched
	}
	FetchedConfig struct {
		Document campaign.Document
		Err      error
	}
	// Detail asks for the campaign's current state. Supplies are the trunks and numbers at this
	// moment, nil when they are not known.
	Detail struct{ Supplies *campaign.Supplies }
	// Preflight asks whether the campaign can be started, and what to expect.
	Preflight      struct{}
	PreflightReady struct {
		Request engine.Request
		Facts   campaign.PreflightFacts
		Outlook campaign.Outlook
		Bots    []engine.Bot
		Seats   int // of the bot
		Free    int // how many of them are free
		Outage  *fleet.Outage
		Trunks  []trunk.Candidate
		Err     error
	}
	// AddRows adds a list of contacts.
	AddRows struct {
		Command campaign.AddContacts
		Batch   *campaign.AddBatch // whose contacts the command contains; nil for a plain list
		Newer   []campaign.Exclude // exclusions that came while it waited: they stand
	}
	RowsAdded struct {
		Read    Read
		Request engine.Request
		Report  campaign.AddReport
		Batch   *campaign.BatchReply
		Epoch   int64 // of the run that added them
		Command campaign.AddContacts
		Again   []contact.Contact // excluded contacts that were added again
		Lifting bool              // exclusions are not sticky
		Event   journal.Event
		Err     error
	}
	// Trigger adds one contact and dials or queues it.
	Trigger struct {
		Command campaign.Trigger
		// LookUp says that the tables are asked before a contact is created. Unanswered says that
		// no reply is stored under the Idempotency-Key.
		LookUp, Unanswered bool
		Newer              []campaign.Exclude // exclusions that came while it waited
	}
	TriggerFound struct {
		Read    Read
		Request engine.Request
		Command campaign.Trigger
		// Live says that only the stored reply was asked for, since the contact's actor is running.
		Live bool
		Row  contact.Contact
		OK   bool
		Err  error
		// Staged says that there was no such contact, but a row of the import that was being
		// activated when the database was asked.
		Importing engine.ImportID
		Staged    bool
	}
	// Exclude excludes a number, or the contacts with some metadata.
	Exclude struct {
		Command campaign.Exclude
		Who     *engine.Who // the operator who excludes one contact, else nil
	}
	// ExclusionsImported is the history entry for a file of numbers, each of which was excluded on
	// its own.
	ExclusionsImported struct{ Command campaign.ExclusionsImported }
	// Lift lifts an exclusion.
	Lift struct{ Command campaign.Lift }
	// Operate is an operator's action on one contact.
	Operate      struct{ Command campaign.ActOnContact }
	OperateFound struct {
		Read    Read
		Request engine.Request
		Command campaign.ActOnContact
		Row     contact.Contact
		OK      bool
		Err     error
	}
	// UndoImport takes back a file's contacts; it is answered by a campaign.ImportUndo at the end of a page.
	UndoImport struct{ Command campaign.UndoImport }
	// TookBack brings what became of a page.
	TookBack struct {
		Page journal.TakeBack
		Out  journal.TakenBack
		Err  error
	}
	// SubmitResult stores a result for one of the campaign's contacts.
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
	// BeginErasure makes the run refuse triggers of a number; it is answered once everything
	// written before is durable. EndErasure makes the run forget the number, and the exclusions
	// that concerned this person alone.
	BeginErasure struct{ Number engine.PhoneNumber }
	EndErasure   struct {
		Number, Tombstone engine.PhoneNumber
		Matches           []map[string]string
	}
	// DialNoMore stops dialling for a while, and asks which dials are being placed.
	DialNoMore struct{}
	// Placing answers it: the attempts whose INVITE may not have left, with their contacts. Round
	// says that more may follow.
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
	// BeginActivation asks for a moment in which no addition is in progress; answered by
	// ActivationStart.
	BeginActivation struct{ Import engine.ImportID }
	ActivationStart struct {
		Run, Max int
		Sticky   bool
		At       time.Time
	}
	// ActivationGoesOn tells a restarted run that the switch is still in progress.
	ActivationGoesOn struct{ Import engine.ImportID }
	// CloseGate asks for the event's place in the sequence; answered by GatePass once every earlier
	// addition is durable.
	CloseGate struct {
		Import engine.ImportID
		Run    int
	}
	GatePass struct {
		Epoch, Seq int64
		At         time.Time
	}
	// ActivationEnded says how the switch ended.
	ActivationEnded struct {
		Import engine.ImportID
		Done   bool
		Epoch  int64 // of the run that closed the gate
		Event  journal.Event
		Out    journal.Activated
	}
)

// News.
type (
	// Suppressed names numbers that are now on the suppression list; it is answered once no call of
	// the campaign to them can begin any more.
	Suppressed struct {
		Numbers map[engine.PhoneNumber]struct{}
	}
	// NumberChanged says that an outbound number was edited.
	NumberChanged struct{ Number engine.PhoneNumber }
	// BotsChanged brings the current configuration of the bots.
	BotsChanged struct{ Bots []engine.Bot }
	// CadencesChanged brings the current cadences: they hold from the contacts' next ends of attempts.
	CadencesChanged struct{ Cadences []cadence.Named }
	// CalendarsChanged brings the current calendars: they hold at once.
	CalendarsChanged struct{ Calendars []calendar.Named }
	// HoursLearned brings the hours at which people answer, as learned so far.
	HoursLearned struct{ Hours besthour.Table }
	// DatabaseChanged says that the database became unavailable or available again.
	DatabaseChanged struct{}
	// Pulse is the run's message to itself, which measures how long messages wait.
	Pulse struct{ At engine.BootTime }
	// TimerFired says that a timer has expired.
	TimerFired struct {
		Timer Timer
		Epoch int64
		Owed  *Deferred // of the Arm
	}
)

// Timer names the purpose of a timer. A new timer replaces the earlier one of its name where Single
// is true.
type Timer string

// Timers.
const (
	TimerTick  Timer = "tick"  // periodic checks
	TimerWake  Timer = "wake"  // a contact becomes due, or a window opens; single
	TimerRound Timer = "round" // a reservation is not answered; single
	TimerRest  Timer = "rest"  // contacts are asked to become idle again; single
	TimerAgain Timer = "again" // a deferred event is returned
)

// Single says whether only one timer of that name runs.
func (t Timer) Single() bool { return t == TimerWake || t == TimerRound || t == TimerRest }

// notDialled ends the number lease of an attempt that was not dialled.
var notDialled = numberpool.End{NotDialled: true}

// Ledgers are derived from the attempts of earlier instances.
type Ledgers struct {
	Books pacing.Books
	Hours pacing.Hours
}
