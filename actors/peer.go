package actors

import (
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
)

// This file carries out what concerns the far legs of an answered call.

// dialled is the leg that an effect places, "" for any other effect.
func dialled(e attempt.Effect) engine.LegID {
	switch e := e.(type) {
	case attempt.Dial:
		return e.Leg
	case attempt.DialPeer:
		return e.Leg
	}
	return ""
}

// far says whether the leg is one to somebody else than the callee.
func (c *call) far(leg engine.LegID) bool {
	for i := range c.m.A.Peers {
		if c.m.A.Peers[i].ID == leg {
			return true
		}
	}
	return false
}

// dialPeer calls a bot by SIP. It hears that the callee calls, and all that a
// bot with a socket is told, as headers.
func (c *call) dialPeer(e attempt.DialPeer, now time.Time) {
	a := &c.m.A
	offer, err := c.d.media.OpenPeer(a.ID, e.Leg)
	if err != nil {
		c.d.log.Error().Err(err).Str("attempt_id", string(a.ID)).Msg("no media path for the bot; it is not called")
		c.notSent(e.Leg, engine.NotSentMedia, now)
		return
	}
	c.d.phone.PlaceLeg(engine.PlaceLeg{
		Attempt: a.ID, Leg: e.Leg, URI: e.URI, From: a.To, Headers: engine.VariableHeaders(c.parameters(), standard),
		SendBy: c.d.clock.Boot().Add(e.SendBy.Sub(now)), RingTimeout: e.SendBy.Sub(now), Offer: offer,
	}, c.legSink())
}

// joinPeer connects callee and far leg, if its SDP answer can be used.
func (c *call) joinPeer(e attempt.JoinPeer, now time.Time) {
	ev := attempt.Event{Kind: attempt.PeerJoined, At: now, Peer: e.Leg}
	if err := c.d.media.JoinPeer(c.m.A.ID, e.Leg, e.SDP); err != nil {
		c.d.log.Warn().Err(err).Str("attempt_id", string(c.m.A.ID)).Msg("the bot's SDP cannot be used")
		ev.Kind, ev.Err = attempt.PeerUnfit, err.Error()
	}
	c.apply(ev)
}
