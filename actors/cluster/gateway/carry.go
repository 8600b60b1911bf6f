package gateway

import (
	"errors"

	"dialler/actors/cluster/link"
	"dialler/engine"
)

// carryOut passes another node's command to the ports.
func (g *Gateway) carryOut(l *link.Link, m *message, said *link.Said) {
	result := func(legs []engine.LegID, err error) {
		said.Answer(refused(err), gather, func(w *link.Wire) { wire{w}.legIDs(&legs) })
	}
	h := g.hosts.of(m.attempt)
	switch {
	case m.kind == kOpen && h == nil && !l.Gone():
		h = g.hosts.add(m.attempt)
		h.own(l, m.open.Epoch)
	case m.kind == kAdopt:
		g.adopted(l, m, result)
		return
	}
	if h == nil {
		g.Strays.Add(1)
		refuse(m, result)
		return
	}
	owner, turn := h.owner()
	if owner != l {
		g.Strays.Add(1)
		refuse(m, result)
		return
	}
	phone, media := g.cfg.Telephony, g.cfg.Media
	switch m.kind {
	case kOpen:
		m.open.Node = 0
		path := prepared{err: errDraining}
		if !g.draining.Load() {
			path.offer, path.err = media.Open(*m.open, h.mediaSink(g, turn))
		}
		h.mu.Lock()
		h.offer = path
		h.mu.Unlock()
	case kPlace:
		h.place(g, turn, m.place)
	case kConfirm:
		phone.ConfirmLeg(m.leg)
	case kCancel:
		phone.CancelLeg(m.leg)
	case kHangUp:
		phone.HangUpLeg(m.leg, m.cause)
	case kSendDigit:
		phone.SendDigit(m.leg, byte(m.code), m.span) //nolint:gosec // was a byte
	case kAnswerRefer:
		phone.AnswerRefer(m.leg, m.yes)
	case kNotifyRefer:
		phone.NotifyRefer(m.leg, m.code, m.text)
	case kAttachLegs, kAttachMedia:
		h.attach(g, m)
	case kForget:
		h.closeMedia(g)
		phone.ForgetLegs(m.attempt)
		g.dropHost(h)
	case kRecover:
		h.mu.Lock()
		h.legSeq[m.recover.Leg] = recovered
		h.mu.Unlock()
		phone.RecoverLeg(*m.recover, h.legSink(g, turn))
	case kHearEarly:
		media.HearEarly(m.attempt, m.sdp)
	case kAnswer:
		media.Answer(m.attempt, m.sdp, m.at)
	case kAttachBot, kAttachAhead:
		media.AttachBot(*m.bot)
	case kDetachBot:
		media.DetachBot(m.attempt)
	case kPlay:
		media.PlayMessage(m.attempt)
	case kLeaveVoicemail:
		media.LeaveVoicemail(engine.LeaveVoicemail{Attempt: m.attempt, Message: engine.VoicemailID(m.text)})
	case kHearDigit:
		if leg := media.HearDigit(m.attempt, byte(m.code)); leg != "" { //nolint:gosec // was a byte
			phone.SendDigit(leg, byte(m.code), engine.KeyDuration) //nolint:gosec // was a byte
		}
	case kCloseMedia:
		h.closeMedia(g)
	case kOpenPeer:
		offer, err := media.OpenPeer(m.attempt, m.leg, m.profile)
		h.mu.Lock()
		h.peers[m.leg] = prepared{offer, err}
		h.mu.Unlock()
	case kClosePeer:
		media.ClosePeer(m.attempt, m.leg)
	case kJoinPeer:
		result(nil, media.JoinPeer(m.attempt, m.leg, m.sdp))
	case kSendDigits:
		result(nil, g.cfg.sendDigits(m.attempt, m.leg, m.text))
	case kSettle:
		result(nil, nil)
	case kAdopt, kLegEvent, kMediaEvent, kOpenSocket, kCloseSocket, kSocketEvent: // dealt with before
	}
}

// refuse answers a request about a call that is not here, or not the asker's. The node's earlier
// commands for it count as settled: they were dropped.
func refuse(m *message, result func([]engine.LegID, error)) {
	switch m.kind {
	case kSettle:
		result(nil, nil)
	case kJoinPeer, kSendDigits:
		result(nil, errNotTheirs)
	default:
	}
}

// place sends the INVITE of another node's call.
func (h *hosted) place(g *Gateway, turn int, cmd *engine.PlaceLeg) {
	h.mu.Lock()
	path, far := h.peers[cmd.Leg]
	if !far {
		path = h.offer
	}
	h.mu.Unlock()
	if path.err != nil {
		g.cfg.Log.Warn().Err(path.err).Str("attempt_id",
			string(cmd.Attempt)).Msg("no media path; a call for another node is not placed")
		e := engine.LegEvent{Attempt: cmd.Attempt, Leg: cmd.Leg, Trunk: cmd.Trunk, Seq: 1, At: g.cfg.Clock.Now(),
			Kind: engine.LegNotSent, NotSent: engine.NotSentMedia}
		h.mu.Lock()
		h.unplaced = append(h.unplaced, e)
		h.mu.Unlock()
		h.legSink(g, turn)(e)
		return
	}
	cmd.Offer = path.offer
	cmd.SendBy = min(cmd.SendBy, g.cfg.LeaseEnd())
	g.cfg.Telephony.PlaceLeg(*cmd, h.legSink(g, turn))
}

var errDigits = errors.New("gateway: the keys cannot be sent by INFO")

// sendDigits sends keys on the media path, or by signalling if the far side requires it.
func (c *Config) sendDigits(a engine.AttemptID, leg engine.LegID, digits string) error {
	bySIP, err := c.Media.SendDigits(a, digits)
	if err != nil {
		return err
	}
	for i := 0; bySIP && i < len(digits); i++ {
		if !c.Telephony.SendDigit(leg, digits[i], engine.KeyDuration) {
			return errDigits
		}
	}
	return nil
}

// refused is the error that tells another node why a port refused its command.
func refused(err error) error {
	var e *engine.Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	return &engine.Error{Kind: engine.KindInternal, Code: "refused_there", Detail: err.Error()}
}
