package contact

import (
	"time"

	"dialler/engine"
)

// State of a contact, equal to what is stored and shown.
type State string

const (
	Pending         State = "pending"
	Unanswered      State = "unanswered"
	Connected       State = "connected"
	Completed       State = "completed"
	Failed          State = "failed"
	Abandoned       State = "abandoned"
	MachineDetected State = "machine_detected"
	WindowClosed    State = "window_closed"
	ManuallyStopped State = "manually_stopped"
	Excluded        State = "excluded"
)

// States lists every state in the order of the specification.
var States = []State{
	Pending, Unanswered, Connected, Completed, Failed, Abandoned,
	MachineDetected, WindowClosed, ManuallyStopped, Excluded,
}

// Processed says whether the state is one of the specification's final
// outcomes. Excluded is out of scope, not processed.
func (s State) Processed() bool {
	switch s {
	case Completed, Failed, Abandoned, MachineDetected, WindowClosed, ManuallyStopped:
		return true
	case Pending, Unanswered, Connected, Excluded:
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

// CallbackStates lists the states of callbacks. They are the words of the
// callbacks panel too, whose counters and filters count the same (Covers).
var CallbackStates = []CallbackState{CallbackRequested, CallbackPending, CallbackCompleted, CallbackCancelled}

// Covers says whether a contact whose callback is in a state counts under the
// panel's word w: requested is everybody who asked in this run, whatever came of
// it; pending is who is still to be called back, while the call that brought the
// wish goes on too.
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

// Among lists the states that count under the panel's word w.
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
	ID              engine.ContactID
	Campaign        engine.CampaignID
	Number          engine.PhoneNumber
	Variables       map[string]string
	Position        int64  // list order within the campaign, unique, ascending
	Source          string // csv, api, trigger
	Run             int
	State           State
	Reason          string // of Failed: an outcome or attempts_exhausted; of a merge or an exclusion: its note; of one that waits for the cap on calls to its number, or for the eligibility hook: the code
	Used            int    // consumed attempts in this run
	Unconsumed      int    // unconsumed attempts in a row
	Max             int    // Max Attempts that applied when last decided
	LastOutcome     engine.Outcome
	LastDisposition string
	LastTalk        time.Duration // of the last conversation, for the redial rules when its result does not come
	LongestTalk     time.Duration // of the conversations since it was given its attempts, for Stop Redials After
	ConnectedOnce   bool          // at least one connected attempt in this run
	HasResult       bool          // a result is stored in this run
	RangUnanswered  bool          // the last attempt rang and was not answered

	// Due: when DueAt is not nil the contact waits for a dial from then on,
	// in the order of DueClass. A contact without DueAt is not dialled.
	DueAt    *time.Time
	DueClass DueClass
	// DuePass is the pass for which the contact was put in line last, its Used
	// of then + 1. It stays when the contact is closed while it waits, so that
	// the pass still knows who was due for it.
	DuePass int

	// Attempt is the live attempt, "" when none.
	Attempt engine.AttemptID
	// ResultDueAt is when the result of the last connected attempt times out.
	ResultDueAt *time.Time

	Callback      CallbackState
	CallbackAt    *time.Time
	CallbackExtra bool // the pending callback is the one attempt beyond Max Attempts

	// ExcludeAfterCall: excluded while a conversation lived; takes effect once
	// its result is stored or timed out.
	ExcludeAfterCall bool

	// CalledFrom is the number that called it last, "" when none has: the sticky
	// one.
	CalledFrom  engine.PhoneNumber
	AbandonedAt *time.Time // for the 72 h rule
	CreatedAt   time.Time
	UpdatedAt   time.Time
	// Version grows with every durable change; it makes a repeated write harmless.
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
	// Awaits is the pass that the contact is, or was until it was closed, in
	// line for; 0 when none.
	Awaits   int           `json:"awaits,omitempty"`
	Callback CallbackState `json:"callback,omitempty"`
}

// Fresh are the facts of a contact that was just added.
func Fresh(maxAttempts int) Facts {
	return Facts{State: Pending, Max: maxAttempts, Open: true, Awaits: 1}
}

// Facts of the contact as it stands.
func (c *Contact) Facts() Facts {
	f := Facts{
		State: c.State, Used: c.Used, Max: c.Max, Open: c.Open(),
		Connected: c.ConnectedOnce, Result: c.HasResult, Unanswered: c.RangUnanswered,
		Live: c.Attempt != "", Callback: c.Callback,
	}
	// Who is out of scope, or is being dialled, is in line for nothing.
	if c.DuePass == c.Used+1 && !f.Live && c.State != Excluded {
		f.Awaits = c.DuePass
	}
	return f
}

// Open says whether the contact may still be dialled in its run: it waits for
// a dial, or an attempt of it lives whose end may bring another.
func (c *Contact) Open() bool {
	return c.State != Excluded && !c.State.Processed()
}
