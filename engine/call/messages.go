package call

import (
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// Validity is when something granted may be used, by the boot-time clock: from one
// moment on and before the other; 0: without that bound.
type Validity struct{ From, By engine.BootTime }

// And is when two grants may be used together.
func (v Validity) And(o Validity) Validity {
	return Validity{From: max(v.From, o.From), By: Earliest(v.By, o.By)}
}

// Earliest is the earlier of two bounds, of which 0 is none.
func Earliest(a, b engine.BootTime) engine.BootTime {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// Trigger carries a trigger through to the write that answers it.
type Trigger struct {
	Command campaign.Trigger
	Request engine.Request
	Reason  string     // why it was queued
	NextAt  *time.Time // when the contact is due
}

// Commands to a contact, from its run. A contact whose actor is not up receives
// them, in order, as soon as it is.
type (
	// Dial starts an attempt whose leases are held.
	Dial struct {
		Attempt engine.AttemptID
		Trunk   engine.TrunkID
		Media   *engine.MediaProfile // the trunk's
		From    engine.PhoneNumber
		Trigger *Trigger // the trigger that asked for it, nil when none did
		Reopens bool     // that trigger is of a contact that is stored and final
		// SendWithin is how long the INVITE may take to leave: the contact's window
		// may close before.
		SendWithin time.Duration
		Validity   Validity // of the leases
		// Carrier is the node that is to carry it, 0: that is chosen then.
		Carrier engine.Incarnation
		// Eligible: the eligibility hook agreed, and so does the run. Withdrawn: the
		// run no longer dials.
		Eligible, Withdrawn bool
	}
	// SeatGranted gives an answered call its seat, and a socket of the bot that stands,
	// "": none does.
	SeatGranted struct {
		Attempt engine.AttemptID
		Socket  engine.SocketID
	}
	// Exclude suppresses the contact; Excluded follows.
	Exclude struct {
		Reason string
		Who    *engine.Who // the operator who excluded this one contact, else nil
		Op     int
	}
	// Reopen merges a trigger into the contact or reopens it; the trigger's reply
	// commits with it.
	Reopen struct{ Trigger *Trigger }
	// Operate has the contact dialled now or at a time; the request is answered once
	// that is durable or refused.
	Operate struct {
		Command campaign.ActOnContact
		Request engine.Request
	}
	// StoreResult stores a conversation's result.
	StoreResult struct {
		Call    engine.CallID
		Result  attempt.Result
		Late    bool // as in campaign.SubmitResult
		Request engine.Request
		// Attempt is the stored row when it is not the live attempt. Fetched: the
		// contact has asked for it; then it is nil when there is none, and Err says
		// why.
		Attempt *attempt.Attempt
		// Kept is the contact as the run of the attempt left it, if that is over.
		Kept    *contact.Contact
		Fetched bool
		Err     error
	}
	// ResultTimeout says that a result may be overdue. Restarted: it is awaited no longer,
	// however long it was, for the next run is prepared.
	ResultTimeout struct{ Restarted bool }
	// Rest ends the wait for a result.
	Rest struct{}
	// End cancels a call that is not answered; HangUp ends a conversation too.
	// Excluded follows when Op is not 0.
	End struct {
		HangUp bool
		Reason string // of the contact that fails by it; "": the outcome's name
		Op     int
	}
	// Keys sends digits to the callee, or ends the call when there are none.
	Keys struct {
		Attempt engine.AttemptID
		Digits  string
		Request engine.Request
	}
	// Transfer hands the callee to another target.
	Transfer struct {
		Attempt engine.AttemptID
		To      string
		Request engine.Request
	}
	// Show asks how an attempt stands: between durable steps it is further than its
	// row.
	Show struct {
		Contact engine.ContactID
		Attempt engine.AttemptID
		Request engine.Request
	}
	// LegsGone: the node that had the attempt's legs is gone.
	LegsGone struct {
		Contact engine.ContactID
		Attempt engine.AttemptID
	}
	// Taken: another node has adopted the legs of a dialout, which are here.
	Taken struct{ Attempt engine.AttemptID }
	// RunEnded closes a contact that waits: contact.RunStopped or
	// contact.WindowEnded.
	RunEnded struct{ Kind contact.Kind }
	// Readmit makes an excluded contact callable again. LiftedExclusion: its exclusion was
	// lifted, sticky or not. Lifted follows when Op is not 0.
	Readmit struct {
		Variables       map[string]string
		LiftedExclusion bool
		Op              int
	}
	// Forget takes out what is personal: the person was erased.
	Forget struct{ Tombstone engine.PhoneNumber }
	// Report asks where the contact stands, for a run that counts anew; Reported
	// follows.
	Report struct{}
	// Reattached is the run's answer to Reported: whether the line has a seat.
	Reattached struct {
		Attempt engine.AttemptID
		Seated  bool
	}
	// Reload: the contacts stepped into another run meanwhile, by a write to all of them.
	Reload struct{}
	// Stop asks an idle contact to stop; Stopped or NotIdle follows.
	Stop struct{}
)

// What a run hears of its contacts.
type (
	// Up: the contact takes commands.
	Up struct{ Contact engine.ContactID }
	// Idle: the contact has nothing to do.
	Idle struct{ Contact engine.ContactID }
	// NotIdle: something came up; the contact does not stop.
	NotIdle struct{ Contact engine.ContactID }
	// Stopped: the contact is a row again, as it says.
	Stopped struct{ Row contact.Contact }
	// LineMoved says where the contact's line stands.
	LineMoved struct {
		Contact engine.ContactID
		Attempt engine.AttemptID
		Phase   attempt.Phase
		Cause   engine.AbandonCause
		// BotMissed: it was abandoned because the bot did not take it.
		BotMissed bool
		Machine   bool // classification took it for no person
		// Tentative: served, but not to be counted yet; AnswerStands follows.
		Tentative bool
		At        time.Time
	}
	// AnswerStands: the line's answer is a live one for good.
	AnswerStands struct {
		Contact engine.ContactID
		Attempt engine.AttemptID
	}
	// InviteLeft: an attempt's first INVITE left.
	InviteLeft struct{ At time.Time }
	// Persist is a write on its way through the run, which gives its events their
	// places in the campaign's sequence. Step is the contact's own number of it.
	Persist struct {
		Contact engine.ContactID
		Step    int
		Write   *journal.Write
	}
	// MayDial asks whether the run still dials: time has passed since it decided to.
	// A Dial follows.
	MayDial struct {
		Contact engine.ContactID
		Dial    *Dial
	}
	// Excluded answers Exclude and End: no INVITE leaves any more.
	Excluded struct {
		Op                int
		Cancelled, InCall bool
		Excluded          bool // it was not excluded before
	}
	// Lifted answers Readmit.
	Lifted struct {
		Op         int
		Readmitted bool
	}
	// Stored: a contact that a trigger made is durable.
	Stored struct{ Number engine.PhoneNumber }
	// Reported answers Report, and comes by itself from a contact that was
	// restarted.
	Reported struct {
		Row     contact.Contact
		Attempt engine.AttemptID // "" when none lives
		Phase   attempt.Phase
		Seated  bool
		// Tentative: the ledgers were read without it. Stands: it counts by now.
		Tentative, Stands bool
	}
)
