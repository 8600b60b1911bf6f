package run

import (
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
	Absent       error                   // why this node cannot act for the campaign; nil: it does not exist
	Stash        []Deferred              // what came before the run was ready
	ReportsDue   map[string]ContactActor // those that have not reported yet
	Silent       []ContactActor          // those that had not when the run went on without them
	EarlyReports map[string]struct{}     // those that reported before all were known
	RosterKnown  bool
	Loading      bool

	M     campaign.Machine
	Tally *tally.Tally
	Bot   engine.Bot
	rules *call.Rules `snapshot:"-"` // follow from M and Bot
	// supplies are what was said of trunks and numbers last.
	supplies *campaign.Supplies `snapshot:"-"`

	// Contacts.
	Queue    Queue
	Lines    map[engine.ContactID]*Line
	ByNumber map[engine.PhoneNumber]engine.ContactID // of the lines
	// Loads are the commands that wait for a contact's row.
	Loads            map[engine.ContactID][]any
	Reading          bool // due contacts are being read
	ReadAgain        bool
	ReadStale        bool // what is being read predates a change of all contacts
	LiveWhileReading map[engine.ContactID]struct{}
	Reads            map[Read]struct{} // under way
	LastRead         Read              // the newest that began
	// StoppedSince is who came to rest during one of them, with the newest that had
	// begun by then.
	StoppedSince map[engine.ContactID]Read
	NextDue      *time.Time // when due contacts are read again
	DueNext      *time.Time // when the next contact is due that is not yet, as far as is known
	Expected     *time.Time // the earliest due time that became known while they were being read
	OpenRows     int        // contacts of the run that are not final, as last read

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
	LookUps    int              // triggers that are being looked up, or written
	Newer      []NewerExclusion // that came meanwhile
	SeatState
	SocketState
	LastTrunk engine.TrunkID // that a line got
	Pace      Pace
	Rates     Rates
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

	// Of the Apply under way.
	now  time.Time       `snapshot:"-"`
	boot engine.BootTime `snapshot:"-"`
	proc Process         `snapshot:"-"`
	out  []Effect        `snapshot:"-"`
}

// Deferred is an event that waits, with who asked for it.
type Deferred struct {
	Event any
	From  engine.Request
}

// New gives the run of a campaign that is not loaded yet.
func New(id engine.CampaignID, cfg Config) *State {
	return &State{ID: id, Config: cfg, Queue: NewQueue(), Lines: map[engine.ContactID]*Line{},
		ByNumber: map[engine.PhoneNumber]engine.ContactID{},
		Loads:    map[engine.ContactID][]any{}, LiveWhileReading: map[engine.ContactID]struct{}{}, Reads: map[Read]struct{}{},
		StoppedSince: map[engine.ContactID]Read{}, TriggersOf: map[engine.PhoneNumber]struct{}{},
		Pending: map[int64]Continuation{},
		Ops:     map[int]*ExcludeOp{}, Lifts: map[int]*LiftOp{}, EarlyReports: map[string]struct{}{},
		Fresh:   map[engine.PhoneNumber]int{},
		Erasing: map[engine.PhoneNumber]time.Time{}, Timers: map[Timer]int64{}, Later: map[int64]Deferred{}}
}
