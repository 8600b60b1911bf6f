package engine

import "time"

// SIPMessage is one arrow of a call's ladder: what a SIP message told about how
// the call went. Numbers, names, credentials and SDP are left out of it.
type SIPMessage struct {
	At   time.Time `json:"at"`
	Leg  LegID     `json:"leg"`
	Sent bool      `json:"sent"` // by us
	// Method of the request, or of the request that is answered.
	Method string `json:"method"`
	Code   int    `json:"code,omitempty"`   // 0: a request
	Reason string `json:"reason,omitempty"` // the answer's phrase
	CSeq   uint32 `json:"cseq"`
	Peer   string `json:"peer,omitempty"` // host:port
	// Note is what else the message said: body, challenge, Reason, Retry-After.
	Note string `json:"note,omitempty"`
	// Repeats counts retransmissions of this very message that followed it.
	Repeats int `json:"repeats,omitempty"`
}

// Ladder is what is kept of the SIP messages of one leg.
type Ladder struct {
	Attempt  AttemptID
	Leg      LegID
	At       time.Time // of the leg's end
	Messages []SIPMessage
}

// LadderCap bounds the messages that are kept of one leg; the last one of a
// longer ladder stands for its end.
const LadderCap = 64
