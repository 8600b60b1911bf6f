package gateway

import (
	"dialler/actors/cluster/link"
	"dialler/engine"
)

// wire describes messages of calls.
type wire struct{ *link.Wire }

// This file describes engine's commands and events. A field that is added there
// and forgotten here fails TestEveryFieldCrossesTheWire.

func (w wire) placeLeg(c *engine.PlaceLeg) {
	link.Text(w.Wire, &c.Attempt)
	link.Text(w.Wire, &c.Leg)
	link.Text(w.Wire, &c.Trunk)
	link.Text(w.Wire, &c.From)
	link.Text(w.Wire, &c.To)
	w.SendBy(&c.SendBy)
	link.Number(w.Wire, &c.RingTimeout)
	w.Octets(&c.Offer)
	link.Text(w.Wire, &c.URI)
	link.Text(w.Wire, &c.Password)
	link.List(w.Wire, &c.Headers, func(h *engine.SIPHeader) {
		link.Text(w.Wire, &h.Name)
		link.Text(w.Wire, &h.Value)
	})
}

func (w wire) dialog(d *engine.DialogState) {
	link.Text(w.Wire, &d.ToTag)
	link.Text(w.Wire, &d.RemoteTarget)
	link.List(w.Wire, &d.RouteSet, func(s *string) { link.Text(w.Wire, s) })
	link.Number(w.Wire, &d.CSeq)
	link.Text(w.Wire, &d.RemoteAddr)
	link.Text(w.Wire, &d.Transport)
	link.Text(w.Wire, &d.LocalAddr)
	link.Number(w.Wire, &d.BytesSent)
	link.Text(w.Wire, &d.Extra)
	link.Number(w.Wire, &d.SessionSec)
}

func (w wire) legEvent(e *engine.LegEvent) {
	link.Text(w.Wire, &e.Attempt)
	link.Text(w.Wire, &e.Leg)
	link.Text(w.Wire, &e.Trunk)
	link.Number(w.Wire, &e.Seq)
	w.Instant(&e.At)
	link.Text(w.Wire, &e.Kind)
	link.Number(w.Wire, &e.Code)
	link.Text(w.Wire, &e.Reason)
	link.Text(w.Wire, &e.NotSent)
	link.Number(w.Wire, &e.Q850)
	w.Flag(&e.NetworkBlocked)
	w.Flag(&e.LimitReached)
	link.Number(w.Wire, &e.RetryAfter)
	w.Octets(&e.SDP)
	link.Optional(w.Wire, &e.Dialog, w.dialog)
	link.Number(w.Wire, &e.Digit)
	link.List(w.Wire, &e.Contacts, func(s *string) { link.Text(w.Wire, s) })
	link.Text(w.Wire, &e.Attestation)
	link.Text(w.Wire, &e.ReferTo)
	link.Text(w.Wire, &e.Replaces)
	link.Text(w.Wire, &e.ReferredBy)
	link.Text(w.Wire, &e.Proof)
}

func (w wire) recoveredLeg(r *engine.RecoveredLeg) {
	link.Text(w.Wire, &r.Attempt)
	link.Text(w.Wire, &r.Leg)
	link.Text(w.Wire, &r.Trunk)
	link.Text(w.Wire, &r.From)
	link.Text(w.Wire, &r.To)
	link.Text(w.Wire, &r.URI)
	link.Optional(w.Wire, &r.Dialog, w.dialog)
	link.Number(w.Wire, &r.CSeq)
	link.Number(w.Wire, &r.Node)
	link.Text(w.Wire, &r.SentBy)
	link.Number(w.Wire, &r.GiveUp)
}

func (w wire) hangUpCause(c *engine.HangUpCause) {
	link.Number(w.Wire, &c.Q850)
	link.Text(w.Wire, &c.Text)
}

func (w wire) profile(p *engine.MediaProfile) {
	link.List(w.Wire, &p.Codecs, func(s *string) { link.Text(w.Wire, s) })
	link.Text(w.Wire, &p.SRTP)
	link.Text(w.Wire, &p.DTMF)
	w.Flag(&p.DTX)
	link.Text(w.Wire, &p.Symmetric)
	link.List(w.Wire, &p.Networks, func(s *string) { link.Text(w.Wire, s) })
	if w.Version() >= 3 {
		link.Text(w.Wire, &p.Family)
		link.Text(w.Wire, &p.Reached)
	}
}

func (w wire) openMedia(c *engine.OpenMedia) {
	link.Text(w.Wire, &c.Attempt)
	link.Text(w.Wire, &c.AMD)
	w.rules(&c.Listen)
	w.profile(&c.Profile)
	w.Flag(&c.Record)
	link.Number(w.Wire, &c.Node)
	link.Number(w.Wire, &c.Epoch)
}

func (w wire) rules(r *engine.AMDRules) {
	w.Real(&r.Bias)
	link.Number(w.Wire, &r.Timeout)
	link.Number(w.Wire, &r.Revise)
	link.Text(w.Wire, &r.Voicemail)
}

func (w wire) attachBot(c *engine.AttachBot) {
	link.Text(w.Wire, &c.Attempt)
	link.Text(w.Wire, &c.Session)
	link.Text(w.Wire, &c.Call)
	link.List(w.Wire, &c.Endpoints, func(s *string) { link.Text(w.Wire, s) })
	link.Text(w.Wire, &c.AuthToken)
	link.Text(w.Wire, &c.Account)
	link.Table(w.Wire, &c.Parameters, func(s *string) { link.Text(w.Wire, s) })
	w.Instant(&c.Deadline)
}

func (w wire) mediaEvent(e *engine.MediaEvent) {
	link.Text(w.Wire, &e.Attempt)
	link.Number(w.Wire, &e.Seq)
	w.Instant(&e.At)
	link.Text(w.Wire, &e.Kind)
	link.Text(w.Wire, &e.Session)
	link.Text(w.Wire, &e.Verdict)
	w.Real(&e.Confidence)
	link.Number(w.Wire, &e.AMDTook)
	w.Instant(&e.GreetingEnd)
	link.Table(w.Wire, &e.Features, w.Real)
	link.Number(w.Wire, &e.Digit)
	link.Text(w.Wire, &e.Error)
	w.Flag(&e.Refused)
	link.Text(w.Wire, &e.Endpoint)
	link.List(w.Wire, &e.Missed, w.missed)
	if w.Version() >= 4 {
		w.Flag(&e.OnHold)
	}
}

func (w wire) recording(r *engine.Recording) {
	link.Text(w.Wire, &r.ID)
	w.Date(&r.StartedAt)
	link.Number(w.Wire, &r.Duration)
	link.Number(w.Wire, &r.Bytes)
	w.Flag(&r.Incomplete)
	link.Optional(w.Wire, &r.DeletedAt, w.Date)
}

func (w wire) quality(q *engine.MediaQuality) {
	w.Unsigned(&q.PacketsReceived)
	w.Unsigned(&q.PacketsSent)
	w.Unsigned(&q.PacketsLost)
	w.Unsigned(&q.PacketsLate)
	link.Number(w.Wire, &q.Jitter)
	link.Text(w.Wire, &q.Codec)
	w.Real(&q.MOS)
	w.Unsigned(&q.FarReports)
	w.Unsigned(&q.FarLost)
	link.Number(w.Wire, &q.FarJitter)
	w.Real(&q.FarMOS)
	link.Number(w.Wire, &q.RoundTrip)
	link.Optional(w.Wire, &q.Recording, w.recording)
	if w.Version() >= 2 {
		link.Text(w.Wire, &q.HeardFrom)
		w.Unsigned(&q.DroppedElsewhere)
		w.Unsigned(&q.DroppedAmbiguous)
	}
	if w.Version() >= 3 {
		link.Text(w.Wire, &q.SRTP)
	}
}
