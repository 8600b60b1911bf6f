// Package journal says what becomes durable: a Write is one atomic step of
// the dialler, rows and events together, and a Guard is what the database
// itself must check before it accepts an intent to dial.
//
// Invariants: everything in a Write commits in one transaction or not at all;
// a Write of a campaign carries the fencing epoch of its owner and a stale
// epoch is refused by the database; events of a campaign are ordered by the
// sequence that its run gave them, never by the order of commits.
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
)

// Type names an event; past tense, "<noun>.<verb>".
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
	CampaignCloned           Type = "campaign.cloned"   // recorded in the one that was copied
	CampaignDeleted          Type = "campaign.deleted"  // of no campaign any more; Reason names it
	SuppressionAdded         Type = "suppression.added" // of no campaign; Count numbers, Reason names a single one, masked
	SuppressionLifted        Type = "suppression.lifted"
	RecordingDeleted         Type = "recording.deleted" // of no campaign; Reason names the attempt
	VoicemailAdded           Type = "voicemail.added"   // of no campaign; Reason names the message
	VoicemailDeleted         Type = "voicemail.deleted"
	VerdictLabelled          Type = "verdict.labelled" // of no campaign; Reason names the attempt
	RestoreAccepted          Type = "restore.accepted" // of no campaign; Reason is when the database was last in use before its backup
	PersonErased             Type = "person.erased"    // of no campaign; Count rows, and who asked; never whom
	UserLocked               Type = "user.locked"      // of no campaign; Reason names the user: too many log-ins failed
	UserUnlocked             Type = "user.unlocked"
	ExclusionLifted          Type = "exclusion.lifted"    // Reason names the number, masked, or the keys
	ExclusionsImported       Type = "exclusions.imported" // Count numbers of a file, and the Reason given with it
	ContactsAdded            Type = "contacts.added"
	ContactTriggered         Type = "contact.triggered"
	ContactExcluded          Type = "contact.excluded"
	ContactChanged           Type = "contact.changed"
	// What an operator did to one contact; an exclusion names who it was as well.
	ContactRetried     Type = "contact.retried"
	ContactCallBackSet Type = "contact.call_back_set"
	// The contacts of a run as a whole: Data.Moves says what became of them. A
	// run's own count begins with contacts.reset.
	ContactsClosed   Type = "contacts.closed"
	ContactsRetuned  Type = "contacts.retuned"
	ContactsReset    Type = "contacts.reset"
	ContactsRestored Type = "contacts.restored"
	AttemptReserved  Type = "attempt.reserved"
	AttemptAnswered  Type = "attempt.answered"
	AttemptConnected Type = "attempt.connected"
	AttemptRevised   Type = "attempt.revised" // the bot talked to no person; Connected: it stays counted
	AttemptAbandoned Type = "attempt.abandoned"
	AttemptOptedOut  Type = "attempt.opted_out" // of an abandoned one: the number was suppressed
	AttemptEnded     Type = "attempt.ended"
	LegAdded         Type = "leg.added"
	LegClosed        Type = "leg.closed"
	ResultStored     Type = "result.stored"
)

// Event is one fact of the append-only history.
type Event struct {
	Campaign engine.CampaignID // "" for dialouts
	Seq      int64             // per campaign, given by its run; 0 for dialouts
	Run      int
	At       time.Time
	Type     Type
	Version  int // of the payload's shape, from 1
	Contact  engine.ContactID
	Attempt  engine.AttemptID
	Data     Data
}

// Reasons of a ContactChanged: no result came in time, or before the next run was prepared.
const (
	ReasonResultTimeout = "result_timeout"
	ReasonRestarted     = "restarted"
)

// Data is the payload of an event, stored as JSON. Only the fields that its
// type needs are set.
type Data struct {
	// Before and After are what counters need of the contact that the event
	// changed: folding subtracts the one and adds the other.
	Before *contact.Facts `json:"before,omitempty"`
	After  *contact.Facts `json:"after,omitempty"`
	// Kept: they are those of the contact as its run left it.
	Kept   bool       `json:"kept,omitempty"`
	Count  int        `json:"count,omitempty"` // contacts.added: how many like After
	Moves  []Move     `json:"moves,omitempty"`
	Reason string     `json:"reason,omitempty"`
	DueAt  *time.Time `json:"due_at,omitempty"`
	// NoResult is the attempt whose result is awaited no longer though none came: from
	// now on its outcome is connected_no_result, unless one comes late.
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
	Disposition string              `json:"disposition,omitempty"`
	// Of attempt.ended: when it was begun, and of a callback how long after its
	// time it was dialled.
	// AwaitsResult: the outcome is not final, a result.stored or a NoResult tells it.
	AwaitsResult    bool       `json:"awaits_result,omitempty"`
	ReservedAt      *time.Time `json:"reserved_at,omitempty"`
	CallbackDelayMS *int64     `json:"callback_delay_ms,omitempty"`

	// Campaign facts.
	Who      *engine.Who        `json:"who,omitempty"`
	Settings *campaign.Settings `json:"settings,omitempty"`
	Changes  []campaign.Change  `json:"changes,omitempty"`   // campaign.edited
	Import   engine.ImportID    `json:"import_id,omitempty"` // contacts.added: of a file
	Campaign engine.CampaignID  `json:"campaign,omitempty"`  // campaign.cloned: the copy; campaign.created: what it is a copy of
}

// Move is what happened to a number of contacts of the same kind.
type Move struct {
	Before *contact.Facts `json:"before,omitempty"`
	After  *contact.Facts `json:"after,omitempty"`
	Count  int            `json:"count"`
}

// Intent is the right to dial one number, durable before the INVITE leaves.
// The database refuses it (ErrNumberHeld, ErrSuppressed, code callee_cap) while
// another attempt holds the number, the number is on the suppression list, or it
// was called as often as is allowed.
type Intent struct {
	Attempt engine.AttemptID
	Number  engine.PhoneNumber
	// Bound is when the hold ends if nothing proves the end of the call: by the
	// rules with which it is begun, whatever they are when it is lost.
	Bound time.Time
	// Cap bounds how often the number is called, nil: as often as may be.
	Cap *CalleeCap
	// KeyCap bounds how many dialouts its API key places, nil: as many as it likes.
	KeyCap *KeyCap
	// Refused is why its owner knows that the number must not be dialled: the
	// write is refused with it, as with the database's own reasons and in their
	// place in the order of writes.
	Refused error
}

// KeyCapPeriod is over what an API key's cap of dialouts counts.
const KeyCapPeriod = 24 * time.Hour

// KeyCap bounds the dialouts of one API key within the KeyCapPeriod that ends
// now. A dialout counts from its beginning, when it was consumed or lives.
type KeyCap struct {
	Key   engine.KeyID
	Calls int
	Now   time.Time
}

// Refusal refuses a dialout beyond the cap; nth is when the one began with whose
// end of period one more is allowed.
func (c *KeyCap) Refusal(nth time.Time) error {
	return &engine.Error{Kind: engine.KindTooMany, Code: "key_dialout_cap",
		Detail:     fmt.Sprintf("this API key has placed the %d dialouts that it may within 24 hours; wait for Retry-After, or let an administrator raise dialouts_per_day", c.Calls),
		RetryAfter: max(nth.Add(KeyCapPeriod).Sub(c.Now), time.Second), Until: nth.Add(KeyCapPeriod)}
}

// CalleeCap bounds the attempts to one number within a period that ends now,
// over all campaigns and the calls outside them. An attempt counts from its
// beginning, when it was consumed or lives.
type CalleeCap struct {
	Attempts int
	Period   time.Duration
	Now      time.Time
}

// Refusal is what refuses an intent whose number was called as often as
// allowed; nth is when the attempt began with whose end of period one more is
// allowed.
func (c *CalleeCap) Refusal(nth time.Time) error {
	until := nth.Add(c.Period)
	e := engine.Conflict(engine.CodeCalleeCap, fmt.Sprintf("the number was called %d times within %s, which is the most that this installation allows (--callee-cap); it may be called again from %s",
		c.Attempts, c.Period, until.UTC().Format(time.RFC3339)))
	e.Until = until
	return e
}

// HoldRelease ends the hold of a number: at once (Until zero) when the end of all
// legs to it is proven, else at a time. The store keeps how long that is from now:
// its clock may be another.
type HoldRelease struct {
	Attempt engine.AttemptID
	Number  engine.PhoneNumber
	Until   time.Time
	// Owed: nothing has proven the end of the call. The hold ends no earlier than
	// the Bound of its intent, but at SessionEnd.
	Owed bool
	// SessionEnd is when the call is over whatever the rules allowed, zero: not known.
	SessionEnd time.Time `json:",omitzero"`
}

// Exclusion binds one campaign; exactly one of Number and Match is set.
type Exclusion struct {
	Campaign  engine.CampaignID
	Number    engine.PhoneNumber
	Match     map[string]string
	Reason    string
	Lifted    bool // by somebody, or by a deliberate re-add with Sticky Exclusion off
	CreatedAt time.Time
}

// Reasons of suppressions that calls bring about.
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

// Reply is the stored answer to a request with an Idempotency-Key.
type Reply struct {
	engine.Idempotency
	Status int
	Body   []byte // JSON
	At     time.Time
}

// StoredReply is the answer of a request with an Idempotency-Key as it is kept.
func StoredReply(i engine.Idempotency, status int, body any, at time.Time) *Reply {
	b, err := json.Marshal(body)
	if err != nil {
		return nil // replies are plain structs; they marshal
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
	Kept         []contact.Contact // as a run before the present one left them: a late result changes them
	Attempts     []attempt.Attempt
	Holds        []HoldRelease
	Exclusions   []Exclusion
	Suppressions []Suppression
	Reply        *Reply
	Bulk         *Bulk
	Retune       *Retune

	// Fresh: the first of Contacts is new. The write is refused when its number is
	// on the suppression list (ErrSuppressed) or its campaign has another contact
	// with it (ErrContactExists).
	Fresh bool
}

// Bulk closes the contacts of a campaign's present run that wait for a dial:
// pending, unanswered, to be redialled or called back, and without a live
// attempt. Its event is a contacts.closed.
type Bulk struct {
	To contact.State
	Sweep
}

// Retune gives the open contacts of a campaign's present run without a live
// attempt another Max Attempts, and ends those that have had as many. Its event
// is a contacts.retuned.
type Retune struct {
	MaxAttempts int
	Sweep
}

// Sweep is a change of all contacts at rest: what the machine of a contact
// would do to each.
type Sweep struct {
	At time.Time
	// Except have an actor, which makes the change itself.
	Except []engine.ContactID
	// Limit is how many are changed at most, 0: all. As many moves mean that
	// there may be more to change.
	Limit int
	// Event is of the time At; its moves are filled in by the store. A sweep
	// whose event is stored already changes nothing.
	Event Event
}

// Why the database refused a Write. The rest of the group is unaffected.
var (
	ErrNumberHeld  = engine.Conflict("number_held", "")
	ErrSuppressed  = engine.Conflict("suppressed", "the number is on the suppression list of this installation and is not dialled")
	ErrStaleEpoch  = engine.Conflict("stale_epoch", "")
	ErrReplyExists = engine.Conflict("idempotency_in_progress", "a request with this Idempotency-Key was already answered")

	ErrContactExists = engine.Conflict("contact_exists", "")
)
