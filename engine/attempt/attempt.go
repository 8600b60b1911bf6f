package attempt

import (
	"slices"
	"time"

	"dialler/engine"
)

// State of an attempt, equal to what is stored and shown.
type State string

const (
	Reserved  State = "reserved"  // leases held, intent not yet durable or INVITE not yet out
	Dialling  State = "dialling"  // an INVITE left
	Ringing   State = "ringing"   // an 18x came
	Answered  State = "answered"  // 200 OK; ACK owed or just sent; waiting for a seat
	Screening State = "screening" // answer classification listens
	Bridging  State = "bridging"  // the bot's path is being opened
	Connected State = "connected" // the bot has the call and it counts as a live answer
	Ended     State = "ended"
)

// States lists every state in order.
var States = []State{Reserved, Dialling, Ringing, Answered, Screening, Bridging, Connected, Ended}

// Leg is one INVITE of an attempt.
type Leg struct {
	ID        engine.LegID
	Trunk     engine.TrunkID
	SentAt    *time.Time
	TryingAt  *time.Time   // first response of the leg
	EndedAt   *time.Time   // final answer or close; nil while it may still ring
	Proof     engine.Proof // of its end, Unproven while it may still live
	SIPCode   int
	SIPReason string
	Q850      int
	Dialog    *engine.DialogState // stored with the answer, before the ACK
	Seq       int                 // last leg event applied
}

// Attempt is one dial of a contact: the exported state of the machine, stored
// as one row and one row a leg.
type Attempt struct {
	ID        engine.AttemptID
	Campaign  engine.CampaignID // "" for a dialout
	Contact   engine.ContactID  // "" for a dialout
	Run       int
	Pass      int
	Number    int // of the attempt within the run, 0 while unconsumed
	Bot       engine.BotID
	To        engine.PhoneNumber
	From      engine.PhoneNumber
	Trunk     engine.TrunkID // of the last leg
	Variables map[string]string
	Callback  bool // placed for a callback
	// Key placed a dialout, "" when none did.
	Key engine.KeyID
	// CallbackAt is when that callback was due.
	CallbackAt *time.Time
	Epoch      int64
	// Node has its legs and audio, 0 = a process that is in no cluster.
	Node        engine.Incarnation
	SendBy      time.Time // wall-clock reading of the send-by time
	ResultToken string    // SHA-256 hex of the per-call bearer token

	State State
	// Consumed: the attempt counts against Max Attempts. Decided leg by leg, by
	// what ended each; a leg that is still open has no say yet.
	Consumed  bool
	Outcome   engine.Outcome
	Cause     engine.AbandonCause
	HungUpBy  engine.Party
	SIPCode   int
	SIPReason string
	Q850      int
	Friendly  string
	// Attestation is what the network said of our caller ID (STIR/SHAKEN), as
	// it wrote it; "" when it said nothing.
	Attestation string
	// RetryAfter is the least wait that the network asked for (Retry-After).
	RetryAfter time.Duration

	Verdict engine.Verdict
	// RevisedFrom is the verdict before, when a beep that came later, or the bot, revised it.
	RevisedFrom engine.Verdict
	Confidence  float64
	AMDTook     time.Duration
	Features    map[string]float64
	MediaSeq    int // last media event applied

	Session engine.SessionID
	// VariablesLeftOut counts the variables that a bot by SIP was not told, too long for a
	// header or one too many.
	VariablesLeftOut int

	ReservedAt, InviteAt, TryingAt, RingingAt, AnsweredAt, VerdictAt *time.Time
	GreetingEndAt                                                    *time.Time // sequential classification: the 2 s count from here
	ServedAt                                                         *time.Time // when it became a live answer served: state connected
	BotConnectedAt, BotFirstAudioAt, EndedAt                         *time.Time
	// RevisableUntil is until when a beep could take the live answer back, nil:
	// never. The abandon rate counts it from then on, or from its end.
	RevisableUntil *time.Time
	// VoicemailLeftAt is when the message had been left on the machine that answered.
	VoicemailLeftAt *time.Time

	Quality *engine.MediaQuality

	// Ending is the decision that ends the attempt while its leg is not over
	// yet: CANCEL or BYE is owed, or the information message plays.
	Ending *Ending
	// BotUp: the bot's socket stands (meaningful while screening).
	BotUp bool
	// Seated: a seat is held.
	Seated bool

	// Result of the conversation, if any.
	Result *Result
	// AwaitsResult: its contact still waits for the result, so that Outcome is not final.
	// The contact's row says so; it is told with the attempt, and never stored with it.
	AwaitsResult bool `json:"awaits_result,omitempty"`

	Legs []Leg
	// Peers are the far legs of an answered call: the bot's, when it is reached
	// by SIP. They are numbered on with the legs.
	Peers []Peer
	// Transfer is the latest one that was asked for.
	Transfer *Transfer
}

// FinalOutcome is the outcome once it is final, else nil.
func (a *Attempt) FinalOutcome() *engine.Outcome {
	if a.Outcome == "" || a.AwaitsResult {
		return nil
	}
	return &a.Outcome
}

// Live says whether the attempt has not ended.
func (a *Attempt) Live() bool { return a != nil && a.State != Ended }

// Ending is a decided end: what the attempt comes to once its leg is over.
type Ending struct {
	Outcome  engine.Outcome      `json:"outcome"`
	Cause    engine.AbandonCause `json:"cause,omitempty"`
	HungUpBy engine.Party        `json:"hung_up_by,omitempty"`
	At       time.Time           `json:"at"`
	// OptedOut: the key of the information message was pressed.
	OptedOut bool `json:"opted_out,omitempty"`
	// Voicemail: a message is being left before the call ends.
	Voicemail bool `json:"voicemail,omitempty"`
}

// OpenLeg says whether a leg may still ring or be answered: of a lost attempt,
// which ended before its legs were over, or the bot's of one that just ended.
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
	// Unknown are the fields that came with the result and are none of the
	// above: a bot's mistake or addition does not lose the rest.
	Unknown    map[string]string `json:"unknown_fields,omitempty"`
	ReceivedAt time.Time         `json:"received_at"`
	// Revision counts the results of the call that this one replaced, so that a
	// repeated result is not counted as another conversation with a result.
	Revision int `json:"revision,omitempty"`
	// Wished: one that it replaced asked for a callback, so that the same wish is not
	// counted as another.
	Wished bool `json:"wished,omitempty"`
}

// wishes says whether the result asks for a callback.
func (r *Result) wishes() bool { return r.Callback != nil && r.Callback.Requested }

// After gives what is left of a result that is stored late, behind r, which the call has: nothing of one that came
// before r, or is r given again. That somebody must not be called holds whenever it was said.
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

// Callback is a wish to be called back.
type Callback struct {
	Requested bool       `json:"requested"`
	At        *time.Time `json:"at,omitempty"`
	Reason    string     `json:"reason,omitempty"`
}

// CountsResult says whether the result that was applied last makes the attempt
// a conversation with a result: the first one of a call that was connected.
func (a *Attempt) CountsResult() bool {
	return a.ServedAt != nil && a.Result != nil && a.Result.Revision == 0
}

// RangUnanswered says whether a phone rang and nobody took the call; a 200
// that crossed our CANCEL is nobody's answer.
func (a *Attempt) RangUnanswered() bool { return a.RingingAt != nil && a.AnsweredAt == nil }

// WasConnected says whether the bot had the call as a live answer.
func (a *Attempt) WasConnected() bool { return a.ServedAt != nil }

// Talk is the length of the conversation, bot connected → end.
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

// TalkMS is Talk in whole milliseconds, worked out of the times as the database
// keeps them, so that a count of its rows comes to the same.
func (a *Attempt) TalkMS() int64 {
	if a.ServedAt == nil || a.BotConnectedAt == nil || a.EndedAt == nil {
		return 0
	}
	return storedMS(*a.BotConnectedAt, *a.EndedAt)
}

// CallbackDelayMS is how long after the time of its callback the attempt was
// dialled; ok is false for one that was not placed for a callback.
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

// storedMS: the database keeps microseconds, and no monotonic clock.
func storedMS(from, to time.Time) int64 {
	return max(0, to.Truncate(time.Microsecond).Sub(from.Truncate(time.Microsecond))).Milliseconds()
}
