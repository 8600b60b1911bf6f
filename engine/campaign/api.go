package campaign

import (
	"errors"
	"strings"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/contact"
)

// This file holds the messages between the API and the campaign tree: commands (which may be
// refused, and name their issuer), replies and views. Replies carry JSON tags because a stored
// reply is replayed byte for byte (Idempotency-Key).

// NewContact is one contact to add.
type NewContact struct {
	Number     engine.PhoneNumber
	Alternates contact.Alternates // the person's other numbers
	Variables  map[string]string
	Times      contact.Times
}

// Person is a contact with these numbers.
func (n *NewContact) Person() *contact.Contact {
	return &contact.Contact{Number: n.Number, Alternates: n.Alternates}
}

// Create makes a draft campaign.
type Create struct {
	Settings Settings
	Who      engine.Who
}

// AddContacts adds contacts to a draft that never ran or a running campaign.
type AddContacts struct {
	Campaign engine.CampaignID
	Source   string // api, csv
	Contacts []NewContact
	Who      engine.Who
}

// AddReport counts the rows by result.
type AddReport struct {
	Added      int `json:"added"`
	Duplicates int `json:"duplicates"`
	// Readmitted counts the duplicates that were excluded and can be called again: Sticky Exclusion
	// is off, and they were added on purpose.
	Readmitted int `json:"readmitted"`
	Excluded   int `json:"excluded"`
	Total      int `json:"total"` // contacts of the campaign afterwards
}

// Action is an operator's lifecycle command.
type Action string

const (
	ActionStart         Action = "start"
	ActionPause         Action = "pause"
	ActionResume        Action = "resume"
	ActionStop          Action = "stop"
	ActionRestart       Action = "restart"
	ActionCancelRestart Action = "cancel_restart"
	ActionDelete        Action = "delete"
	ActionEdit          Action = "edit"
)

// Act is an operator's lifecycle command on one campaign.
type Act struct {
	Campaign engine.CampaignID
	Action   Action
	Who      engine.Who
	// Settings, for ActionEdit, are the new settings, made from those of Version.
	Settings *Settings
	Version  int64
	// Unreached, for ActionRestart, prepares only contacts that no call has reached.
	Unreached bool
}

// StatusCallback has the progress of the calls that a request asks for told to an address of its own.
type StatusCallback struct {
	URL   string
	Types []string // the types of messages; empty means all that tell a call's progress
	// Endpoint is the webhook on whose behalf the messages are sent, with its secret.
	Endpoint string
}

// Trigger adds one contact and dials or queues it.
type Trigger struct {
	Campaign    engine.CampaignID
	Number      engine.PhoneNumber
	Alternates  contact.Alternates // the person's other numbers; "" leaves a known contact those it has
	Variables   map[string]string
	Times       contact.Times
	Status      *StatusCallback // nil leaves a known contact the one that it has
	Who         engine.Who
	Idempotency engine.Idempotency
	Deadline    time.Time // after this the command is dropped unexecuted and answered with 503
}

// ReasonNotBefore is why a trigger is only queued: its not_before has not come.
const ReasonNotBefore = "not_before"

// TriggerReply is the body of a successful trigger.
type TriggerReply struct {
	Status         string            `json:"status"` // dialled, queued
	ContactID      engine.ContactID  `json:"contact_id"`
	CampaignID     engine.CampaignID `json:"campaign_id"`
	AttemptID      engine.AttemptID  `json:"attempt_id,omitempty"`
	NextEligibleAt *time.Time        `json:"next_eligible_at,omitempty"`
	Reason         string            `json:"reason,omitempty"`
	// NumberPosition tells, when the number is not the first of the contact that has it, which of them
	// it is: 2 is the second.
	NumberPosition int `json:"number_position,omitempty"`
}

// Exclude suppresses contacts by number or by metadata keys (all must match).
type Exclude struct {
	Campaign    engine.CampaignID
	Number      engine.PhoneNumber // "" when Match is given
	Match       map[string]string  // one or two keys
	Reason      string
	Who         engine.Who
	Idempotency engine.Idempotency
	Deadline    time.Time
}

// ExcludeReply is the body of a successful exclude.
type ExcludeReply struct {
	Matched          int `json:"matched"`
	Excluded         int `json:"excluded"`
	CancelledRinging int `json:"cancelled_ringing"`
	InCall           int `json:"in_call"`
}

// Lift lifts an exclusion: the contacts that it alone kept out can be called again, as if they were
// added again with Sticky Exclusion off.
type Lift struct {
	Campaign engine.CampaignID
	Number   engine.PhoneNumber // "" when Match is given
	Match    map[string]string
	Who      engine.Who
	Deadline time.Time
}

// LiftReply is the body of a successful lift.
type LiftReply struct {
	Readmitted int `json:"readmitted"` // contacts that can be called again
}

// ExclusionsImported is a history entry for a file of numbers, each excluded by an Exclude of its
// own.
type ExclusionsImported struct {
	Campaign engine.CampaignID
	Numbers  int // numbers in the file that were excluded
	Reason   string
	Who      engine.Who
	Deadline time.Time
}

// Dialout places one call outside campaigns: now, or with a Times.NotBefore then.
type Dialout struct {
	Bot       engine.BotID
	To        engine.PhoneNumber
	From      engine.PhoneNumber // "" = choose
	Trunk     engine.TrunkID     // the only trunk that may carry it; "" = any
	Variables map[string]string
	// Times limit when it may be dialled; of those that wait for a seat of a bot the highest priority gets
	// the next one.
	Times contact.Times
	Who   engine.Who
	// DayCap bounds the dialouts of the key within 24 hours, 0 = no cap.
	DayCap int
	// Transfers says to whom the bot may hand the call over; by default to nobody.
	Transfers   attempt.TransferRules
	Status      *StatusCallback // nil for none
	Idempotency engine.Idempotency
	Deadline    time.Time
}

// DialoutReply is the body of a successful dialout.
type DialoutReply struct {
	Status     string           `json:"status"` // ok, scheduled
	CallID     engine.CallID    `json:"call_id"`
	AttemptID  engine.AttemptID `json:"attempt_id"`
	BotID      engine.BotID     `json:"bot_id"`
	ToNumber   string           `json:"to_number"`
	FromNumber string           `json:"from_number"`
	CreatedAt  time.Time        `json:"created_at"`
	// Of a scheduled one:
	NotBefore *time.Time `json:"not_before,omitempty"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
	Priority  *int       `json:"priority,omitempty"`
}

// CancelDialout ends a dialout that waits for its time.
type CancelDialout struct {
	Call engine.CallID
	Who  engine.Who
}

// SubmitResult stores the result of a conversation: an idempotent upsert by call, accepted late.
type SubmitResult struct {
	Call   engine.CallID
	Result attempt.Result
	// Late says that the result was held back since Result.ReceivedAt; it changes nothing that a
	// later one has said.
	Late bool
	// CalledBack says that this is about another call, in which the person of Call called us back: the result
	// is stored with that one, and means for the contact what the result of a conversation means.
	CalledBack *CalledBack
}

// ResultRefused says that a result which is refused with this error will never be stored.
func ResultRefused(err error) bool {
	var e *engine.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code {
	case "call_not_found", "contact_not_found", "campaign_not_found", "person_erased", "write_rejected":
		return true
	}
	return e.Kind == engine.KindInvalid
}

// CalledBack is a call that a contact began by calling back.
type CalledBack struct {
	Attempt engine.AttemptID
	From    engine.PhoneNumber // "" when it is withheld
	Talk    time.Duration      // the whole, of a call that is over
	// News is what is known of a call without a result, "" for a result. The contact is not dialled within
	// AtMost once it begins, and within its campaign's Result Timeout while it owes a result.
	News   contact.Back
	AtMost time.Duration
	// OptedOut says that the person asked by the key of the message not to be called again.
	OptedOut bool
}

// Detail is the campaign page: the stored campaign, counters and what it is
// doing now.
type Detail struct {
	Campaign Campaign
	Draining bool  // completed or failed while calls still live
	Live     *Live // nil when the campaign is not loaded
	Counters Counters
}

// Live is the current activity of a running campaign, from actor state.
type Live struct {
	Dialling   int     `json:"dialling"`
	Ringing    int     `json:"ringing"`
	Waiting    int     `json:"waiting"` // answered, no seat yet
	InProgress int     `json:"in_progress"`
	Seats      int     `json:"seats"`
	FreeSeats  int     `json:"free_seats"`
	Credit     float64 `json:"abandon_credit"`
	CreditHeld int     `json:"abandon_credit_held"` // lines beyond the free workers: each may end in an abandon
	Why
	LastDialAt       *time.Time   `json:"last_dial_at,omitempty"`
	DialsPerSec      *float64     `json:"dials_per_s"`
	ConnectedPerHour *float64     `json:"connected_per_h"`
	AvgRingSeconds   *float64     `json:"avg_ring_s"`
	ETASeconds       *float64     `json:"eta_s"` // whole minutes; nil when it cannot be estimated
	Indicator        Indicator    `json:"indicator"`
	Ledgers          []LedgerView `json:"ledgers"` // of the periods in which the cap is kept: run, day, 30 days
	Rolling          Rolling      `json:"rolling"`
	At               time.Time    `json:"at"`
}

// Page asks for one page of a list.
type Page struct {
	Number int    // from 1
	Size   int    // 1…200
	Filter string // a state, or for contacts one of contact.Filters; "" = all
	// Phone and Callback, for contacts only, select the one with a number, and those that the
	// callbacks panel counts in a state; "" = all.
	Phone    engine.PhoneNumber
	Callback contact.CallbackState
	// Search, for contacts only, selects those with all its words or its number; nil = all.
	Search *contact.Search
	// Only, for the list of campaigns, are those of OnlyOf; "" = all.
	Only string
}

// OnlyOf are identifiers of campaigns as one text, so that pages can be compared; "" for none.
func OnlyOf(ids []engine.CampaignID) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = string(id)
	}
	return strings.Join(texts, ",")
}

// ContactList is one page of a campaign's contacts with their attempts.
type ContactList struct {
	Contacts []ContactView
	Total    int
}

// ContactDetail is one contact and why it is not dialled now.
type ContactDetail struct {
	ContactView
	Explain Explanation
}

// ContactFacts is what only the tables know about why a contact waits.
type ContactFacts struct {
	Suppressed  bool // on the suppression list of the installation
	Excluded    bool // its number was excluded before the contact was added
	Held        bool // another call to its number is not over yet …
	HeldUntil   *time.Time
	AbandonedAt *time.Time // of a call to its number, in any campaign, within 72 h
	// Ahead is how many due contacts are dialled before it, AheadCap at most.
	Ahead int
}

// AheadCap bounds how far ContactFacts.Ahead counts.
const AheadCap = 10_000

// CallsBackMost is how many calls back a contact is shown with: the newest.
const CallsBackMost = 20

// ContactView is a contact with its attempt trail, newest attempt last.
type ContactView struct {
	Contact  contact.Contact
	Attempts []attempt.Attempt
	// CallsBack are the calls that came in and return one of the attempts, newest last, CallsBackMost at most.
	CallsBack []attempt.Attempt
}
