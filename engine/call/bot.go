package call

import (
	"fmt"

	"dialler/engine"
	"dialler/engine/attempt"
)

// This file is what a call learns of its bot, for the fleet and for the brake.

// mediaTried tells the fleet which endpoints took the call's session, and which did
// not.
func (c *Call) mediaTried(e *engine.MediaEvent) {
	switch e.Kind {
	case engine.MediaBotConnected:
		c.reached(e.Endpoint, e.Missed)
	case engine.MediaBotFailed:
		missed := e.Missed
		if len(missed) == 0 {
			missed = []engine.EndpointMiss{{Reason: e.Error}}
		}
		c.reached("", missed)
	default: // of the callee
	}
}

func (c *Call) reached(endpoint string, missed []engine.EndpointMiss) {
	c.BotAsked = false
	c.botTook(true)
	c.emit(&BotTried{Bot: c.Bot.ID, Reached: endpoint, Missed: missed})
}

// botTook: the bot's socket is being opened no more; telling, that it says how long
// that takes.
func (c *Call) botTook(telling bool) {
	if c.BotSince != 0 {
		c.emit(&BotSettled{Bot: c.Bot.ID, Attempt: c.Machine.A.ID, Since: c.BotSince, Telling: telling})
		c.BotSince = 0
	}
}

// botLate: the call is abandoned while its bot was being reached; nobody will say which
// endpoint it was that did not answer.
func (c *Call) botLate(l attempt.Line) {
	if l.Phase != attempt.PhaseAbandoned || !c.BotAsked || l.Cause == engine.AbandonNoSeat {
		return
	}
	c.reached("", []engine.EndpointMiss{{Reason: "it did not answer in time"}})
}

// peerTried tells of a bot that is called by SIP: p is its leg as it stood before the
// event.
func (c *Call) peerTried(p *attempt.Peer, e *engine.LegEvent) {
	if p == nil || p.Kind != attempt.PeerBot || p.State != attempt.PeerCalling {
		return
	}
	miss := engine.EndpointMiss{Endpoint: p.URI}
	switch e.Kind {
	case engine.LegRefused:
		miss.Reason = fmt.Sprintf("it answered SIP %d", e.Code)
	case engine.LegNotSent:
		miss.Reason = "nothing can be sent to it"
	case engine.LegSilent:
		miss.Reason = "it does not answer"
	default:
		return
	}
	c.emit(&BotTried{Bot: c.Bot.ID, Missed: []engine.EndpointMiss{miss}})
}

// peerOf gives a far leg as it stands, nil when there is none.
func (c *Call) peerOf(leg engine.LegID) *attempt.Peer {
	for i := range c.Machine.A.Peers {
		if p := &c.Machine.A.Peers[i]; p.ID == leg {
			return p
		}
	}
	return nil
}

// joined takes what came of connecting callee and far leg.
func (c *Call) joined(e *PeerJoined) {
	ev := attempt.Event{Kind: attempt.PeerJoined, At: c.in.Now, Peer: e.Leg}
	if e.Err != nil {
		ev.Kind, ev.Err = attempt.PeerUnfit, e.Err.Error()
	}
	if p := c.peerOf(e.Leg); p != nil && p.Kind == attempt.PeerBot {
		if e.Err == nil {
			c.reached(p.URI, nil)
		} else {
			c.emit(&BotTried{Bot: c.Bot.ID, Missed: []engine.EndpointMiss{{Endpoint: p.URI, Reason: "its SDP cannot be used"}}})
		}
	}
	c.apply(ev)
}
