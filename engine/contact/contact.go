package contact

import (
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/cadence"
)

// State of a contact, as stored; Shown is what users and other systems see.
type State string

const (
	Pending         State = "pending"
	Waiting         State = "unanswered" // between two attempts; see Shown
	Connected       State = "connected"
	Completed       State = "completed"
	Failed          State = "failed"
	Abandoned       State = "abandoned"
	MachineDetected State = "machine_detected"
	WindowClosed    State = "window_closed"
	ManuallyStopped State = "manually_stopped"
	Expired         State = "expired" // its expires_at passed before anybody was reached
	Excluded        State = "excluded"
)

// States lists every state in the order of the specification.
var States = []State{
	Pending, Waiting, Connected, Completed, Failed, Abandoned,
	MachineDetected, WindowClosed, ManuallyStopped, Expired, Excluded,
}

// FilterUnanswered narrows a list to the contacts counted as Unanswered: their last attempt rang
// and was not answered, whatever their state.
const FilterUnanswered = "unanswered"

// Filters are the filters of a contact list: the states by their shown names, and FilterUnanswered.
func Filters() []string {
	var all []string
	for _, s := range States {
		all = append(all, s.Shown())
	}
	return append(all, FilterUnanswered)
}

// Shown is the name of the state for people and other systems. Between two attempts a contact is
// waiting; it is stored under the former name, which the counter and the filter still use, so that
// programs of the previous release can read it.
func (s State) Shown() string {
	if s == Waiting {
		return "waiting"
	}
	return string(s)
}

// StateShownAs is the state with this name; ok is false if there is none.
func StateShownAs(name string) (s State, ok bool) {
	i := slices.IndexFunc(States, func(s State) bool { return s.Shown() == name })
	if i < 0 {
		return "", false
	}
	return States[i], true
}

// Processed says whether the state is one of the specification's final
// outcomes. Excluded is out of scope, not processed.
func (s State) Processed() bool {
	switch s {
	case Completed, Failed, Abandoned, MachineDetected, WindowClosed, ManuallyStopped, Expired:
		return true
	case Pending, Waiting, Connected, Excluded:
		return false
	}
	return false
}

// Limits of a contact's variables.
const (
	VariableCountCap = 64       // keys
	VariableNameCap  = 64       // bytes of a key
	VariablesCap     = 16 << 10 // bytes, keys and values together
)

// DueClass orders the due contacts of a campaign; lower goes first.
type DueClass int

const (
	DueCallback DueClass = 0
	DueTrigger  DueClass = 1
	DueFirst    DueClass = 2
	DueRetry    DueClass = 3
)

// CallbackState of a contact's callback.
type CallbackState string

const (
	CallbackNone      CallbackState = ""
	CallbackRequested CallbackState = "requested"
	CallbackPending   CallbackState = "pending"
	CallbackCompleted CallbackState = "completed"
	CallbackCancelled CallbackState = "cancelled"
)

// CallbackStates lists the states of callbacks. The call list filters by them (Covers); the
// callbacks panel counts callbacks, not contacts.
var CallbackStates = []CallbackState{CallbackRequested, CallbackPending, CallbackCompleted, CallbackCancelled}

// Covers says whether a contact whose newest callback is in state s is listed under the filter w:
// requested covers everybody who asked, whatever the result; pending covers contacts still to be
// called back, also during the call with the request.
func (w CallbackState) Covers(s CallbackState) bool {
	switch w {
	case CallbackRequested:
		return s != CallbackNone
	case CallbackPending:
		return s == CallbackRequested || s == CallbackPending
	case CallbackCompleted, CallbackCancelled, CallbackNone:
	}
	return s == w
}

// Among lists the states that the filter w covers.
func (w CallbackState) Among() (list []CallbackState) {
	for _, s := range CallbackStates {
		if w.Covers(s) {
			list = append(list, s)
		}
	}
	return list
}

// Contact is one person in a campaign: the exported state of the machine,
// stored as one row.
type Contact struct {
	ID         engine.ContactID
	Campaign   engine.CampaignID
	Number     engine.PhoneNumber // the first of the person's numbers; identifies the contact in its campaign
	Alternates Alternates         // the others
	Variables  map[string]string
	Position   int64  // list order within the campaign, unique, ascending
	Source     string // csv, api, trigger
	Run        int
	State      State
	// Reason is, of Failed, an outcome or attempts_exhausted; of a merge or an exclusion, its note; of
	// one that waits for the cap on calls to its number, or for the eligibility hook, the code.
	Reason          string
	Used            int // consumed attempts in this run
	Unconsumed      int // unconsumed attempts in a row
	Max             int // Max Attempts that applied when last decided
	LastOutcome     engine.Outcome
	LastDisposition string
	// LastConversation is the attempt of the last conversation, whose result is awaited
	// while ResultDueAt is set.
	LastConversation engine.AttemptID
	LastTalk         time.Duration // of the last conversation, for the redial rules when no result comes
	LongestTalk      time.Duration // since the contact was given its attempts, for Stop Redials After
	ConnectedOnce    bool          // at least one connected attempt in this run
	HasResult        bool          // a result is stored in this run
	RangUnanswered   bool          // the last attempt rang and was not answered
	Choice           Choice        // which of the person's numbers is called next (NextNumber)
	Tries            cadence.Tries // consumed attempts since the contact was given its attempts
	Ends             Ends          // its earlier ends in this run: its states when it was excluded, or reopened

	// DueAt, when not nil, is from when the contact waits for a dial, in the order of DueClass. A
	// contact without DueAt is not dialled.
	DueAt    *time.Time
	DueClass DueClass
	// CallsBack is the latest call of the person to us, "" for none that is known; CallsBackUntil until when the
	// contact is not dialled because of it, nil once it is settled. DueOtherwise is when a contact that waits for
	// it (ReasonCallsBack) would be due without.
	CallsBack                    engine.AttemptID
	CallsBackUntil, DueOtherwise *time.Time
	// DuePass is the pass for which the contact last waited: its Used at that time, plus 1. It
	// stays when the contact is closed while it waits, so that the pass still knows which contacts
	// were due for it.
	DuePass int

	// NotBefore and ExpiresAt limit when the contact may be dialled, nil for no limit (Times).
	NotBefore, ExpiresAt *time.Time
	// Precedence is DefaultPriority less the priority: the lower is dialled first among contacts of a
	// class, and of a pass among retries.
	Precedence int

	// Attempt is the live attempt, "" if there is none.
	Attempt engine.AttemptID
	// ResultDueAt is when the result of the last connected attempt times out.
	ResultDueAt *time.Time

	// Callback is the newest callback, CallbackOf the attempt whose result requested it, "" when an
	// operator promised it.
	Callback      CallbackState
	CallbackOf    engine.AttemptID
	CallbackAt    *time.Time
	CallbackExtra bool // the pending callback is the one attempt beyond Max Attempts
	// CallingBack says that the live attempt is for a callback: the pending one, or one that a
	// newer callback has replaced.
	CallingBack bool
	// CallbacksCancelled counts the callbacks before the newest that were cancelled in this run.
	// Dialled callbacks are counted by their attempts.
	CallbacksCancelled int

	// ExcludeAfterCall says that the contact was excluded during a conversation; this takes effect
	// once its result is stored or has timed out.
	ExcludeAfterCall bool

	// CalledFrom is the number that last called the contact, "" if none did: the sticky one.
	CalledFrom  engine.PhoneNumber
	AbandonedAt *time.Time // for the 72 h rule
	CreatedAt   time.Time
	UpdatedAt   time.Time
	// Version grows with every durable change, so that a repeated write is harmless.
	Version int64
}

// Facts are what counters need to know of a contact (engine/tally).
type Facts struct {
	State      State `json:"state"`
	Used       int   `json:"used,omitempty"`
	Max        int   `json:"max,omitempty"`
	Open       bool  `json:"open,omitempty"`       // may still be dialled in this run
	Connected  bool  `json:"connected,omitempty"`  // at least one connected attempt
	Result     bool  `json:"result,omitempty"`     // a result is stored
	Unanswered bool  `json:"unanswered,omitempty"` // the last attempt rang and was not answered
	Live       bool  `json:"live,omitempty"`       // an attempt lives
	// Awaits is the pass that the contact waits for, or did until it was closed; 0 for none.
	Awaits   int           `json:"awaits,omitempty"`
	Callback CallbackState `json:"callback,omitempty"`
	// Superseded says that a live attempt is for a callback that a newer one has replaced.
	Superseded bool `json:"callback_superseded,omitempty"`
	Cancelled  int  `json:"callbacks_cancelled,omitempty"` // callbacks before the newest
	Ends       Ends `json:"ends,omitempty"`                // before the present state
}

// Ends is a set of ways in which a contact has ended in a run. A late result removes an end; an
// exclusion and fresh attempts do not.
type Ends int

// The ends that counters count per contact.
const (
	EndFailed Ends = 1 << iota
	EndWindowClosed
	EndManuallyStopped
	EndExpired
)

// EndOf is the end that a state stands for, 0 if it is not counted as one.
func EndOf(s State) Ends {
	switch s {
	case Failed:
		return EndFailed
	case WindowClosed:
		return EndWindowClosed
	case ManuallyStopped:
		return EndManuallyStopped
	case Expired:
		return EndExpired
	case Pending, Waiting, Connected, Completed, Abandoned, MachineDetected, Excluded:
	}
	return 0
}

// Fresh are the facts of a contact that was just added.
func Fresh(maxAttempts int) Facts {
	return Facts{State: Pending, Max: maxAttempts, Open: true, Awaits: 1}
}

// Facts are the contact's current facts.
func (c *Contact) Facts() Facts {
	f := Facts{
		State: c.State, Used: c.Used, Max: c.Max, Open: c.Open(),
		Connected: c.ConnectedOnce, Result: c.HasResult, Unanswered: c.RangUnanswered,
		Live: c.Attempt != "", Callback: c.Callback,
		Superseded: c.CallingBack && c.Callback != CallbackPending, Cancelled: c.CallbacksCancelled, Ends: c.Ends,
	}
	// A contact that is excluded, or is being dialled, waits for no pass.
	if c.DuePass == c.Used+1 && !f.Live && c.State != Excluded {
		f.Awaits = c.DuePass
	}
	return f
}

// AwaitsResult says whether the result of an attempt is awaited: until it comes, or
// the wait for it ends, the attempt's outcome is not final.
func (c *Contact) AwaitsResult(id engine.AttemptID) bool { return id != "" && id == c.Awaited() }

// Awaited is the attempt whose result is awaited, "" if there is none: it ended as
// connected_no_result, has no result, and has not timed out.
func (c *Contact) Awaited() engine.AttemptID {
	if c.ResultDueAt == nil || c.LastOutcome != engine.OutcomeConnectedNoResult {
		return ""
	}
	return c.LastConversation
}

// Open says whether the contact may still be dialled in its run: it waits for a dial, or has a live
// attempt whose end may lead to another.
func (c *Contact) Open() bool {
	return c.State != Excluded && !c.State.Processed()
}
