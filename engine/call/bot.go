package call

import (
	"fmt"

	"dialler/engine"
	"dialler/engine/attempt"
)

// Reaching is how a call's bot is reached. It tells the fleet which endpoints took the call's
// session and which did not, and the brake how long that took.
type Reaching struct {
	Bot     engine.BotID
	Attempt engine.AttemptID
	// Asked: the bot is being reached; what comes of it is not known.
	Asked bool
	Since engine.BootTime // its socket is being opened since then, 0: it is not
}

// media takes an event of the media path.
func (b *Reaching) media(e *engine.MediaEvent, dst []Effect) []Effect {
	switch e.Kind {
	case engine.MediaBotConnected:
		return b.tried(e.Endpoint, e.Missed, dst)
	case engine.MediaBotFailed:
		missed := e.Missed
		if len(missed) == 0 {
			missed = []engine.EndpointMiss{{Reason: e.Error}}
		}
		return b.tried("", missed, dst)
	default: // of the callee
		return dst
	}
}

// tried ends the question: an endpoint took the session, or none did.
func (b *Reaching) tried(endpoint string, missed []engine.EndpointMiss, dst []Effect) []Effect {
	b.Asked = false
	return append(b.settled(true, dst), &BotTried{Bot: b.Bot, Reached: endpoint, Missed: missed})
}

// settled: the bot's socket is no longer being opened. telling: that says how long it takes.
func (b *Reaching) settled(telling bool, dst []Effect) []Effect {
	if b.Since == 0 {
		return dst
	}
	e := &BotSettled{Bot: b.Bot, Attempt: b.Attempt, Since: b.Since, Telling: telling}
	b.Since = 0
	return append(dst, e)
}

// late: the call is abandoned while its bot was being reached. Nobody will say which endpoint
// did not answer.
func (b *Reaching) late(l attempt.Line, dst []Effect) []Effect {
	if l.Phase != attempt.PhaseAbandoned || !b.Asked || l.Cause == engine.AbandonNoSeat {
		return dst
	}
	return b.tried("", []engine.EndpointMiss{{Reason: "it did not answer in time"}}, dst)
}

// leg takes an event of a bot's leg that is called by SIP: p is the leg before the event.
func (b *Reaching) leg(p *attempt.Peer, e *engine.LegEvent, dst []Effect) []Effect {
	if p == nil || p.Kind != attempt.PeerBot || p.State != attempt.PeerCalling {
		return dst
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
		return dst
	}
	return append(dst, &BotTried{Bot: b.Bot, Missed: []engine.EndpointMiss{miss}})
}

// joined handles the result of connecting the callee and a far leg.
func (c *Call) joined(e *PeerJoined) {
	ev := attempt.Event{Kind: attempt.PeerJoined, At: c.in.Now, Peer: e.Leg}
	if e.Err != nil {
		ev.Kind, ev.Err = attempt.PeerUnfit, e.Err.Error()
	}
	if p := c.Machine.A.Peer(e.Leg); p != nil && p.Kind == attempt.PeerBot {
		if e.Err == nil {
			c.out = c.Reaching.tried(p.URI, nil, c.out)
		} else {
			c.emit(&BotTried{Bot: c.Bot.ID, Missed: []engine.EndpointMiss{{Endpoint: p.URI,
				Reason: "its SDP cannot be used"}}})
		}
	}
	c.apply(ev)
}
