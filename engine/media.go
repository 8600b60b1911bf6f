package engine

import "time"

// OpenMedia is the command to reserve the media path of an attempt. It is
// synchronous and cheap: the result is the SDP offer.
type OpenMedia struct {
	Attempt AttemptID
	AMD     AMDMode
	Listen  AMDRules
	Profile MediaProfile // of the trunk that is tried
	Record  bool         // both sides, from the answer on
	// Node is the incarnation of the node that is to carry the call, 0 = this one.
	// Epoch is the fencing epoch of who asks: nobody with a lower one can take the
	// call over.
	Node  Incarnation
	Epoch int64
}

// AMDRules are how a campaign wants its answers classified; zero fields have the
// classifier's own values.
type AMDRules struct {
	// Bias is added to the log-odds of a machine: below 0 more evidence is wanted.
	Bias float64
	// Timeout is the longest time of listening from the answer on, for which the
	// far side must be speaking at the end.
	Timeout time.Duration
	// Revise is for how long after the answer a beep takes back a verdict that
	// sent the call to the bot; 0: not at all.
	Revise time.Duration
	// Voicemail is the message that may have to be left, so that it is in memory.
	Voicemail VoicemailID
}

// VoicemailID names a message that is left on answering machines.
type VoicemailID string

// LeaveVoicemail is the command to wait for the beep of the machine that
// answered, or for the end of its greeting, and to play a message then. MediaPlayed
// follows, with an Error when nothing was played.
type LeaveVoicemail struct {
	Attempt AttemptID
	Message VoicemailID
}

// AttachBot is the command to open the bot's socket of an answered attempt.
// MediaBotConnected follows once the socket is open and "start" was written,
// or MediaBotFailed; Deadline bounds all tries together.
type AttachBot struct {
	Attempt   AttemptID
	Session   SessionID
	Call      CallID
	Endpoints []string // ws:// or wss://, tried in this order
	AuthToken string   // signs the upgrade request
	Account   string   // "AC" + 32 hex
	// Parameters become customParameters of the start frame.
	Parameters map[string]string
	Deadline   time.Time
	// Socket is one that stands and is to be used, "": none does. If it is gone, one is
	// opened as if it had never stood.
	Socket SocketID
}

// OpenSocket is the command to open a bot's socket ahead of its call, of which nothing is
// said yet: a SocketEvent follows, and another one when the socket is gone before a call
// took it.
type OpenSocket struct {
	Socket    SocketID
	Node      Incarnation // that carries the call, 0: this one
	Endpoints []string    // ws:// or wss://, each tried once, in this order
	AuthToken string      // signs the upgrade request
	Timeout   time.Duration
	Limit     time.Duration // after which it is closed, whoever wants it
}

// SocketEvent says that a socket stands, or does not (any more).
type SocketEvent struct {
	Socket   SocketID
	Stands   bool
	Endpoint string         // that took it
	Missed   []EndpointMiss // before
	Reason   string         // why it does not stand
}

// AskBot is the question whether an endpoint of a bot takes connections. No
// session begins.
type AskBot struct {
	Endpoint  string // ws:// or wss://
	AuthToken string // signs the upgrade request
}

// EndpointMiss is an endpoint of a bot that did not take a call, and why.
type EndpointMiss struct {
	Endpoint string
	Reason   string
}

// MediaEventKind says what happened on the media path of an attempt.
type MediaEventKind string

const (
	MediaVerdict       MediaEventKind = "verdict"         // answer classification decided, or a beep revised that
	MediaBotConnected  MediaEventKind = "bot_connected"   // socket open, start written
	MediaBotFailed     MediaEventKind = "bot_failed"      // no endpoint took the call before the deadline
	MediaBotFirstAudio MediaEventKind = "bot_first_audio" // first bot frame sent to the callee
	MediaBotClosed     MediaEventKind = "bot_closed"      // the bot closed or lost its socket
	MediaPlayed        MediaEventKind = "played"          // the information message, or the one that is left on a machine, ended
	MediaDigit         MediaEventKind = "digit"           // RFC 4733 digit from the callee
	MediaSilent        MediaEventKind = "silent"          // neither RTP nor RTCP for the RTP time-out
	MediaFailed        MediaEventKind = "failed"          // the SDP answer cannot be used
	MediaPeerSilent    MediaEventKind = "peer_silent"     // the same of the far leg that Session names
	MediaBotVerdict    MediaEventKind = "bot_verdict"     // the bot said that it talks to a machine, a fax or SIT
)

// MediaEvent is one event of an attempt's media path. Seq counts from 1
// without gaps; a re-attach replays from 1.
type MediaEvent struct {
	Attempt AttemptID
	Seq     int
	At      time.Time
	Kind    MediaEventKind

	Session SessionID
	// Verdict, Confidence (0…1) and AMDTook (from the 200 OK to the decision)
	// belong to MediaVerdict and MediaBotVerdict; GreetingEnd is when the greeting ended, zero when
	// it did not.
	Verdict     Verdict
	Confidence  float64
	AMDTook     time.Duration
	GreetingEnd time.Time
	Features    map[string]float64
	Digit       byte
	Error       string
	// Refused: the bot's endpoint was reached and refused or closed normally,
	// as against unreachable.
	Refused bool
	// Endpoint took the call (MediaBotConnected), after those of Missed had not;
	// with MediaBotFailed they are all that were tried.
	Endpoint string
	Missed   []EndpointMiss
}

// Recording is the audio of a call as it is kept: both sides from the answer
// to the end.
type Recording struct {
	ID         string        `json:"id"` // where it is kept
	StartedAt  time.Time     `json:"started_at"`
	Duration   time.Duration `json:"duration_ns"`
	Bytes      int64         `json:"bytes"`
	Incomplete bool          `json:"incomplete,omitempty"` // some of it is missing; silence stands there
	DeletedAt  *time.Time    `json:"deleted_at,omitempty"` // kept no longer
}

// MediaQuality is what a closed media path reports.
type MediaQuality struct {
	PacketsReceived uint64        `json:"packets_received"`
	PacketsSent     uint64        `json:"packets_sent"`
	PacketsLost     uint64        `json:"packets_lost"`
	PacketsLate     uint64        `json:"packets_late"`
	Jitter          time.Duration `json:"jitter_ns"`
	Codec           string        `json:"codec"`
	// MOS is what was heard of the callee, 1 … 4.5, estimated by loss, delay and
	// codec; 0: nothing was heard.
	MOS float64 `json:"mos,omitempty"`
	// What the callee's side said of our audio (RTCP); zero without a report.
	FarReports uint64        `json:"far_reports,omitempty"`
	FarLost    uint64        `json:"far_packets_lost,omitempty"`
	FarJitter  time.Duration `json:"far_jitter_ns,omitempty"`
	FarMOS     float64       `json:"far_mos,omitempty"`
	RoundTrip  time.Duration `json:"round_trip_ns,omitempty"`
	// Recording is set when the call was recorded.
	Recording *Recording `json:"recording,omitempty"`
}
