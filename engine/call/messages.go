package call

import (
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// Validity is when a grant may be used, by the boot-time clock: from From on and before By; 0 means
// no bound on that side.
type Validity struct{ From, By engine.BootTime }

// And is when two grants may both be used.
func (v Validity) And(o Validity) Validity {
	return Validity{From: max(v.From, o.From), By: Earliest(v.By, o.By)}
}

// Earliest is the earlier of two bounds; 0 means no bound.
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
	NextAt  *time.Time // when the contact becomes due
}

// Commands from a run to a contact. A contact whose actor is not up receives them, in order, once
// it is.
type (
	// Dial starts an attempt whose leases are held.
	Dial struct {
		Attempt engine.AttemptID
		Trunk   engine.TrunkID
		Media   *engine.MediaProfile // the trunk's
		// To is the number that the run decided on, one of the person's.
		To, From engine.PhoneNumber
		Trigger  *Trigger // the trigger that requested it, or nil
		Reopens  bool     // that trigger's contact is stored and final
		// SendWithin limits how long the INVITE may take to leave: the contact's window may close
		// earlier.
		SendWithin time.Duration
		Validity   Validity // of the leases
		// Carrier is the node that should carry the call; 0 means that it is chosen at that time.
		Carrier engine.Incarnation
		// Eligible says that the eligibility hook agreed, and so does the run. Withdrawn says that
		// the run no longer dials.
		Eligible, Withdrawn bool
	}
	// SeatGranted gives an answered call its seat, and an open socket of the bot, "" if there is
	// none.
	SeatGranted struct {
		Attempt engine.AttemptID
		Socket  engine.SocketID
	}
	// Exclude suppresses the contact; Excluded follows.
	Exclude struct {
		Reason string
		Who    *engine.Who // the operator who excluded this one contact, or nil
		Op     int
	}
	// Reopen merges a trigger into the contact or reopens it; the trigger's reply
	// commits with it.
	Reopen struct{ Trigger *Trigger }
	// Operate requests a dial of the contact, now or at a given time; the request is answered once
	// that is durable or refused.
	Operate struct {
		Command campaign.ActOnContact
		Request engine.Request
	}
	// StoreResult stores a conversation's result.
	StoreResult struct {
		Call   engine.CallID
		Result attempt.Result
		Late   bool // as in campaign.SubmitResult
		// CalledBack: as in campaign.SubmitResult.
		CalledBack *campaign.CalledBack
		Request    engine.Request
		// Attempt is the stored row when it is not the live attempt. Fetched says that the contact
		// has asked for it; Attempt is then nil when there is none, and Err says why.
		Attempt *attempt.Attempt
		// Kept is the contact as the attempt's run left it, if that run is over.
		Kept    *contact.Contact
		Fetched bool
		Err     error
	}
	// ResultTimeout says that a result may be overdue. Restarted ends the wait in any case, because
	// the next run is being prepared.
	ResultTimeout struct{ Restarted bool }
	// Rest ends the wait for a result. A contact that goes on all the same, because it watches the legs of a lost
	// call, answers with Watches.
	Rest struct{}
	// End cancels a call that is not answered; HangUp ends a conversation too.
	// Excluded follows when Op is not 0.
	End struct {
		HangUp bool
		Reason string // of the contact that fails because of it; "" means the outcome's name
		// Number is the one of the person that is suppressed; "" means the contact.
		Number engine.PhoneNumber
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
	// Show asks for the current state of an attempt, which is ahead of its row between durable
	// steps.
	Show struct {
		Contact engine.ContactID
		Attempt engine.AttemptID
		Request engine.Request
	}
	// LegsGone says that the node with the attempt's legs is lost.
	LegsGone struct {
		Contact engine.ContactID
		Attempt engine.AttemptID
	}
	// Taken says that another node has adopted a dialout whose legs are on this one.
	Taken struct{ Attempt engine.AttemptID }
	// RunEnded closes a contact that waits: contact.RunStopped or
	// contact.WindowEnded.
	RunEnded struct{ Kind contact.Kind }
	// Readmit makes an excluded contact callable again. LiftedExclusion says that its exclusion was
	// lifted, sticky or not. Lifted follows when Op is not 0.
	Readmit struct {
		Number          engine.PhoneNumber
		Alternates      contact.Alternates
		Variables       map[string]string
		Times           contact.Times
		LiftedExclusion bool
		Op              int
	}
	// Forget removes personal data, because the person was erased.
	Forget struct{ Tombstone engine.PhoneNumber }
	// Report asks for the contact's state, for a run that counts from scratch; Reported follows.
	Report struct{}
	// Reattached is the run's answer to Reported: it says whether the line has a seat.
	Reattached struct {
		Attempt engine.AttemptID
		Seated  bool
	}
	// Reload says that a bulk write moved all contacts to another run.
	Reload struct{}
	// Stop asks an idle contact to stop; Stopped or NotIdle follows.
	Stop struct{}
)

// Messages from contacts to their run.
type (
	// Up says that the contact takes commands.
	Up struct{ Contact engine.ContactID }
	// Idle says that the contact has nothing to do.
	Idle struct{ Contact engine.ContactID }
	// NotIdle says that something came up; the contact does not stop.
	NotIdle struct{ Contact engine.ContactID }
	// Watches answers Rest: only the legs of a lost call keep the contact, whose row it no longer writes.
	Watches struct{ Contact engine.ContactID }
	// Stopped says that the contact is a row again, namely Row.
	Stopped struct{ Row contact.Contact }
	// LineMoved reports the phase of the contact's line.
	LineMoved struct {
		Contact engine.ContactID
		Attempt engine.AttemptID
		Phase   attempt.Phase
		Cause   engine.AbandonCause
		// BotMissed says that the call was abandoned because the bot did not take it.
		BotMissed bool
		Machine   bool // classified as not a person
		// Tentative says that the call is served, but not to be counted yet; AnswerStands follows.
		Tentative bool
		At        time.Time
	}
	// AnswerStands says that the line's answer is finally a live one.
	AnswerStands struct {
		Contact engine.ContactID
		Attempt engine.AttemptID
	}
	// InviteLeft says that an attempt's first INVITE left.
	InviteLeft struct{ At time.Time }
	// Persist is a write on its way through the run, which numbers its events in the campaign's
	// sequence. Step is the contact's own number for it.
	Persist struct {
		Contact engine.ContactID
		Step    int
		Write   *journal.Write
	}
	// MayDial asks whether the run still dials, since time has passed since its decision. A Dial
	// follows.
	MayDial struct {
		Contact engine.ContactID
		Dial    *Dial
	}
	// Excluded answers Exclude and End: no further INVITE leaves.
	Excluded struct {
		Op                int
		Cancelled, InCall bool
		Excluded          bool // newly excluded
	}
	// Lifted answers Readmit.
	Lifted struct {
		Op         int
		Readmitted bool
	}
	// Stored says that a contact created by a trigger is durable.
	Stored struct{ Number engine.PhoneNumber }
	// Reported answers Report, and is also sent by a restarted contact.
	Reported struct {
		Row     contact.Contact
		Attempt engine.AttemptID // "" if none is live
		To      engine.PhoneNumber
		Phase   attempt.Phase
		Seated  bool
		// Tentative says that the ledgers were read without the answer; Stands that it counts by
		// now.
		Tentative, Stands bool
	}
)
