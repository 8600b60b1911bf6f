package gateway

import "dialler/engine"

// This file describes engine's commands and events. A field that is added there
// and forgotten here fails TestEveryFieldCrossesTheWire.

func (w *wire) placeLeg(c *engine.PlaceLeg) {
	text(w, &c.Attempt)
	text(w, &c.Leg)
	text(w, &c.Trunk)
	text(w, &c.From)
	text(w, &c.To)
	w.sendBy(&c.SendBy)
	number(w, &c.RingTimeout)
	w.octets(&c.Offer)
	text(w, &c.URI)
	text(w, &c.Password)
	list(w, &c.Headers, func(h *engine.SIPHeader) {
		text(w, &h.Name)
		text(w, &h.Value)
	})
}

func (w *wire) dialog(d *engine.DialogState) {
	text(w, &d.ToTag)
	text(w, &d.RemoteTarget)
	list(w, &d.RouteSet, func(s *string) { text(w, s) })
	number(w, &d.CSeq)
	text(w, &d.RemoteAddr)
	text(w, &d.Transport)
	text(w, &d.LocalAddr)
	number(w, &d.BytesSent)
	text(w, &d.Extra)
}

func (w *wire) legEvent(e *engine.LegEvent) {
	text(w, &e.Attempt)
	text(w, &e.Leg)
	text(w, &e.Trunk)
	number(w, &e.Seq)
	w.instant(&e.At)
	text(w, &e.Kind)
	number(w, &e.Code)
	text(w, &e.Reason)
	text(w, &e.NotSent)
	number(w, &e.Q850)
	w.flag(&e.NetworkBlocked)
	w.flag(&e.LimitReached)
	number(w, &e.RetryAfter)
	w.octets(&e.SDP)
	optional(w, &e.Dialog, w.dialog)
	number(w, &e.Digit)
	list(w, &e.Contacts, func(s *string) { text(w, s) })
	text(w, &e.Attestation)
	text(w, &e.ReferTo)
	text(w, &e.Replaces)
	text(w, &e.ReferredBy)
	text(w, &e.Proof)
}

func (w *wire) recoveredLeg(r *engine.RecoveredLeg) {
	text(w, &r.Attempt)
	text(w, &r.Leg)
	text(w, &r.Trunk)
	text(w, &r.From)
	text(w, &r.To)
	text(w, &r.URI)
	optional(w, &r.Dialog, w.dialog)
	number(w, &r.CSeq)
	number(w, &r.Node)
	text(w, &r.SentBy)
	number(w, &r.GiveUp)
}

func (w *wire) hangUpCause(c *engine.HangUpCause) {
	number(w, &c.Q850)
	text(w, &c.Text)
}

func (w *wire) profile(p *engine.MediaProfile) {
	list(w, &p.Codecs, func(s *string) { text(w, s) })
	text(w, &p.SRTP)
	text(w, &p.DTMF)
	w.flag(&p.DTX)
	text(w, &p.Symmetric)
	list(w, &p.Networks, func(s *string) { text(w, s) })
}

func (w *wire) openMedia(c *engine.OpenMedia) {
	text(w, &c.Attempt)
	text(w, &c.AMD)
	w.rules(&c.Listen)
	w.profile(&c.Profile)
	w.flag(&c.Record)
	number(w, &c.Node)
	number(w, &c.Epoch)
}

func (w *wire) rules(r *engine.AMDRules) {
	w.real(&r.Bias)
	number(w, &r.Timeout)
	number(w, &r.Revise)
	text(w, &r.Voicemail)
}

func (w *wire) attachBot(c *engine.AttachBot) {
	text(w, &c.Attempt)
	text(w, &c.Session)
	text(w, &c.Call)
	list(w, &c.Endpoints, func(s *string) { text(w, s) })
	text(w, &c.AuthToken)
	text(w, &c.Account)
	table(w, &c.Parameters, func(s *string) { text(w, s) })
	w.instant(&c.Deadline)
}

func (w *wire) mediaEvent(e *engine.MediaEvent) {
	text(w, &e.Attempt)
	number(w, &e.Seq)
	w.instant(&e.At)
	text(w, &e.Kind)
	text(w, &e.Session)
	text(w, &e.Verdict)
	w.real(&e.Confidence)
	number(w, &e.AMDTook)
	w.instant(&e.GreetingEnd)
	table(w, &e.Features, w.real)
	number(w, &e.Digit)
	text(w, &e.Error)
	w.flag(&e.Refused)
	text(w, &e.Endpoint)
	list(w, &e.Missed, func(m *engine.EndpointMiss) {
		text(w, &m.Endpoint)
		text(w, &m.Reason)
	})
}

func (w *wire) recording(r *engine.Recording) {
	text(w, &r.ID)
	w.date(&r.StartedAt)
	number(w, &r.Duration)
	number(w, &r.Bytes)
	w.flag(&r.Incomplete)
	optional(w, &r.DeletedAt, w.date)
}

func (w *wire) quality(q *engine.MediaQuality) {
	w.unsigned(&q.PacketsReceived)
	w.unsigned(&q.PacketsSent)
	w.unsigned(&q.PacketsLost)
	w.unsigned(&q.PacketsLate)
	number(w, &q.Jitter)
	text(w, &q.Codec)
	w.real(&q.MOS)
	w.unsigned(&q.FarReports)
	w.unsigned(&q.FarLost)
	number(w, &q.FarJitter)
	w.real(&q.FarMOS)
	number(w, &q.RoundTrip)
	optional(w, &q.Recording, w.recording)
}
