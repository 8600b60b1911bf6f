package engine

import "time"

// OpenMedia is the command to reserve the media path of an attempt. It is
// synchronous and cheap: the result is the SDP offer, or the answer to Offered.
type OpenMedia struct {
	Attempt AttemptID
	AMD     AMDMode
	Listen  AMDRules
	Profile MediaProfile // of the trunk being tried
	Record  bool         // both sides, from the answer on
	// Node is the incarnation of the node that should carry the call, 0 = this one. Epoch is the
	// fencing epoch of the requester: nobody with a lower one can take the call over.
	Node  Incarnation
	Epoch int64
	// Offered is the SDP of a call that came in, nil for one that is placed.
	Offered []byte
}

// AMDRules are a campaign's rules for classifying answers; zero fields mean the classifier's
// defaults.
type AMDRules struct {
	// Bias is added to the log-odds of a machine: a negative value requires more evidence.
	Bias float64
	// Timeout is the longest time of listening after the answer, for the case that the far side is
	// still speaking at the end.
	Timeout time.Duration
	// Revise is for how long after the answer a beep revokes a verdict that sent the call to the
	// bot; 0 means never.
	Revise time.Duration
	// Voicemail is the message that may be needed, so that it can be preloaded.
	Voicemail VoicemailID
}

// VoicemailID names a message that is left on answering machines.
type VoicemailID string

// LeaveVoicemail is the command to wait for the beep of the answering machine, or for the end of
// its greeting, and then to play a message. MediaPlayed follows, with an Error if nothing was
// played.
type LeaveVoicemail struct {
	Attempt AttemptID
	Message VoicemailID
	// AtOnce says that a person hears it: nothing is waited for. The call is on this node.
	AtOnce bool
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
	Headers   []HTTPHeader
	Account   string // "AC" + 32 hex
	// Parameters become customParameters of the start frame.
	Parameters map[string]string
	Deadline   time.Time
	// Socket is an open socket to use, "" for none. If it has been lost, a new one is opened as
	// usual.
	Socket SocketID
}

// OpenSocket is the command to open a bot's socket ahead of its call, without any details of the
// call: a SocketEvent follows, and another one if the socket is lost before a call takes it.
type OpenSocket struct {
	Socket    SocketID
	Node      Incarnation // that carries the call; 0 is this one
	Endpoints []string    // ws:// or wss://, each tried once, in this order
	AuthToken string      // signs the upgrade request
	Headers   []HTTPHeader
	Timeout   time.Duration
	Limit     time.Duration // when it is closed unless a call has taken it
}

// SocketEvent says that a socket is open, or is not (any more).
type SocketEvent struct {
	Socket   SocketID
	Stands   bool
	Endpoint string         // that took it
	Missed   []EndpointMiss // before
	Reason   string         // why it is not open
}

// AskBot probes whether an endpoint of a bot takes calls (Bot.Question). Nothing of a call is said.
type AskBot struct {
	Endpoint  string // ws:// or wss://
	HealthURL string // GET this; "" means that Probe is done
	Probe     string // ProbeConnection or ProbeSession
	AuthToken string // signs the upgrade request
	Headers   []HTTPHeader
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
	MediaPlayed        MediaEventKind = "played"          // the information message or voicemail message ended
	MediaDigit         MediaEventKind = "digit"           // key of the callee, by telephone-event or tone
	MediaSilent        MediaEventKind = "silent"          // neither RTP nor RTCP for the RTP or the hold time-out
	MediaFailed        MediaEventKind = "failed"          // the SDP answer is unusable
	MediaPeerSilent    MediaEventKind = "peer_silent"     // the same for the far leg named by Session
	MediaBotVerdict    MediaEventKind = "bot_verdict"     // the bot reported a machine, a fax or SIT
	MediaIntercepted   MediaEventKind = "intercepted"     // before the answer: tones of a number out of service
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
	OnHold      bool // of MediaSilent: the call was on hold, for the hold time-out
	Error       string
	// Refused says that the bot's endpoint was reached and refused or closed normally, rather than
	// being unreachable.
	Refused bool
	// Endpoint took the call (MediaBotConnected) after those in Missed had not; with
	// MediaBotFailed, Missed has all that were tried.
	Endpoint string
	Missed   []EndpointMiss
}

// Recording is the stored audio of a call: both sides from the answer to the end.
type Recording struct {
	ID         string        `json:"id"` // where it is stored
	StartedAt  time.Time     `json:"started_at"`
	Duration   time.Duration `json:"duration_ns"`
	Bytes      int64         `json:"bytes"`
	Incomplete bool          `json:"incomplete,omitempty"` // parts are missing and replaced by silence
	DeletedAt  *time.Time    `json:"deleted_at,omitempty"` // kept no longer
}

// MediaQuality is the report of a closed media path.
type MediaQuality struct {
	PacketsReceived uint64        `json:"packets_received"`
	PacketsSent     uint64        `json:"packets_sent"`
	PacketsLost     uint64        `json:"packets_lost"`
	PacketsLate     uint64        `json:"packets_late"`
	Jitter          time.Duration `json:"jitter_ns"`
	Codec           string        `json:"codec"`
	// SRTP is the suite by which the call was encrypted; empty means it was not.
	SRTP string `json:"srtp,omitempty"`
	// MOS is the quality of the callee's audio, 1 … 4.5, estimated from loss, delay and codec; 0
	// means that nothing was received.
	MOS float64 `json:"mos,omitempty"`
	// What the callee's side reports on our audio (RTCP); zero without a report.
	FarReports uint64        `json:"far_reports,omitempty"`
	FarLost    uint64        `json:"far_packets_lost,omitempty"`
	FarJitter  time.Duration `json:"far_jitter_ns,omitempty"`
	FarMOS     float64       `json:"far_mos,omitempty"`
	RoundTrip  time.Duration `json:"round_trip_ns,omitempty"`
	// HeardFrom is where the callee's audio came from when that is not the address of its SDP.
	HeardFrom string `json:"heard_from,omitempty"`
	// What was not heard although it may have been the callee's: packets of its side's hosts from an
	// address that the trunk's media.symmetric does not allow, and packets that may have been
	// another call's.
	DroppedElsewhere uint64 `json:"dropped_elsewhere,omitempty"`
	DroppedAmbiguous uint64 `json:"dropped_ambiguous,omitempty"`
	// Recording is set when the call was recorded.
	Recording *Recording `json:"recording,omitempty"`
}

// FromElsewhere says whether RTP came from another address than that of the SDP, heard or not.
func (q *MediaQuality) FromElsewhere() bool {
	return q.HeardFrom != "" || q.PacketsReceived == 0 && q.DroppedElsewhere > 0
}
