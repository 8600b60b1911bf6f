package call

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/numberpool"
)

// placed is the leg that an effect places, "" if it places none.
func placed(e attempt.Effect) engine.LegID {
	switch e := e.(type) {
	case attempt.Dial:
		return e.Leg
	case attempt.DialPeer:
		return e.Leg
	}
	return ""
}

// early is how long an INVITE must wait so that no more leave within a second than the trunk
// allows.
func (c *Call) early(e attempt.Effect) time.Duration {
	if leg := placed(e); leg == "" || leg != c.Newest || c.Granted.From == 0 {
		return 0
	}
	return time.Duration(c.Granted.From - c.in.Boot)
}

// do carries out one effect of the machine. Effects that need nothing else are handed on.
func (c *Call) do(e attempt.Effect, now time.Time) {
	a := &c.Machine.A
	switch v := e.(type) {
	case attempt.Dial:
		c.dial(v, now)
	case attempt.DialPeer:
		c.dialPeer(v, now)
	case attempt.Cancel:
		if waiting := slices.IndexFunc(c.Gated, func(g Gated) bool { return placed(g.Effect) == v.Leg }); waiting >= 0 {
			c.Gated = slices.Delete(c.Gated, waiting, waiting+1) // its INVITE waits for the intent
			c.notSent(v.Leg, engine.NotSentCancelled, now)
			return
		}
		c.emit(e)
	case attempt.AnswerMedia:
		if c.Machine.Config.Plays {
			c.emit(CountCallerServed)
		}
		c.emit(e)
	case attempt.AttachBot:
		c.attachBot(v)
	case attempt.CountLive:
		if id := c.owner.contact(); id != "" {
			c.emit(&AnswerStands{Contact: id, Attempt: a.ID})
		}
	case attempt.CloseMedia:
		if c.MediaOpen {
			c.Closed = true
			c.emit(e)
		}
	case attempt.Arm:
		c.emit(&Arm{After: v.At.Sub(now), Fired: TimerFired{Attempt: a.ID, Timer: v.Timer, Epoch: v.Epoch}})
	case attempt.TrunkEvent:
		if a.Inbound && v.Leg == a.ID.Leg(1) { // it has no channel of ours
			return
		}
		// A lost call's leg may still be up; the database tells when it is over.
		over := v.Over && !(c.in.Process.Shared() && a.Open(v.Leg))
		c.emit(&TrunkEvent{Trunk: v.Trunk, Leg: v.Leg, From: a.From, To: a.To, Class: v.Class, Over: over, At: now})
	case attempt.NextTrunk:
		c.emit(&ReserveTrunk{Leg: c.Machine.NextLeg(), Attempt: a.ID, Tried: v.Tried, Only: c.Only})
	case attempt.Line:
		switch {
		case v.Phase == attempt.PhaseServed && a.Inbound:
			c.emit(CountCallerServed)
		case v.Phase == attempt.PhaseServed:
			c.emit(CountServed)
		}
		c.out = c.Reaching.late(v, c.out)
		c.owner.line(a.ID, v, now)
	case attempt.NumberFree:
		// Likewise.
		if c.NumberHeld = c.in.Process.Shared() && a.OpenCallee(); !c.NumberHeld {
			c.numberFree(v.Strike)
		}
	case attempt.Over:
		// A lost attempt may have waiting INVITEs: they never leave.
		c.Gated = slices.DeleteFunc(c.Gated, func(g Gated) bool { return placed(g.Effect) != "" })
		if a.Inbound && a.AnsweredAt == nil {
			c.emit(&RefuseLeg{Leg: a.ID.Leg(1), Code: refusalCode(&c.Machine)})
		}
		if a.Inbound && a.ServedAt == nil && (a.AnsweredAt == nil || !c.Machine.Config.Plays) {
			c.emit(CountCallerTurnedAway)
		}
		c.emit(e)
		c.out = c.Reaching.settled(false, c.out)
		c.over(now)
	default:
		c.emit(e)
	}
}

// refusalCode is the SIP response to a call that came in and is not answered.
func refusalCode(m *attempt.Machine) int {
	switch {
	case m.Refusal == engine.CodeNumberHeld:
		return 486
	case m.A.Outcome == engine.OutcomeMediaError: // no codec of ours was offered, or not as the trunk demands (§21.4.26)
		return 488
	}
	return 480
}

// numberFree gives the caller ID back.
func (c *Call) numberFree(strike bool) {
	a := &c.Machine.A
	if a.Inbound { // nothing was dialled from it
		return
	}
	c.emit(&ReleaseNumber{Attempt: a.ID, Number: a.From,
		End: numberpool.End{NotDialled: a.InviteAt == nil, Strike: strike, Answered: a.AnsweredAt != nil}})
}

// notSent stands in for the telephony port when a leg is given up before it was
// placed.
func (c *Call) notSent(leg engine.LegID, why engine.NotSentReason, now time.Time) {
	c.apply(attempt.Event{Kind: attempt.LegNotSent, At: now, Leg: &engine.LegEvent{
		Attempt: c.Machine.A.ID, Leg: leg, Seq: 1, At: now, Kind: engine.LegNotSent, NotSent: why,
	}})
}

// by is when a leg's INVITE must have left: by last, or by the end of its trunk's grant.
func (c *Call) by(leg engine.LegID, last engine.BootTime) engine.BootTime {
	if leg == c.Newest {
		return Earliest(c.Granted.By, last)
	}
	return last
}

func (c *Call) dial(e attempt.Dial, now time.Time) {
	a, cfg := &c.Machine.A, &c.Machine.Config
	c.Placing, c.PlacingAt = &PlaceLeg{Leg: engine.PlaceLeg{
		Attempt: a.ID, Leg: e.Leg, Trunk: e.Trunk, From: a.From, To: a.To,
		SendBy: c.by(e.Leg, c.SendBy), RingTimeout: cfg.RingTimeout, Incoming: a.Inbound,
		Headers: engine.IdentityHeaders(c.owner.variables()),
	}}, now
	open := engine.OpenMedia{Attempt: a.ID, Node: a.Node, Epoch: a.Epoch, AMD: cfg.AMD, Listen: cfg.Listen,
		Record: cfg.Record, Offered: c.Offered}
	if cfg.Plays {
		open.Listen.Voicemail = cfg.Message
	}
	if e.Profile != nil {
		open.Profile = *e.Profile
	}
	c.emit(&OpenMedia{Leg: e.Leg, Open: open})
}

// mediaOpened places the leg whose media path has been opened.
func (c *Call) mediaOpened(e *MediaOpened) {
	p := c.Placing
	if p == nil || p.Leg.Leg != e.Leg {
		return
	}
	c.Placing = nil
	if e.Err != nil {
		c.notSent(e.Leg, engine.NotSentMedia, c.PlacingAt)
		return
	}
	if !p.Peer {
		c.MediaOpen = true
		if !p.Leg.Incoming {
			c.emit(CountLegPlaced)
		}
	}
	p.Leg.Offer = e.Offer
	c.emit(p)
}

// numberOf is the number of a tel: URI.
func numberOf(uri string) (n engine.PhoneNumber, ok bool) {
	digits, ok := strings.CutPrefix(uri, "tel:")
	return engine.PhoneNumber(digits), ok
}

// dialPeer calls a bot by SIP, or the target of a transfer. A bot sees the callee as caller, and
// gets the parameters of a bot with a socket as headers. A target by SIP gets them too, except
// those meant for the bot alone; a number is called from the call's own caller ID.
func (c *Call) dialPeer(e attempt.DialPeer, now time.Time) {
	a := &c.Machine.A
	place := &PlaceLeg{Peer: true, Leg: engine.PlaceLeg{
		Attempt: a.ID, Leg: e.Leg, Trunk: e.Trunk, URI: e.URI, From: a.To,
		SendBy: c.by(e.Leg, c.in.Boot.Add(e.SendBy.Sub(now))), RingTimeout: e.SendBy.Sub(now),
	}}
	cmd := &place.Leg
	if n, ok := numberOf(e.URI); ok {
		cmd.From, cmd.To, cmd.URI = a.From, n, ""
		if c.in.Process.Destination(n, a.From) != nil {
			c.notSent(e.Leg, engine.NotSentTrunk, now)
			return
		}
	} else {
		p := c.parameters()
		if e.Kind != attempt.PeerBot {
			for _, n := range forBots {
				delete(p, n)
			}
		}
		var left int
		if cmd.Headers, left = engine.VariableHeaders(p, standard); e.Kind == attempt.PeerBot {
			a.VariablesLeftOut = left
		}
	}
	if e.Kind == attempt.PeerBot {
		cmd.Password = c.Bot.AuthToken
		c.Reaching.Asked = true
	}
	open := &OpenPeer{Attempt: a.ID, Leg: e.Leg}
	if e.Profile != nil { // the trunk's, when the call goes through one
		open.Profile = *e.Profile
	} else if u, ok := engine.ParseSIPURI(e.URI); ok {
		open.Profile.Reached = u.Host
	}
	c.Placing, c.PlacingAt = place, now
	c.emit(open)
}

// sessionOf is an attempt's conversation with the bot. It is derived from the attempt: an owner
// that takes the call over knows it before it is stored, and attaches no second bot.
func sessionOf(id engine.AttemptID) engine.SessionID { return engine.SessionID("MZ" + id) }

func (c *Call) attachBot(e attempt.AttachBot) {
	a := &c.Machine.A
	if a.Session == "" {
		a.Session = sessionOf(a.ID)
	}
	c.Reaching.Asked, c.Reaching.Since = true, c.in.Boot
	c.emit(&AttachBot{Bot: c.Bot.ID, Since: c.in.Boot, Attach: engine.AttachBot{
		Attempt: a.ID, Session: a.Session, Call: a.ID.Call(), Endpoints: c.in.Process.Endpoints(&c.Bot),
		AuthToken: c.Bot.AuthToken, Headers: c.Bot.Headers, Account: c.Bot.Account, Parameters: c.parameters(),
		Deadline: e.Deadline, Socket: c.Socket,
	}})
}

// standard are the parameters of every call, in the order of the headers for a bot by SIP.
var standard = []string{"call_id", "attempt_id", "campaign_id", "contact_id", "run", "from_number", "to_number",
	"result_url", "result_token", "api_base", "attempt_number", direction, "amd_verdict", "transfer_targets",
	traceParent}

// forBots are those of standard that are for bots alone.
var forBots = []string{"result_url", "result_token", "api_base", "transfer_targets"}

// traceParent is the call in a distributed trace (W3C Trace Context, version 00). A variable of this
// name goes on with the trace of whoever asked for the call.
const traceParent = "traceparent"

// direction is "inbound" for a call that came in. A variable of this name may say anything else.
const direction = "direction"

// parameters are what the bot is told about the call.
func (c *Call) parameters() map[string]string {
	a := &c.Machine.A
	token := ""
	if c.Limits.ResultBase != "" {
		token = c.in.Process.ResultToken(a.ID.Call())
	}
	p := Parameters(a, c.owner.variables(), c.Limits.ResultBase, token)
	c.owner.identify(p)
	if to := c.Machine.Config.Transfers.Allowed; len(to) > 0 {
		p["transfer_targets"] = strings.Join(to, ",")
	}
	return p
}

// Parameters are what a bot is told about any call: the variables, and what wins over those of the
// same name. base is the address of the API without /api/v1, token the call's own; without base the
// bot is told of neither.
func Parameters(a *attempt.Attempt, variables map[string]string, base, token string) map[string]string {
	p := make(map[string]string, len(variables)+len(standard))
	maps.Copy(p, variables)
	for _, name := range standard {
		if name != traceParent && name != direction {
			delete(p, name) // a variable must not pose as what the dialler says
		}
	}
	delete(p, engine.IdentityVariable) // for the carrier only
	id := a.ID.Call()
	p["from_number"], p["to_number"] = a.From.E164(), a.To.E164()
	p["attempt_id"], p["call_id"] = string(a.ID), string(id)
	if base != "" {
		p["result_url"] = base + "/api/v1/calls/" + string(id) + "/result"
		p["result_token"] = token
		p["api_base"] = base
	}
	p["attempt_number"] = strconv.Itoa(a.Number)
	if a.Inbound {
		p[direction] = "inbound"
	} else if p[direction] == "inbound" {
		delete(p, direction)
	}
	if a.Verdict != "" {
		p["amd_verdict"] = string(a.Verdict)
	}
	if p[traceParent] == "" && len(a.ID) == 32 {
		p[traceParent] = "00-" + string(a.ID) + "-" + string(a.ID[16:]) + "-01"
	}
	return p
}
