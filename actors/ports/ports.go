// Package ports declares what calls need from the outside world: legs, audio, and legs on other
// nodes. Adapters implement it, and so does the gateway in front of them.
package ports

import (
	"context"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
)

// Telephony places and ends SIP legs; every call returns at once, and events come as
// engine.LegEvent to the sink.
type Telephony interface {
	PlaceLeg(cmd engine.PlaceLeg, sink func(engine.LegEvent))
	ConfirmLeg(leg engine.LegID)
	// RefuseLeg refuses a call that came in here and was not answered, RingLeg says that it rings.
	RefuseLeg(leg engine.LegID, code int)
	RingLeg(leg engine.LegID)
	CancelLeg(leg engine.LegID) engine.CancelOutcome
	HangUpLeg(leg engine.LegID, cause engine.HangUpCause)
	// SendDigit sends a key on an answered leg by INFO; false means it cannot.
	SendDigit(leg engine.LegID, key byte, duration time.Duration) bool
	// AnswerRefer accepts or declines the REFER of LegReferred; NotifyRefer reports the progress of
	// the call to the target to the REFER's sender.
	AnswerRefer(leg engine.LegID, accept bool) bool
	NotifyRefer(leg engine.LegID, code int, reason string)
	// AttachLeg gives the attempt's legs a new owner and replays their events from the first; it
	// returns the legs known here.
	AttachLeg(a engine.AttemptID, sink func(engine.LegEvent)) []engine.LegID
	ForgetLegs(a engine.AttemptID)
	RecoverLeg(leg engine.RecoveredLeg, sink func(engine.LegEvent))
	// Ask blocks until a SIP address has answered whether it takes calls (nil means yes), or ctx
	// ends.
	Ask(ctx context.Context, uri string) error
	// Calling says whether there is a live leg to the number here.
	Calling(to engine.PhoneNumber) bool
}

// Media carries the audio of attempts and connects them to bots; every call returns at once, and
// events come as engine.MediaEvent to the sink.
type Media interface {
	Open(cmd engine.OpenMedia, sink func(engine.MediaEvent)) (offer []byte, err error)
	// HearEarly makes an unanswered call heard by the SDP of a provisional response, for an
	// announcement of the network: engine.MediaIntercepted.
	HearEarly(a engine.AttemptID, sdp []byte)
	Answer(a engine.AttemptID, sdp []byte, at time.Time)
	AttachBot(cmd engine.AttachBot)
	// OpenSocket opens a bot's socket ahead of its call, on the node that will carry it. sink is
	// called from any goroutine when the socket is open or has failed, and when it is gone.
	// CloseSocket closes it unless a call has taken it, CloseSockets all that were opened here for
	// a campaign.
	OpenSocket(cmd engine.OpenSocket, sink func(engine.SocketEvent))
	CloseSocket(id engine.SocketID, node engine.Incarnation)
	CloseSockets(of engine.CampaignID)
	// AskBot blocks until an endpoint has answered whether it takes calls (nil means yes), or
	// ctx ends.
	AskBot(ctx context.Context, cmd engine.AskBot) error
	DetachBot(a engine.AttemptID)
	PlayMessage(a engine.AttemptID)
	LeaveVoicemail(cmd engine.LeaveVoicemail)
	HearDigit(a engine.AttemptID, digit byte) (by engine.LegID)
	// SendDigits sends keys to the callee of an answered call. bySIP means none was sent, and they
	// must go by Telephony.SendDigit.
	SendDigits(a engine.AttemptID, digits string) (bySIP bool, err error)
	CloseMedia(a engine.AttemptID) engine.MediaQuality
	AttachMedia(a engine.AttemptID, sink func(engine.MediaEvent)) bool
	// OpenPeer reserves a second path of an answered call, for a far leg, and returns its SDP
	// offer; JoinPeer connects the callee to it with its answer; ClosePeer ends it.
	OpenPeer(a engine.AttemptID, leg engine.LegID, profile engine.MediaProfile) (offer []byte, err error)
	JoinPeer(a engine.AttemptID, leg engine.LegID, sdp []byte) error
	ClosePeer(a engine.AttemptID, leg engine.LegID)
}

// RemoteLegs is what calls need in addition to Telephony and Media if legs can be on other nodes of
// a cluster (package gateway): what those ports answer at once for a local call, it answers later.
// then is called once, from any goroutine.
type RemoteLegs interface {
	// Carrier returns the node that will carry a new call over a trunk; this node's incarnation
	// means here.
	Carrier(trunk engine.TrunkID) engine.Incarnation
	// Here returns this node's incarnation.
	Here() engine.Incarnation
	// Away says that the attempt's legs are on another node.
	Away(a engine.AttemptID) bool
	// Unheard says that they are, and that the node has been silent so long that it may be dead.
	Unheard(a engine.AttemptID) bool
	// AdoptLegs makes this node the owner of an open attempt whose legs are on at.Node, so that
	// AttachLeg knows them; at.Epoch is the epoch with which it acts for the campaign. It answers
	// within seconds; an error says that the legs cannot be reached.
	AdoptLegs(at *attempt.Attempt, then func(known []engine.LegID, err error))
	// Replaced says that, according to the database, another node acts for the attempt: unless that
	// node adopts its legs within seconds, they are ended.
	Replaced(a engine.AttemptID, peers []engine.LegID)
	JoinPeerThen(a engine.AttemptID, leg engine.LegID, sdp []byte, then func(error))
	// SendDigitsThen sends keys to the callee, by INFO on the leg if the media path cannot carry
	// them.
	SendDigitsThen(a engine.AttemptID, leg engine.LegID, digits string, then func(error))
	// Settled waits until all commands sent so far for the attempt have been carried out, or never
	// will be.
	Settled(a engine.AttemptID, then func())
}
