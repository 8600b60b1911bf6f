package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	core "dialler/engine/run"
)

// Messages from the run to a contact.
type (
	// dial starts an attempt whose leases are held.
	dial struct {
		Attempt  engine.AttemptID
		Trunk    engine.TrunkID
		Media    *engine.MediaProfile // the trunk's
		From     engine.PhoneNumber
		Callback bool
		Trigger  *triggerContext // the trigger that asked for it, if any
		// SendWithin is how long the INVITE may take to leave: its contact's window
		// may close before.
		SendWithin time.Duration
		Use        use // when what was granted for it may be used
		// Eligible: whoever is asked before a dial agreed, and so does the run.
		// Withdrawn: the run does not any more.
		Eligible, Withdrawn bool
	}
	seatGranted struct{ Attempt engine.AttemptID }
	// excludeContact suppresses the contact; excludeDone follows.
	excludeContact struct {
		Reason  string
		Who     *engine.Who // the operator who excluded this one contact, else nil
		ReplyTo *actor.PID
		Op      int
	}
	excludeDone struct {
		Op                int
		Cancelled, InCall bool
		Excluded          bool
	}
	// triggerContact merges into or reopens the contact; the trigger's reply
	// commits with it.
	triggerContact struct{ Trigger *triggerContext }
	// actOnContact has the contact dialled now, or at a time; ReplyTo hears once it
	// is durable, or why it is refused.
	actOnContact struct {
		cmd     campaign.ActOnContact
		ReplyTo *actor.PID
	}
	// storeResult stores a conversation's result; Attempt is the stored row
	// when it is not the live one.
	storeResult struct {
		Attempt *attempt.Attempt
		Call    engine.CallID
		Result  attempt.Result
		ReplyTo *actor.PID
		fetched bool // Attempt (nil when there is none), err: read by the contact itself
		err     error
	}
	resultTimeout struct{}
	// rest ends the wait for a result: the actor's own timer, or a run whose
	// contacts are about to change as a whole.
	rest struct{}
	// endAttempt: Stop and a suppression cancel ringing legs, and it hangs up too
	// when HangUp. excludeDone follows if there is a ReplyTo.
	endAttempt struct {
		HangUp  bool
		Reason  string // of the contact that is failed by it, "" = the outcome's name
		ReplyTo *actor.PID
		Op      int
	}
	// tellCall sends keys to the callee of a call, or ends it.
	tellCall struct {
		Attempt engine.AttemptID
		Digits  string // "": hang up
		ReplyTo *actor.PID
	}
	// liveAttempt asks for an attempt as it stands: between durable steps it is
	// further than its row.
	liveAttempt struct {
		Contact engine.ContactID
		Attempt engine.AttemptID
		ReplyTo *actor.PID
	}
	// report asks where the contact stands, for a run that counts anew.
	report struct{ ReplyTo *actor.PID }
	// stopNow asks an idle contact to stop; stopped or notIdle follows.
	stopNow struct{}
	// crash is a fault injected by tests: at once, with every lease that is given
	// back, or with what brings a writer's next result, at the onResult-th place of
	// its handling.
	crash struct {
		onRelease bool
		onResult  int
	}
)

// Messages from a contact to its run.
type (
	contactUp struct {
		ID  engine.ContactID
		PID *actor.PID
	}
	// lineMoved tells where the contact's line stands.
	lineMoved struct {
		Contact engine.ContactID
		Attempt engine.AttemptID
		Phase   attempt.Phase
		Cause   engine.AbandonCause
		Machine bool // classification took it for no person
		// Tentative: served, but not to be counted yet; answerStands follows.
		Tentative bool
		At        time.Time
	}
	// answerStands: the line's answer is a live one for good.
	answerStands struct {
		Contact engine.ContactID
		Attempt engine.AttemptID
	}
	// inviteLeft: an attempt's first INVITE left.
	inviteLeft struct{ At time.Time }
	// persistFor is a write on its way through the run, which gives its events
	// their sequence.
	persistFor struct {
		Contact engine.ContactID
		persist
	}
	contactIdle struct {
		ID  engine.ContactID
		PID *actor.PID
	}
	contactStopped struct {
		Row contact.Contact
		PID *actor.PID
	}
	contactNotIdle struct{ ID engine.ContactID }
	contactReport  struct {
		PID     *actor.PID
		Row     contact.Contact
		Attempt engine.AttemptID // "" when none lives
		Phase   attempt.Phase
		Seated  bool
		// Tentative: the ledgers were read without it; Stands: it counts by now.
		Tentative, Stands bool
	}
	// reattached is the run's word on a line that was reported: its seat.
	reattached struct {
		Attempt engine.AttemptID
		Seated  bool
	}
)

type (
	// readmitContact makes an excluded contact callable again. Lifted: its
	// exclusion was, sticky or not; liftDone follows.
	readmitContact struct {
		Variables map[string]string
		Lifted    bool
		ReplyTo   *actor.PID
		Op        int
	}
	liftDone struct {
		Op         int
		Readmitted bool
	}
	contactStored struct{ number engine.PhoneNumber }
)

var errContactExcluded = core.ErrContactExcluded
