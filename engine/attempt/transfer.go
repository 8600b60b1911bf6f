package attempt

import "time"

// Transfer is what became of the wish to hand the callee over to somebody.
type Transfer struct {
	// Kind of the target: number (through a trunk) or sip.
	Kind string `json:"kind"`
	To   string `json:"to"` // E.164 or sip:…; personal data
	By   string `json:"by"` // api, refer
	// RequestedAt, AnsweredAt and EndedAt: asked for, the target took the call,
	// the transfer failed or the bridged call was over.
	RequestedAt time.Time      `json:"requested_at"`
	AnsweredAt  *time.Time     `json:"answered_at,omitempty"`
	EndedAt     *time.Time     `json:"ended_at,omitempty"`
	Result      TransferResult `json:"result"`
	SIPCode     int            `json:"sip_code,omitempty"` // of the target's final response
}

// TransferResult is where a transfer stands.
type TransferResult string

const (
	TransferCalling  TransferResult = "calling" // the target is called; the bot goes on
	TransferBridged  TransferResult = "bridged" // callee and target are connected, the bot is off
	TransferRefused  TransferResult = "refused" // the target said no
	TransferNoAnswer TransferResult = "no_answer"
	TransferFailed   TransferResult = "failed"   // not to be reached
	TransferGivenUp  TransferResult = "given_up" // the call ended first
)
