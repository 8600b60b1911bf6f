// Package journal defines what becomes durable: a Write is one atomic step of the dialler, rows and
// events together, and a Guard is what the database itself must check before it accepts an intent
// to dial.
//
// Invariants: everything in a Write commits in one transaction or not at all; a Write of a campaign
// carries the fencing epoch of its owner and a stale epoch is refused by the database; events of a
// campaign are ordered by the sequence numbers that its run assigned, never by the order of
// commits.
//
// It must not know: SQL, connections, batching.
package journal

import (
	"encoding/json"
	"fmt"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/frequency"
)

// Type names an event, in the past tense: "<noun>.<verb>".
type Type string

const (
	CampaignCreated          Type = "campaign.created"
	CampaignStarted          Type = "campaign.started"
	CampaignPaused           Type = "campaign.paused"
	CampaignResumed          Type = "campaign.resumed"
	CampaignStopped          Type = "campaign.stopped"
	CampaignCompleted        Type = "campaign.completed"
	CampaignFailed           Type = "campaign.failed"
	CampaignRestarted        Type = "campaign.restarted"
	CampaignRestartCancelled Type = "campaign.restart_cancelled"
	CampaignEdited           Type = "campaign.edited"
	CampaignCloned           Type = "campaign.cloned"   // recorded in the original
	CampaignDeleted          Type = "campaign.deleted"  // of no campaign any more; Reason names it
	SuppressionAdded         Type = "suppression.added" // of no campaign; Count numbers, Reason names a single one, masked
	SuppressionLifted        Type = "suppression.lifted"
	RecordingDeleted         Type = "recording.deleted" // of no campaign; Reason names the attempt
	RecordingsHashed         Type = "recordings.hashed" // of no campaign; Recordings has the hashes
	VoicemailAdded           Type = "voicemail.added"   // of no campaign; Reason names the message
	VoicemailDeleted         Type = "voicemail.deleted"
	VerdictLabelled          Type = "verdict.labelled" // of no campaign; Reason names the attempt
	// RestoreAccepted is of no campaign; Reason is when the database was last in use before its backup.
	RestoreAccepted Type = "restore.accepted"
	PersonErased    Type = "person.erased" // of no campaign; Count rows, and who asked; never the person
	// CallFrequencyChanged is of no campaign; Changes has the rules before and after.
	CallFrequencyChanged Type = "call_frequency.changed"
	UserLocked           Type = "user.locked" // of no campaign; Reason names the user: too many log-ins failed
	UserUnlocked         Type = "user.unlocked"
	ExclusionLifted      Type = "exclusion.lifted"    // Reason names the number, masked, or the keys
	ExclusionsImported   Type = "exclusions.imported" // Count numbers of a file, with the Reason given for it
	ContactsAdded        Type = "contacts.added"
	ImportUndone         Type = "import.undone" // Import names the file, Count contacts went with it
	ContactTriggered     Type = "contact.triggered"
	ContactExcluded      Type = "contact.excluded"
	ContactChanged       Type = "contact.changed"
	ContactExpired       Type = "contact.expired" // its expires_at passed before anybody was reached
	// An operator's actions on one contact; an exclusion names its author as well.
	ContactRetried     Type = "contact.retried"
	ContactCallBackSet Type = "contact.call_back_set"
	// Changes of all contacts of a run: Data.Moves has the details. A run's own count begins with
	// contacts.reset.
	ContactsClosed   Type = "contacts.closed"
	ContactsRetuned  Type = "contacts.retuned"
	ContactsReset    Type = "contacts.reset"
	ContactsRestored Type = "contacts.restored"
	// ContactsTakenBack: contacts of a file went with it; their moves have no After.
	ContactsTakenBack Type = "contacts.taken_back"
	AttemptReserved   Type = "attempt.reserved"
	AttemptRinging    Type = "attempt.ringing" // only if somebody is to be told (attempt.Config.RecordRinging)
	AttemptAnswered   Type = "attempt.answered"
	AttemptConnected  Type = "attempt.connected"
	AttemptRevised    Type = "attempt.revised" // the bot talked to no person; Connected says that it stays counted
	AttemptAbandoned  Type = "attempt.abandoned"
	AttemptOptedOut   Type = "attempt.opted_out" // of an abandoned call: the number was suppressed
	AttemptEnded      Type = "attempt.ended"
	LegAdded          Type = "leg.added"
	LegClosed         Type = "leg.closed"
	ResultStored      Type = "result.stored"
	// Of dialouts that wait for their time. An attempt.ended comes with the end of one that was not dialled.
	DialoutScheduled Type = "dialout.scheduled" // Times has its times
	DialoutCancelled Type = "dialout.cancelled"
	DialoutExpired   Type = "dialout.expired"
)

// Event is one fact of the append-only history.
type Event struct {
	Campaign engine.CampaignID // "" for dialouts
	Seq      int64             // per campaign, assigned by its run; 0 for dialouts
	Run      int
	At       time.Time
	Type     Type
	Version  int // of the payload's shape, from 1
	Contact  engine.ContactID
	Attempt  engine.AttemptID
	Data     Data
}

// Reasons of a ContactChanged: no result came in time, or before the next run was prepared; a redial
// would have come too late.
const (
	ReasonResultTimeout = "result_timeout"
	ReasonRestarted     = "restarted"
	ReasonExpired       = "expired"
	ReasonCalledBack    = "called_back" // the person called us, and that call has a result
)

// Data is the payload of an event, stored as JSON. Only the fields that its
// type needs are set.
type Data struct {
	// Before and After are the counted facts of the contact that the event changed: folding
	// subtracts the former and adds the latter.
	Before *contact.Facts `json:"before,omitempty"`
	After  *contact.Facts `json:"after,omitempty"`
	// Kept says that they belong to the contact as its run left it.
	Kept   bool       `json:"kept,omitempty"`
	Count  int        `json:"count,omitempty"` // contacts.added: how many contacts like After
	Moves  []Move     `json:"moves,omitempty"`
	Reason string     `json:"reason,omitempty"`
	DueAt  *time.Time `json:"due_at,omitempty"`
	// Times are what a contact.triggered, or a dialout.scheduled, said about when its person may be called.
	Times *contact.Times `json:"times,omitempty"`
	// NoResult is the attempt whose result is no longer awaited although none came: from now on its
	// outcome is connected_no_result, unless a result comes late.
	NoResult engine.AttemptID `json:"no_result,omitempty"`

	// Attempt facts.
	Outcome     engine.Outcome      `json:"outcome,omitempty"`
	Cause       engine.AbandonCause `json:"cause,omitempty"`
	Consumed    bool                `json:"consumed,omitempty"`
	Answered    bool                `json:"answered,omitempty"`
	Connected   bool                `json:"connected,omitempty"`
	Pass        int                 `json:"pass,omitempty"`
	Number      int                 `json:"number,omitempty"`
	Trunk       engine.TrunkID      `json:"trunk,omitempty"`
	Leg         engine.LegID        `json:"leg,omitempty"`
	Proof       engine.Proof        `json:"proof,omitempty"` // leg.closed: of the leg's end, "" when there is none
	SIPCode     int                 `json:"sip_code,omitempty"`
	RingMS      int64               `json:"ring_ms,omitempty"`
	TalkMS      int64               `json:"talk_ms,omitempty"`
	Verdict     engine.Verdict      `json:"verdict,omitempty"`
	Inbound     bool                `json:"inbound,omitempty"` // attempt.ended, attempt.abandoned: the person called us
	Disposition string              `json:"disposition,omitempty"`
	// For attempt.ended: when it began, and for a callback how long after its time it was dialled.
	// AwaitsResult says that the outcome is not final; a result.stored or a NoResult follows.
	AwaitsResult    bool       `json:"awaits_result,omitempty"`
	ReservedAt      *time.Time `json:"reserved_at,omitempty"`
	CallbackDelayMS *int64     `json:"callback_delay_ms,omitempty"`

	// Campaign facts.
	Who      *engine.Who        `json:"who,omitempty"`
	Settings *campaign.Settings `json:"settings,omitempty"`
	Changes  []campaign.Change  `json:"changes,omitempty"`   // campaign.edited
	Import   engine.ImportID    `json:"import_id,omitempty"` // contacts.added and taken_back, import.undone
	Campaign engine.CampaignID  `json:"campaign,omitempty"`  // campaign.cloned: the copy; campaign.created: its original
	// Recordings are SHA-256, in hex, of the files of attempts' recordings as they became whole.
	Recordings map[engine.AttemptID]string `json:"recordings,omitempty"`
}

// Move is the same change of a number of contacts.
type Move struct {
	Before *contact.Facts `json:"before,omitempty"`
	After  *contact.Facts `json:"after,omitempty"`
	Count  int            `json:"count"`
}

// Intent is the right to dial one number, durable before the INVITE leaves. The database refuses it
// (ErrNumberHeld, ErrSuppressed, code callee_cap) while another attempt holds the number, the
// number is on the suppression list, or it was called as often as allowed or rests after an erasure.
type Intent struct {
	Attempt engine.AttemptID
	Number  engine.PhoneNumber
	// Bound is when the hold ends if nothing proves the end of the call: by the rules at its
	// beginning, whatever they are when it is lost.
	Bound time.Time
	// Cap limits how often the number is called; nil means no limit.
	Cap *CalleeCap
	// KeyCap limits how many dialouts its API key may place; nil means no limit.
	KeyCap *KeyCap
	// NotAfter is when the INVITE must have left: the write is refused with ErrNotInTime from then on, by
	// the program's clock, so that the dialout goes on waiting, unless it is stored already. Zero means that
	// it is never refused.
	NotAfter time.Time
	// Incoming says that the person called: neither the suppression list nor a limit forbids that.
	Incoming bool
	// Refused is the owner's own reason why the number must not be dialled: the write is refused
	// with it just as with the database's reasons, and in the same order of writes.
	Refused error
}

// KeyCapPeriod is the period of an API key's cap of dialouts.
const KeyCapPeriod = 24 * time.Hour

// KeyCap limits the dialouts of one API key within the KeyCapPeriod that ends now. A dialout counts
// from its beginning, if it was consumed or is live.
type KeyCap struct {
	Key   engine.KeyID
	Calls int
	Now   time.Time
}

// Refusal refuses a dialout beyond the cap; nth is the beginning of the dialout whose expiry allows
// one more.
func (c *KeyCap) Refusal(nth time.Time) error {
	return &engine.Error{Kind: engine.KindTooMany, Code: "key_dialout_cap",
		Detail: fmt.Sprintf("this API key has placed the %d dialouts that it may within 24 hours; "+
			"wait for Retry-After, or let an administrator raise dialouts_per_day", c.Calls),
		RetryAfter: max(nth.Add(KeyCapPeriod).Sub(c.Now), time.Second), Until: nth.Add(KeyCapPeriod)}
}

// CalleeCap limits how often a number is called within periods that end now, over all campaigns and
// the calls outside them (package frequency).
type CalleeCap struct {
	Limits []frequency.Limit
	Now    time.Time
}

// Refusal refuses an intent whose number has reached a limit; nth is when what counts happened
// whose expiry allows one more call.
func (c *CalleeCap) Refusal(l frequency.Limit, nth time.Time) error {
	until := nth.Add(l.Period)
	e := engine.Conflict(engine.CodeCalleeCap, fmt.Sprintf("calls to the number have reached a limit of this "+
		"installation (%s); it may be called again from %s", l, until.UTC().Format(time.RFC3339)))
	e.Until = until
	return e
}

// Rests refuses an intent whose number rests: calls to it count for the limits, and nobody can tell which
// they were since the person who got them was erased.
func Rests(until time.Time) error {
	e := engine.Conflict(engine.CodeCalleeCap, "calls to the number have reached a limit of this installation; it may be "+
		"called again from "+until.UTC().Format(time.RFC3339))
	e.Until = until
	return e
}

// HoldRelease ends the hold of a number: at once (Until zero) when the end of all legs to it is
// proven, otherwise at a given time. The store keeps the duration from now, since its clock may
// differ.
type HoldRelease struct {
	Attempt engine.AttemptID
	Number  engine.PhoneNumber
	Until   time.Time
	// Owed says that nothing has proven the end of the call. The hold ends no earlier than the
	// Bound of its intent, except at SessionEnd.
	Owed bool
	// SessionEnd is when the call is over whatever the rules allowed; zero if unknown.
	SessionEnd time.Time `json:",omitzero"`
}

// Exclusion applies to one campaign; exactly one of Number and Match is set.
type Exclusion struct {
	Campaign  engine.CampaignID
	Number    engine.PhoneNumber
	Match     map[string]string
	Reason    string
	Lifted    bool // by a user, or by a deliberate re-add with Sticky Exclusion off
	CreatedAt time.Time
}

// Reasons of suppressions caused by calls.
const (
	SuppressedByResult = "do_not_call" // a conversation's result
	SuppressedByOptOut = "opt_out"     // a key pressed in the information message
)

// Suppression puts a number on the list of the whole installation.
type Suppression struct {
	Number    engine.PhoneNumber
	Reason    string // do_not_call, opt_out, import
	CreatedAt time.Time
}

// StatusCallback is an address that is told of one contact's calls, or of one dialout.
type StatusCallback struct {
	Subject string // the contact, or the attempt of the dialout
	campaign.StatusCallback
	At time.Time
}

// StatusOf returns what is stored of a request's status callback, nil without one.
func StatusOf(subject string, s *campaign.StatusCallback, at time.Time) *StatusCallback {
	if s == nil {
		return nil
	}
	return &StatusCallback{Subject: subject, StatusCallback: *s, At: at}
}

// Reply is the stored answer to a request with an Idempotency-Key.
type Reply struct {
	engine.Idempotency
	Status int
	Body   []byte // JSON
	At     time.Time
}

// StoredReply is the stored form of the answer to a request with an Idempotency-Key.
func StoredReply(i engine.Idempotency, status int, body any, at time.Time) *Reply {
	b, err := json.Marshal(body)
	if err != nil {
		return nil // replies are plain structs and can be marshalled
	}
	return &Reply{Idempotency: i, Status: status, Body: b, At: at}
}

// Write is one atomic step. Rows are upserts of the whole row by their id.
type Write struct {
	Campaign engine.CampaignID // whose epoch is checked; "" = none
	Epoch    int64

	Intent       *Intent
	Events       []Event
	CampaignRow  *campaign.Campaign
	Contacts     []contact.Contact
	Kept         []contact.Contact // as an earlier run left them: a late result changes them
	Attempts     []attempt.Attempt
	Holds        []HoldRelease
	Exclusions   []Exclusion
	Suppressions []Suppression
	Reply        *Reply
	Bulk         *Bulk
	Retune       *Retune

	// Schedule stores a dialout that waits for its time; it is refused (code too_many_scheduled) beyond
	// campaign.ScheduledCap.
	Schedule *campaign.ScheduledDialout
	// ScheduleBy is when the request for it has been answered: Schedule is refused with ErrNotInTime from then
	// on, by the program's clock, unless it is stored already. Zero means never.
	ScheduleBy time.Time
	// Unschedule says that the first of Attempts is a scheduled dialout that this write places or ends.
	// The write is refused (ErrNotScheduled) if it does not wait any more, so that only one of them is
	// accepted, whichever nodes write them.
	Unschedule bool

	// Status has the calls of a contact, or a dialout, told to an address; it takes the place of an earlier one.
	Status *StatusCallback

	// Fresh says that the first of Contacts is new. The write is refused if its numbers are all on the
	// suppression list (ErrSuppressed) or its campaign has another contact with it
	// (ErrContactExists).
	Fresh bool
}

// Bulk closes the contacts of a campaign's present run that wait for a dial:
// pending, unanswered, to be redialled or called back, and without a live
// attempt. Its event is a contacts.closed.
type Bulk struct {
	To contact.State
	Sweep
}

// Retune gives the open contacts of a campaign's current run without a live attempt a new Max
// Attempts, and ends those that have used them. Its event is a contacts.retuned.
type Retune struct {
	MaxAttempts int
	Sweep
}

// Sweep is a change of all contacts at rest: what a contact's machine would do to each.
type Sweep struct {
	At time.Time
	// Except are contacts with an actor, which makes the change itself.
	Except []engine.ContactID
	// Limit is the maximum number changed, 0 for all. If as many were moved, there may be more.
	Limit int
	// Event is at the time At; the store fills in its moves. A sweep whose event is already stored
	// changes nothing.
	Event Event
}

// Reasons why the database refused a Write. The rest of the group is unaffected.
var (
	ErrNumberHeld = engine.Conflict("number_held", "")
	ErrSuppressed = engine.Conflict("suppressed",
		"the number is on the suppression list of this installation and is not dialled")
	ErrStaleEpoch  = engine.Conflict("stale_epoch", "")
	ErrReplyExists = engine.Conflict("idempotency_in_progress", "a request with this Idempotency-Key was already answered")

	ErrContactExists = engine.Conflict("contact_exists", "")

	ErrNotScheduled = engine.Conflict(engine.CodeDialoutPlaced, "")
	ErrNotInTime    = engine.Unavailable("deadline_passed", "", time.Second)
	// ErrScheduledFull refuses one dialout too many.
	ErrScheduledFull = &engine.Error{Kind: engine.KindTooMany, Code: "too_many_scheduled",
		Detail: fmt.Sprintf("%d dialouts wait for their time, which is as many as may; cancel some, send this one later, or "+
			"use the trigger of an always-on campaign, which may have any number", campaign.ScheduledCap),
		RetryAfter: time.Minute}
)
