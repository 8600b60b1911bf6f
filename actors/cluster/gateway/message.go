package gateway

import (
	"time"

	"dialler/actors/cluster/link"
	"dialler/engine"
)

// kind says what a message between gateways is. The numbers are the wire's.
type kind uint8

const (
	// Commands to the ports of the node that holds the call.
	kOpen kind = iota + 1
	kPlace
	kConfirm
	kCancel
	kHangUp
	kSendDigit
	kAnswerRefer
	kNotifyRefer
	kAttachLegs
	kForget
	kRecover
	kAnswer
	kAttachBot
	kDetachBot
	kPlay
	kHearDigit
	kCloseMedia
	kAttachMedia
	kOpenPeer
	kClosePeer
	// Requests, which have a result.
	kJoinPeer
	kSendDigits
	kSettle
	kAdopt
	// What comes back.
	kLegEvent
	kMediaEvent
	// A command that was added after the other numbers were assigned.
	kLeaveVoicemail
	// Commands for sockets opened ahead of their calls; they belong to no attempt. Also added
	// later.
	kOpenSocket
	kCloseSocket
	kSocketEvent
	kAttachAhead
	// Added later.
	kHearEarly
)

// message is a command, a request or an event; its kind says which fields apply.
type message struct {
	kind    kind
	attempt engine.AttemptID
	leg     engine.LegID
	// serial distinguishes events for an earlier sink from those for the current one.
	serial uint64
	yes    bool
	code   int
	text   string
	sdp    []byte
	at     time.Time
	span   time.Duration
	legs   []engine.LegID
	epoch  int64

	open    *engine.OpenMedia
	place   *engine.PlaceLeg
	recover *engine.RecoveredLeg
	bot     *engine.AttachBot
	socket  *engine.OpenSocket
	cause   engine.HangUpCause
	profile engine.MediaProfile
	onLeg   *engine.LegEvent
	onMedia *engine.MediaEvent
	// onSocket is what happened to a socket.
	onSocket *engine.SocketEvent
	quality  *engine.MediaQuality // of the call whose last event this is
}

func (w wire) legIDs(v *[]engine.LegID) {
	link.List(w.Wire, v, func(l *engine.LegID) { link.Text(w.Wire, l) })
}

// body codes what a message is about.
func body[T any](w wire, v **T, each func(*T)) {
	if w.Reading() {
		*v = new(T)
	}
	each(*v)
}

func (w wire) message(m *message) {
	link.Number(w.Wire, &m.kind)
	link.Text(w.Wire, &m.attempt)
	switch m.kind {
	case kOpen:
		body(w, &m.open, w.openMedia)
	case kPlace:
		body(w, &m.place, w.placeLeg)
	case kConfirm, kCancel, kClosePeer:
		link.Text(w.Wire, &m.leg)
	case kHangUp:
		link.Text(w.Wire, &m.leg)
		w.hangUpCause(&m.cause)
	case kSendDigit:
		link.Text(w.Wire, &m.leg)
		link.Number(w.Wire, &m.code)
		link.Number(w.Wire, &m.span)
	case kAnswerRefer:
		link.Text(w.Wire, &m.leg)
		w.Flag(&m.yes)
	case kNotifyRefer:
		link.Text(w.Wire, &m.leg)
		link.Number(w.Wire, &m.code)
		link.Text(w.Wire, &m.text)
	case kAttachLegs, kAttachMedia:
		w.Unsigned(&m.serial)
	case kRecover:
		body(w, &m.recover, w.recoveredLeg)
	case kHearEarly:
		w.Octets(&m.sdp)
	case kAnswer:
		w.Octets(&m.sdp)
		w.Instant(&m.at)
	case kAttachBot:
		body(w, &m.bot, w.attachBot)
	case kAttachAhead:
		body(w, &m.bot, w.attachAhead)
	case kOpenSocket:
		body(w, &m.socket, w.openSocket)
	case kCloseSocket:
		link.Text(w.Wire, &m.text)
	case kSocketEvent:
		body(w, &m.onSocket, w.socketEvent)
	case kForget, kDetachBot, kPlay, kCloseMedia, kSettle:
	case kLeaveVoicemail:
		link.Text(w.Wire, &m.text)
	case kHearDigit:
		link.Number(w.Wire, &m.code)
	case kOpenPeer:
		link.Text(w.Wire, &m.leg)
		w.profile(&m.profile)
	case kJoinPeer:
		link.Text(w.Wire, &m.leg)
		w.Octets(&m.sdp)
	case kSendDigits:
		link.Text(w.Wire, &m.leg)
		link.Text(w.Wire, &m.text)
	case kAdopt:
		link.Number(w.Wire, &m.epoch)
		w.legIDs(&m.legs)
	case kLegEvent:
		w.Unsigned(&m.serial)
		body(w, &m.onLeg, w.legEvent)
		link.Optional(w.Wire, &m.quality, w.quality)
	case kMediaEvent:
		w.Unsigned(&m.serial)
		body(w, &m.onMedia, w.mediaEvent)
	default:
		w.Fail()
	}
}

// say encodes the message.
func (m *message) say(w *link.Wire) { wire{w}.message(m) }
