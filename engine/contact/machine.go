package contact

import (
	"time"

	"dialler/engine"
	"dialler/engine/cadence"
	"dialler/engine/fsm"
	"dialler/engine/redial"
	"dialler/engine/window"
)

// Kind names an event of the machine, in the past tense.
type Kind string

const (
	Reserved        Kind = "reserved"         // an attempt began
	Reached         Kind = "reached"          // the bot has the call
	Attempted       Kind = "attempted"        // an attempt ended
	ResultStored    Kind = "result_stored"    //
	ResultTimedOut  Kind = "result_timed_out" //
	ExcludedBy      Kind = "excluded_by"      // by number or metadata, API or list
	Readmitted      Kind = "readmitted"       // added again on purpose, sticky exclusion off
	Suppressed      Kind = "suppressed"       // its number is on the suppression list
	Triggered       Kind = "triggered"        // added again by trigger: merge, or reopen if final
	WindowEnded     Kind = "window_ended"     // the single-day window closed
	RunStopped      Kind = "run_stopped"      // an operator stopped the run
	RunReset        Kind = "run_reset"        // Restart
	CallbackDropped Kind = "callback_dropped" // cancelled by the window, the run's end, or a newer wish
	Deferred        Kind = "deferred"         // its turn came with its window closed, or a later time is requested
	Retuned         Kind = "retuned"          // Max Attempts of the campaign was edited
	Hastened        Kind = "hastened"         // an operator wants it dialled now
	CallbackSet     Kind = "callback_set"     // an operator promised it a call at a time
	Lapsed          Kind = "lapsed"           // its expires_at passed
	CalledUs        Kind = "called_us"        // the person calls us back, or that call is over
)

// Kinds lists every event kind.
var Kinds = []Kind{Reserved, Reached, Attempted, ResultStored, ResultTimedOut, ExcludedBy, Readmitted, Suppressed,
	Triggered, WindowEnded, RunStopped, RunReset, CallbackDropped, Deferred, Retuned, Hastened, CallbackSet,
	Lapsed, CalledUs}

// MaxUnconsumed is how many attempts in a row may go unconsumed; the next one counts whatever its
// outcome.
const MaxUnconsumed = 3

// CallbackHorizon limits how far ahead a callback may be requested.
const CallbackHorizon = 14 * 24 * time.Hour

// Policy are the campaign's rules that a decision needs.
type Policy struct {
	MaxAttempts int
	Redial      redial.Rule
	// Cadence says when a redial follows, nil for Retry Delay alone; Window has its calling days.
	Cadence       *cadence.Cadence
	Window        window.Window
	ResultTimeout time.Duration
	Callbacks     bool
	// Clip moves a due time into the next calling window; nil = no window.
	// ok is false when the window never opens again in this run.
	Clip func(time.Time) (t time.Time, ok bool)
	// Ends is when the run ends with its single-day window, nil when it does not.
	Ends *time.Time
	// ClosedAs is the state that waiting contacts get once the run is over (manually_stopped,
	// window_closed, ""); "" while it is open.
	ClosedAs State
}

func (p *Policy) clip(t time.Time) (time.Time, bool) {
	if p.Clip == nil {
		return t, true
	}
	return p.Clip(t)
}

// reopens says that an edit of the calendars may open a window that is never open from t on as they are.
func (p *Policy) reopens(t time.Time) bool { return p.Ends == nil && p.Window.OpensWithout(t) }

// lookAgain is how soon that is looked at again.
const lookAgain = 24 * time.Hour

// Attempt is what the contact needs to know about one of its attempts.
type Attempt struct {
	ID          engine.AttemptID
	From        engine.PhoneNumber // of Reserved
	To          engine.PhoneNumber // which of the person's numbers it called; "" = the one chosen
	Run         int                // of the attempt, 0 = the contact's
	Outcome     engine.Outcome
	Consumed    bool
	Connected   bool
	Rang        bool          // a phone rang and nobody took the call
	Talk        time.Duration // bot connected → end
	RetryAfter  time.Duration // least wait requested by the network
	DialledAt   time.Time     // its INVITE left; zero if that is not known
	EndedAt     time.Time
	HasResult   bool // came before the end
	Repeated    bool // it replaces a result of this attempt that requested a callback
	Disposition string
	DoNotCall   bool // the result says that the number must not be called again
	Callback    *CallbackWish
	Refusal     string // code with which the dial was refused before it left, otherwise ""
	CalledBack  bool   // of ResultStored: no attempt of the contact, but a call in which it called us back
}

// owesResult says that the outcome of the conversation is final only once its result comes, or the
// wait for it ends. No other result changes an outcome, so none is awaited.
func (a *Attempt) owesResult() bool {
	return a.Connected && a.Outcome == engine.OutcomeConnectedNoResult && !a.HasResult
}

// CallbackWish is a result's callback request.
type CallbackWish struct{ At *time.Time }

// Event is one input of the machine.
type Event struct {
	Kind      Kind
	At        time.Time
	Policy    Policy
	Attempt   *Attempt          // of Reserved (ID), Attempted, ResultStored; of CalledUs (ID), the call to us
	Back      Back              // of CalledUs
	Reason    string            // for ExcludedBy; for Deferred, why it waits, "" for its window
	Until     time.Time         // for Deferred: not before this, apart from its window; for the others: when
	InCall    bool              // for ExcludedBy: a conversation is live
	Variables map[string]string // of Triggered: merged in
	Times     Times             // of Triggered and Readmitted: the newest
	// Number and Alternates are the numbers of the request of Triggered and Readmitted; of Suppressed,
	// Number is the one of several that is, "" for all.
	Number     engine.PhoneNumber
	Alternates Alternates
	Run        int  // of RunReset
	Unreached  bool // for RunReset: only contacts that were never connected are dialled again
	Restarted  bool // for ResultTimedOut: the next run is being prepared, which ends the wait
}

// Machine drives one contact. C is its whole state.
type Machine struct {
	C Contact

	fate    fate `snapshot:"-"` // of the event being applied, decided once
	changed bool `snapshot:"-"` // an action ran
}

// Apply takes one event. An error means that it is illegal in the present state; then, and also for
// an ignored event, nothing has changed. The machine has no effects but its new state: the caller
// makes the contact durable.
func (m *Machine) Apply(ev Event) error {
	if incomplete(ev) {
		return &fsm.IllegalError{Machine: table.Name(), State: string(m.C.State), Event: string(ev.Kind)}
	}
	before, aside := Contact{}, m.C.DueOtherwise != nil
	if aside {
		before = m.C
		m.setCallBackAside(ev.At)
	}
	m.fate, m.changed = m.judge(ev), false
	to, err := table.Step(m.C.State, ev.Kind, m, ev)
	m.fate = fateNone
	if aside && !m.changed {
		m.C = before
	}
	if err != nil {
		return err
	}
	m.C.State = to
	if m.changed {
		m.awaitCallBack(ev)
		m.C.UpdatedAt = ev.At
		m.C.Version++
	}
	return nil
}

// incomplete says that an event lacks the data of its kind.
func incomplete(ev Event) bool {
	switch ev.Kind {
	case Reserved, Attempted, ResultStored, CalledUs:
		return ev.Attempt == nil || ev.Attempt.ID == ""
	default: // no other kind is about an attempt
		return false
	}
}
