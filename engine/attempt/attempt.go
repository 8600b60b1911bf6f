package attempt

import (
	"slices"
	"time"

	"dialler/engine"
)

// State is the state of an attempt, equal to what is stored and shown.
type State string

const (
	// Scheduled is a dialout that waits for its time: it has no attempt yet, and no machine is ever in
	// this state.
	Scheduled State = "scheduled"

	Reserved  State = "reserved"  // leases held, intent not yet durable or INVITE not yet sent
	Dialling  State = "dialling"  // an INVITE left
	Ringing   State = "ringing"   // an 18x came
	Answered  State = "answered"  // 200 OK; ACK owed or just sent; waiting for a seat
	Screening State = "screening" // answer classification listens
	Bridging  State = "bridging"  // the bot's path is being opened
	Connected State = "connected" // the bot has the call, which counts as a live answer
	Ended     State = "ended"
)

// States lists every state of a machine, in order.
var States = []State{Reserved, Dialling, Ringing, Answered, Screening, Bridging, Connected, Ended}

// ShownStates lists every state in which calls are shown, in order.
var ShownStates = append([]State{Scheduled}, States...)

// Leg is one INVITE of an attempt.
type Leg struct {
	ID        engine.LegID
	Trunk     engine.TrunkID
	SentAt    *time.Time
	TryingAt  *time.Time   // first response of the leg
	EndedAt   *time.Time   // final answer or close; nil while it may still be ringing
	Proof     engine.Proof // of its end; Unproven while it may still be live
	SIPCode   int
	SIPReason string
	Q850      int
	Dialog    *engine.DialogState // stored with the answer, before the ACK
	Seq       int                 // last leg event applied
}

// Attempt is one dial of a contact: the exported state of the machine, stored as one row, with one
// row per leg.
type Attempt struct {
	ID        engine.AttemptID
	Campaign  engine.CampaignID // "" for a dialout
	Contact   engine.ContactID  // "" for a dialout
	Run       int
	Pass      int
	Number    int // of the attempt within the run, 0 while it is not consumed
	Bot       engine.BotID
	To        engine.PhoneNumber
	From      engine.PhoneNumber
	Trunk     engine.TrunkID // of the last leg
	Variables map[string]string
	Callback  bool // placed for a callback
	// Inbound says that the person called us: To is the caller, From our number. It never counts as an
	// attempt. Returns is the attempt that the person calls back, "" when none is known.
	Inbound bool
	Returns engine.AttemptID
	// Key is the API key that placed a dialout, "" when none did.
	Key engine.KeyID
	// CallbackAt is when that callback was due.
	CallbackAt *time.Time
	Epoch      int64
	// Node has its legs and audio; 0 means a process outside any cluster.
	Node        engine.Incarnation
	SendBy      time.Time // wall-clock reading of the send-by time
	ResultToken string    // SHA-256 hex of the per-call bearer token

	State State
	// Consumed means that the attempt counts against Max Attempts. It is decided leg by leg, by
	// what ended each; an open leg has no influence yet.
	Consumed  bool
	Outcome   engine.Outcome
	Cause     engine.AbandonCause
	HungUpBy  engine.Party
	SIPCode   int
	SIPReason string
	Q850      int
	Friendly  string
	// Attestation is the network's attestation of our caller ID (STIR/SHAKEN), verbatim; "" when
	// there was none.
	Attestation string
	// RetryAfter is the minimum wait that the network asked for (Retry-After).
	RetryAfter time.Duration

	Verdict engine.Verdict
	// RevisedFrom is the previous verdict, if a later beep or the bot revised it.
	RevisedFrom engine.Verdict
	Confidence  float64
	AMDTook     time.Duration
	Features    map[string]float64
	MediaSeq    int // last media event applied

	Session engine.SessionID
	// VariablesLeftOut counts the variables not passed to a bot by SIP because they were too long
	// for a header or exceeded the number of headers.
	VariablesLeftOut int

	ReservedAt, InviteAt, TryingAt, RingingAt, AnsweredAt, VerdictAt *time.Time
	// GreetingEndAt is when the greeting ended: the 2 s of sequential classification count from here.
	GreetingEndAt *time.Time
	// ServedAt is when it became a live answer served: state connected.
	ServedAt                                 *time.Time
	BotConnectedAt, BotFirstAudioAt, EndedAt *time.Time
	// RevisableUntil is until when a beep could take the live answer back; nil means never. The
	// abandon rate counts the answer from then on, or from the end of the call.
	RevisableUntil *time.Time
	// VoicemailLeftAt is when the message had been left on an answering machine.
	VoicemailLeftAt *time.Time

	Quality *engine.MediaQuality

	// Ending is the decision that ends the attempt while its leg is not over yet: CANCEL or BYE is
	// outstanding, or the information message plays.
	Ending *Ending
	// BotUp means that the bot's socket is open (meaningful while screening).
	BotUp bool
	// Seated means that a seat is held.
	Seated bool

	// Result is the result of the conversation, if any.
	Result *Result
	// AwaitsResult means that its contact still waits for the result, so that Outcome is not final.
	// It comes from the contact's row; it is shown with the attempt, but never stored with it.
	AwaitsResult bool `json:"awaits_result,omitempty"`
	// Waits is set in the state Scheduled: for what the dialout waits. It is shown with the attempt, but
	// never stored with it.
	Waits *Waits `json:"waits,omitempty"`

	Legs []Leg
	// Peers are the far legs of an answered call: that of a bot reached by SIP, and those of
	// transfers. Their numbers continue those of the legs.
	Peers []Peer
	// Transfer is the latest transfer requested.
	Transfer *Transfer
}

// Waits is for what a scheduled dialout waits.
type Waits struct {
	NotBefore time.Time `json:"not_before"`
	ExpiresAt time.Time `json:"expires_at"`
	Priority  int       `json:"priority"`
	// Reason is the code of why it could not be dialled when it was last tried, "" if it was not.
	Reason string `json:"reason,omitempty"`
}

// FinalOutcome is the outcome once it is final, otherwise nil.
func (a *Attempt) FinalOutcome() *engine.Outcome {
	if a.Outcome == "" || a.AwaitsResult {
		return nil
	}
	return &a.Outcome
}

// Live says whether the attempt has not ended.
func (a *Attempt) Live() bool { return a != nil && a.State != Ended }

// Ending is a decided end: the outcome of the attempt once its leg is over.
type Ending struct {
	Outcome  engine.Outcome      `json:"outcome"`
	Cause    engine.AbandonCause `json:"cause,omitempty"`
	HungUpBy engine.Party        `json:"hung_up_by,omitempty"`
	At       time.Time           `json:"at"`
	// OptedOut means that the key of the information message was pressed.
	OptedOut bool `json:"opted_out,omitempty"`
	// Voicemail means that a message is being left before the call ends.
	Voicemail bool `json:"voicemail,omitempty"`
	// Playing means that a message is being played to a caller before the call ends.
	Playing bool `json:"playing,omitempty"`
}

// OpenLeg says whether a leg may still ring or be answered: that of a lost attempt, which ended
// before its legs were over, or the bot's of one that just ended.
func (a *Attempt) OpenLeg() bool { return a.OpenCallee() || a.OpenPeers() > 0 }

// OpenCallee says whether one of its legs to the callee may still be there, Open whether this
// one may.
func (a *Attempt) OpenCallee() bool {
	return slices.ContainsFunc(a.Legs, func(l Leg) bool { return l.EndedAt == nil })
}

func (a *Attempt) Open(leg engine.LegID) bool {
	return slices.ContainsFunc(a.Legs, func(l Leg) bool { return l.ID == leg && l.EndedAt == nil })
}

// Result is what a bot or a post-call analysis reports of a conversation.
type Result struct {
	Disposition    string            `json:"disposition,omitempty"`
	SubDisposition string            `json:"sub_disposition,omitempty"`
	Summary        string            `json:"summary,omitempty"`
	Callback       *Callback         `json:"callback,omitempty"`
	Variables      map[string]string `json:"variables,omitempty"`
	DoNotCall      bool              `json:"do_not_call,omitempty"`
	TranscriptURL  string            `json:"transcript_url,omitempty"`
	RecordingURL   string            `json:"recording_url,omitempty"`
	// Unknown are the result's fields that are none of the above: a bot's mistake or addition must
	// not lose the rest.
	Unknown    map[string]string `json:"unknown_fields,omitempty"`
	ReceivedAt time.Time         `json:"received_at"`
	// Revision counts the results of the call that this one replaced, so that a
	// repeated result is not counted as another conversation with a result.
	Revision int `json:"revision,omitempty"`
	// Wished means that a replaced result asked for a callback, so that the same request is not
	// counted again.
	Wished bool `json:"wished,omitempty"`
}

// wishes says whether the result asks for a callback.
func (r *Result) wishes() bool { return r.Callback != nil && r.Callback.Requested }

// After returns the effect of a result that is stored late, when the call has r already: a result
// from before r, or r itself repeated, has none. A do-not-call request counts whenever it was made.
func (r *Result) After(late *Result) (left Result, changes bool) {
	switch {
	case r == nil || late.ReceivedAt.After(r.ReceivedAt):
		return *late, true
	case late.DoNotCall && !r.DoNotCall:
		left = *r
		left.DoNotCall = true
		return left, true
	}
	return *r, false
}

// Callback is a request to be called back.
type Callback struct {
	Requested bool       `json:"requested"`
	At        *time.Time `json:"at,omitempty"`
	Reason    string     `json:"reason,omitempty"`
}

// CountsResult says whether the latest result makes the attempt a conversation with a result: it
// must be the first of a connected call.
func (a *Attempt) CountsResult() bool {
	return a.ServedAt != nil && a.Result != nil && a.Result.Revision == 0
}

// RangUnanswered says whether a phone rang and nobody answered the call; a 200 that crossed our
// CANCEL does not count as an answer.
func (a *Attempt) RangUnanswered() bool { return a.RingingAt != nil && a.AnsweredAt == nil }

// WasConnected says whether the bot had the call as a live answer.
func (a *Attempt) WasConnected() bool { return a.ServedAt != nil }

// OptedOut says whether the key was pressed that asks for no more calls.
func (a *Attempt) OptedOut() bool { return a.Ending != nil && a.Ending.OptedOut }

// Concerns says whether what was said in a call back concerns the contact: its bot had a conversation that has a
// result, or the caller asked by the key not to be called.
func (a *Attempt) Concerns() bool {
	return a.Result != nil && a.ServedAt != nil && a.Bot != "" || a.OptedOut()
}

// Talk is the length of the conversation, from the bot's connection to the end.
func (a *Attempt) Talk() time.Duration {
	if a.ServedAt == nil || a.BotConnectedAt == nil || a.EndedAt == nil {
		return 0
	}
	return max(0, a.EndedAt.Sub(*a.BotConnectedAt))
}

// Ring is the time from the INVITE to the answer, or to the end of ringing.
func (a *Attempt) Ring() time.Duration {
	end := a.AnsweredAt
	if end == nil {
		end = a.EndedAt
	}
	if a.InviteAt == nil || end == nil {
		return 0
	}
	return max(0, end.Sub(*a.InviteAt))
}

// TalkMS is Talk in whole milliseconds, computed from the times as stored in the database, so that
// sums over its rows agree.
func (a *Attempt) TalkMS() int64 {
	if a.ServedAt == nil || a.BotConnectedAt == nil || a.EndedAt == nil {
		return 0
	}
	return storedMS(*a.BotConnectedAt, *a.EndedAt)
}

// CallbackDelayMS is how long after the time of its callback the attempt was dialled; ok is false
// for an attempt that was not placed for a callback.
func (a *Attempt) CallbackDelayMS() (ms int64, ok bool) {
	at := a.InviteAt
	if at == nil {
		at = a.ReservedAt
	}
	if a.CallbackAt == nil || at == nil {
		return 0, false
	}
	return storedMS(*a.CallbackAt, *at), true
}

// storedMS rounds as the database does, which stores microseconds and no monotonic clock.
func storedMS(from, to time.Time) int64 {
	return max(0, to.Truncate(time.Microsecond).Sub(from.Truncate(time.Microsecond))).Milliseconds()
}
