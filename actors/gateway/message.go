package gateway

import (
	"errors"
	"time"

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
	kResult
	// A command, numbered when the others were taken.
	kLeaveVoicemail
)

// message is a command, an event or a result; which fields count says the kind.
type message struct {
	kind    kind
	attempt engine.AttemptID
	leg     engine.LegID
	// serial is the number of a request and of its result, or tells events to an
	// earlier sink from those to the present one.
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
	cause   engine.HangUpCause
	profile engine.MediaProfile
	onLeg   *engine.LegEvent
	onMedia *engine.MediaEvent
	quality *engine.MediaQuality // of the call whose last event this is
	err     *engine.Error
}

func (w *wire) legIDs(v *[]engine.LegID) { list(w, v, func(l *engine.LegID) { text(w, l) }) }

func (w *wire) failure(e *engine.Error) {
	text(w, &e.Kind)
	text(w, &e.Code)
	text(w, &e.Detail)
}

// body is what a message is about.
func body[T any](w *wire, v **T, each func(*T)) {
	if w.reading {
		*v = new(T)
	}
	each(*v)
}

func (w *wire) message(m *message) {
	number(w, &m.kind)
	text(w, &m.attempt)
	switch m.kind {
	case kOpen:
		body(w, &m.open, w.openMedia)
	case kPlace:
		body(w, &m.place, w.placeLeg)
	case kConfirm, kCancel, kClosePeer:
		text(w, &m.leg)
	case kHangUp:
		text(w, &m.leg)
		w.hangUpCause(&m.cause)
	case kSendDigit:
		text(w, &m.leg)
		number(w, &m.code)
		number(w, &m.span)
	case kAnswerRefer:
		text(w, &m.leg)
		w.flag(&m.yes)
	case kNotifyRefer:
		text(w, &m.leg)
		number(w, &m.code)
		text(w, &m.text)
	case kAttachLegs, kAttachMedia, kSettle:
		w.unsigned(&m.serial)
	case kRecover:
		body(w, &m.recover, w.recoveredLeg)
	case kAnswer:
		w.octets(&m.sdp)
		w.instant(&m.at)
	case kAttachBot:
		body(w, &m.bot, w.attachBot)
	case kForget, kDetachBot, kPlay, kCloseMedia:
	case kLeaveVoicemail:
		text(w, &m.text)
	case kHearDigit:
		number(w, &m.code)
	case kOpenPeer:
		text(w, &m.leg)
		w.profile(&m.profile)
	case kJoinPeer:
		w.unsigned(&m.serial)
		text(w, &m.leg)
		w.octets(&m.sdp)
	case kSendDigits:
		w.unsigned(&m.serial)
		text(w, &m.leg)
		text(w, &m.text)
	case kAdopt:
		w.unsigned(&m.serial)
		number(w, &m.epoch)
		w.legIDs(&m.legs)
	case kLegEvent:
		w.unsigned(&m.serial)
		body(w, &m.onLeg, w.legEvent)
		optional(w, &m.quality, w.quality)
	case kMediaEvent:
		w.unsigned(&m.serial)
		body(w, &m.onMedia, w.mediaEvent)
	case kResult:
		w.unsigned(&m.serial)
		w.legIDs(&m.legs)
		optional(w, &m.err, w.failure)
	default:
		w.fail()
	}
}

func (m *message) encode(at reading) []byte {
	w := wire{b: make([]byte, 0, 192), clock: at}
	w.message(m)
	return w.b
}

func decodeMessage(b []byte, at reading) (m *message, err error) {
	w := wire{b: b, reading: true, clock: at}
	m = &message{}
	w.message(m)
	if w.bad || len(w.b) > 0 {
		return nil, errMalformed
	}
	return m, nil
}

// failureOf is an error as it crosses the wire.
func failureOf(err error) *engine.Error {
	if err == nil {
		return nil
	}
	var e *engine.Error
	if errors.As(err, &e) {
		return e
	}
	return &engine.Error{Kind: engine.KindInternal, Code: "refused_there", Detail: err.Error()}
}
