package engine

import "time"

// SIPMessage is one arrow of a call's ladder: what a SIP message says about the course of the call.
// Numbers, names, credentials and SDP are left out.
type SIPMessage struct {
	At   time.Time `json:"at"`
	Leg  LegID     `json:"leg"`
	Sent bool      `json:"sent"` // by us
	// Method is that of the request, or of the answered request.
	Method string `json:"method"`
	Code   int    `json:"code,omitempty"`   // 0: a request
	Reason string `json:"reason,omitempty"` // the answer's phrase
	CSeq   uint32 `json:"cseq"`
	Peer   string `json:"peer,omitempty"` // host:port
	// Note is the message's other content: body, challenge, Reason, Retry-After.
	Note string `json:"note,omitempty"`
	// Repeats counts the retransmissions of this message that followed it.
	Repeats int `json:"repeats,omitempty"`
}

// Ladder is the stored SIP messages of one leg.
type Ladder struct {
	Attempt  AttemptID
	Leg      LegID
	At       time.Time // when the leg ended
	Messages []SIPMessage
}

// LadderCap limits the messages stored for one leg; the last one of a longer ladder shows its end.
const LadderCap = 64
