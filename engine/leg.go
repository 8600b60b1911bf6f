package engine

import "time"

// BootTime is a reading of the boot-time clock (CLOCK_BOOTTIME) in nanoseconds: it continues while
// the machine sleeps and never jumps with the wall clock. Send-by times use it.
type BootTime int64

// Add returns the reading d later.
func (b BootTime) Add(d time.Duration) BootTime { return b + BootTime(d) }

// PlaceLeg is the command to send one INVITE. It is given only after the
// attempt's intent is durable.
type PlaceLeg struct {
	Attempt     AttemptID
	Leg         LegID // also the SIP Call-ID; From tag, Contact and branch derive from it
	Trunk       TrunkID
	From, To    PhoneNumber
	SendBy      BootTime      // checked immediately before the write to the socket
	RingTimeout time.Duration // informative; the attempt machine cancels
	Offer       []byte        // SDP
	// URI is where the INVITE goes instead of a trunk: the leg is no call over a carrier, but to a
	// bot or a person by SIP (ParseSIPURI). To is then empty.
	URI string
	// Password answers digest challenges to a leg with a URI, for the user in it; if empty, a
	// challenge is a refusal.
	Password string
	// Headers are additional headers of the INVITE.
	Headers []SIPHeader
	// Incoming says that the far side has begun the leg (IncomingCall): it is answered with 200, and
	// Offer is the SDP of the answer.
	Incoming bool
}

// IncomingCall is a call that a trunk brings, and that is not answered yet. It is answered by a PlaceLeg
// with Incoming, or refused by RefuseLeg; a caller who gives up before that ends its leg with LegHungUp.
type IncomingCall struct {
	Attempt AttemptID // new, for this call
	Leg     LegID
	Trunk   TrunkID
	// To are the user parts of the addresses that were called, that of the Request-URI first; From is that of
	// the caller's address, "" for one who is anonymous (RFC 3323) or has no number.
	To   []string
	From string
	// Country is that of national numbers there (ISO 3166), "" when the trunk has none.
	Country string
	Offer   []byte // SDP
	// Dialog must be durable before the call is answered, so that a later process can end it with BYE.
	Dialog *DialogState
	At     time.Time
}

// DialogState must be durable before the ACK of a 200 leaves, and before our own 200 does, so that a later
// process can end the call with BYE.
type DialogState struct {
	ToTag        string   `json:"to_tag"`
	RemoteTarget string   `json:"remote_target"` // Contact URI of the far side
	RouteSet     []string `json:"route_set,omitempty"`
	CSeq         uint32   `json:"cseq"`        // of the INVITE; our next in-dialog request uses CSeq+1
	RemoteAddr   string   `json:"remote_addr"` // host:port that the 200 came from
	Transport    string   `json:"transport"`   // udp, tcp
	LocalAddr    string   `json:"local_addr"`  // host:port of our Contact
	// SessionSec is after how many seconds without a refresh of ours, or an answer to one of its
	// own, the far side ends the session (RFC 4028); 0 means that it is not known to do so.
	// LegSession corrects it.
	SessionSec uint32 `json:"session_sec,omitempty"`
	BytesSent  int    `json:"-"`
	Extra      string `json:"extra,omitempty"` // adapter's own, opaque to the engine
}

// LegEventKind says what happened to a leg.
type LegEventKind string

const (
	LegSent        LegEventKind = "sent"        // the INVITE was written to the socket
	LegNotSent     LegEventKind = "not_sent"    // certainly no INVITE left; last event of the leg
	LegProvisional LegEventKind = "provisional" // 1xx; Code says which, SDP early media if any
	LegAnswered    LegEventKind = "answered"    // 2xx; ACK is due: ConfirmLeg after the dialog is durable
	LegRefused     LegEventKind = "refused"     // final 3xx–6xx, our ACK sent; last event of the leg
	// LegSilent: no final response (Timer B, or after CANCEL 64*T1). The leg stays owned until LegClosed.
	LegSilent LegEventKind = "silent"
	LegHungUp LegEventKind = "hung_up" // BYE from the remote side, answered 200; last event of the leg
	// LegClosed: our BYE was answered or timed out, or a silent leg was given up; last event of the leg.
	LegClosed LegEventKind = "closed"
	LegDigit  LegEventKind = "digit"  // INFO DTMF
	LegFenced LegEventKind = "fenced" // its node's lease is over: the leg is being ended
	// LegReferred: REFER of the far side (RFC 3515): answer it with AnswerRefer, or it is declined.
	LegReferred LegEventKind = "referred"
	LegSession  LegEventKind = "session" // its session may outlast that of LegAnswered: Dialog is new
)

// Final says whether an event of this kind is the last one of its leg.
func (k LegEventKind) Final() bool {
	switch k {
	case LegNotSent, LegRefused, LegHungUp, LegClosed:
		return true
	case LegSent, LegProvisional, LegAnswered, LegSilent, LegFenced, LegDigit, LegReferred, LegSession:
		return false
	}
	return false
}

// Proof is what proved that a leg is over, for whoever owns it.
type Proof string

const (
	// Unproven covers a CANCEL that was answered (with 200 or 481: the INVITE may have been
	// answered before, RFC 3261 §9.2), a BYE that was not, a time-out, and a far side that cannot
	// be reached. The call may still be up.
	Unproven Proof = ""
	// ProofNotSent says that the process that was to place it never did.
	ProofNotSent Proof = "not_sent"
	// ProofRefused is a final response of 300 or more to its INVITE.
	ProofRefused Proof = "refused"
	// ProofBye is a 2xx or a 481 to a BYE inside its dialog.
	ProofBye Proof = "bye_answered"
	// ProofHungUp is a BYE from the far side.
	ProofHungUp Proof = "bye_received"
	// ProofWord says that the process that placed it never sent an ACK, and that the time for it is
	// over: the far side gives up (§13.3.1.4).
	ProofWord Proof = "not_acknowledged"
)

// LegEvent is one event of a leg. Seq counts the leg's events from 1 without
// gaps, in wire order; after a re-attach all events are replayed from 1 and
// the receiver drops those it has seen.
type LegEvent struct {
	Attempt AttemptID
	Leg     LegID
	Trunk   TrunkID
	Seq     int
	At      time.Time
	Kind    LegEventKind

	Code   int    // SIP status code of provisional, answered, refused
	Reason string // its reason phrase, or why a leg was not sent
	// Proof is what proved the end, for LegClosed (Proves).
	Proof Proof
	// NotSent is the reason, for LegNotSent.
	NotSent NotSentReason
	// Q850 is the cause of a "Reason: Q.850;cause=" header, 0 when absent.
	Q850 int
	// NetworkBlocked says that a 603 has a network-blocked marker (603+, X-Twilio-Error: 32203).
	NetworkBlocked bool
	// LimitReached says that the reason text of a 503 names a CPS or concurrency limit.
	LimitReached bool
	RetryAfter   time.Duration
	SDP          []byte // early media of a provisional, answer of a 2xx
	Dialog       *DialogState
	Digit        byte
	Contacts     []string // of a 3xx
	// Attestation is the network's statement on our caller ID (STIR/SHAKEN): A, B or C, a verstat
	// value, or the content of a carrier's own header; "" for none.
	Attestation string
	// ReferTo is the target of a REFER: a URI without headers. Replaces is the value of its
	// Replaces header (RFC 3891), unescaped, for an attended transfer; ReferredBy names the sender
	// (RFC 3892).
	ReferTo, Replaces, ReferredBy string
}

// Proves returns the proof that the leg is over, Unproven if there is none.
func (e *LegEvent) Proves() Proof {
	switch e.Kind {
	case LegNotSent:
		return ProofNotSent
	case LegRefused:
		return ProofRefused
	case LegHungUp:
		return ProofHungUp
	case LegClosed:
		return e.Proof
	case LegSent, LegProvisional, LegAnswered, LegSilent, LegFenced, LegDigit, LegReferred, LegSession:
	}
	return Unproven
}

// NotSentReason says why an INVITE certainly did not leave.
type NotSentReason string

const (
	NotSentExpired   NotSentReason = "expired"   // the send-by time had passed
	NotSentOutdated  NotSentReason = "outdated"  // likewise, because the dialout expired (its expires_at)
	NotSentHeld      NotSentReason = "held"      // another call to the number is live in this process
	NotSentCancelled NotSentReason = "cancelled" // CancelLeg came first
	NotSentNoRoute   NotSentReason = "no_route"  // no route, connection refused, name not resolved
	NotSentTrunk     NotSentReason = "trunk"     // trunk unknown or not configured
	NotSentMedia     NotSentReason = "media"     // no media path could be opened
)

// KeyDuration is the duration of a key press sent by INFO.
const KeyDuration = 100 * time.Millisecond

// CancelOutcome is the immediate answer to CancelLeg.
type CancelOutcome string

const (
	CancelNotSent CancelOutcome = "not_sent" // the INVITE never left and never will
	// CancelOwed: CANCEL was sent, or goes out after the first provisional; a crossing 200 gets ACK + BYE.
	CancelOwed     CancelOutcome = "owed"
	CancelAnswered CancelOutcome = "answered" // the call is answered; use HangUpLeg
	CancelUnknown  CancelOutcome = "unknown"  // no such leg here
	CancelTold     CancelOutcome = "told"     // the leg is on another node, which cancels it
)

// RecoveredLeg is a leg of an earlier process that must be ended.
type RecoveredLeg struct {
	Attempt  AttemptID
	Leg      LegID
	Trunk    TrunkID
	From, To PhoneNumber
	URI      string       // of a leg without a trunk
	Dialog   *DialogState // nil when the leg was not known to be answered
	CSeq     uint32       // of the last INVITE of a leg without dialog; 1 unless challenged
	// Node placed it; 0 is a process at this one's address. SentBy is what that process wrote into
	// its Via (host:port); "" is what this one would write.
	Node   Incarnation
	SentBy string
	GiveUp time.Duration // how long to keep owning it without a final answer
}

// HangUpCause is put on the wire as a Reason header (RFC 3326).
type HangUpCause struct {
	Q850 int // 16 normal clearing unless there is a better one
	Text string
}
