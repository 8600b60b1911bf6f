package actors

import (
	"context"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
	"dialler/engine/attempt"
	corecall "dialler/engine/call"
	core "dialler/engine/run"
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

// numberOf is the number of a tel: URI.
func numberOf(uri string) (n engine.PhoneNumber, ok bool) {
	digits, ok := strings.CutPrefix(uri, "tel:")
	return engine.PhoneNumber(digits), ok
}

// dialPeer calls a bot by SIP, or the target of a transfer. A bot hears that
// the callee calls, and all that a bot with a socket is told, as headers. So
// does a target by SIP, without what is the bot's alone; a number is called from
// the call's own caller ID.
func (c *call) dialPeer(e attempt.DialPeer, now time.Time) {
	a := &c.m.A
	cmd := engine.PlaceLeg{
		Attempt: a.ID, Leg: e.Leg, Trunk: e.Trunk, URI: e.URI, From: a.To,
		SendBy: c.by(e.Leg, c.d.clock.Boot().Add(e.SendBy.Sub(now))), RingTimeout: e.SendBy.Sub(now),
	}
	if n, ok := numberOf(e.URI); ok {
		cmd.From, cmd.To, cmd.URI = a.From, n, ""
		if c.d.destinations.judge(n, a.From) != nil {
			c.notSent(e.Leg, engine.NotSentTrunk, now)
			return
		}
	} else {
		p := c.parameters()
		if e.Kind != attempt.PeerBot {
			delete(p, "result_url")
			delete(p, "result_token")
		}
		cmd.Headers = engine.VariableHeaders(p, standard)
	}
	if e.Kind == attempt.PeerBot {
		cmd.Password = c.bot.AuthToken
		c.botAsked = true
	}
	var profile engine.MediaProfile // of the trunk, when it goes through one
	if e.Profile != nil {
		profile = *e.Profile
	}
	offer, err := c.d.media.OpenPeer(a.ID, e.Leg, profile)
	if err != nil {
		c.d.log.Error().Err(err).Str("attempt_id", string(a.ID)).Msg("no media path for a far leg; it is not called")
		c.notSent(e.Leg, engine.NotSentMedia, now)
		return
	}
	cmd.Offer = offer
	c.d.phone.PlaceLeg(cmd, c.legSink())
}

var errCallEnded = engine.NotFound("call_ended", "the call is over")

// transferCall asks for a call to be handed over.
type transferCall struct {
	Attempt engine.AttemptID
	To      string
	ReplyTo *actor.PID
}

// transferContact is transferCall on its way to a call outside campaigns.
type transferContact struct {
	Attempt engine.AttemptID
	To      string
}

// transfer hands the call over, or says why not.
func (c *call) transfer(m *transferCall, now time.Time) {
	err := c.m.JudgeTransfer(m.To)
	if err == nil && strings.HasPrefix(m.To, "+") {
		err = c.d.destinations.judge(engine.PhoneNumber(m.To), c.m.A.From)
	}
	if err == nil {
		c.apply(attempt.Event{Kind: attempt.TransferRequested, At: now, To: m.To})
	}
	reply(c.d, m.ReplyTo, nil, err)
}

// Transfer asks for a live call to be handed over to a number or SIP address.
// Call tells what became of it.
func (t *Tree) Transfer(ctx context.Context, id engine.CallID, to string) error {
	a, err := t.stored(ctx, id)
	if err != nil {
		return err
	}
	if a.State == attempt.Ended {
		return engine.NotFound("call_ended", "the call is over")
	}
	if a.Campaign == "" {
		_, err = ask[any](ctx, t.d, t.d.dialout, &transferContact{Attempt: a.ID, To: to})
		return err
	}
	m := &core.Transfer{Contact: a.Contact, Transfer: corecall.Transfer{Attempt: a.ID, To: to}}
	_, err = ask[any](ctx, t.d, t.d.campaigns, t.askRun(a.Campaign, m))
	return err
}

// peerJoined tells what came of connecting callee and far leg on another node.
type peerJoined struct {
	Attempt engine.AttemptID
	Leg     engine.LegID
	Err     error
}

// joinPeer connects callee and far leg, if its SDP answer can be used.
func (c *call) joinPeer(e attempt.JoinPeer, now time.Time) {
	id, leg := c.m.A.ID, e.Leg
	if !c.d.elsewhere(id) {
		c.joined(leg, c.d.media.JoinPeer(id, leg, e.SDP), now)
		return
	}
	root, self := c.d.root, c.self
	c.d.away.JoinPeerThen(id, leg, e.SDP, func(err error) { root.Send(self, &peerJoined{Attempt: id, Leg: leg, Err: err}) })
}

func (c *call) joined(leg engine.LegID, err error, now time.Time) {
	ev := attempt.Event{Kind: attempt.PeerJoined, At: now, Peer: leg}
	if err != nil {
		c.d.log.Warn().Err(err).Str("attempt_id", string(c.m.A.ID)).Msg("the SDP of a far leg cannot be used")
		ev.Kind, ev.Err = attempt.PeerUnfit, err.Error()
	}
	if p := c.peerOf(leg); p != nil && p.Kind == attempt.PeerBot {
		if ev.Err == "" {
			c.reached(p.URI, nil)
		} else {
			c.d.root.Send(c.d.fleet, &botTried{Bot: c.bot.ID, Missed: []engine.EndpointMiss{{Endpoint: p.URI, Reason: "its SDP cannot be used"}}})
		}
	}
	c.apply(ev)
}
