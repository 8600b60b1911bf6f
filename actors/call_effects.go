package actors

import (
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
)

// early is how long an INVITE has to wait, so that no more of them leave within a
// second than the trunk takes.
func (c *call) early(e attempt.Effect) time.Duration {
	if leg := dialled(e); leg == "" || leg != c.newest || c.use.from == 0 {
		return 0
	}
	return time.Duration(c.use.from - c.d.clock.Boot())
}

func (c *call) do(e attempt.Effect, now time.Time) {
	d, a := c.d, &c.m.A
	switch e := e.(type) {
	case attempt.Dial:
		c.dial(e, now)
	case attempt.Confirm:
		d.phone.ConfirmLeg(e.Leg)
	case attempt.Cancel:
		if c.notPlaced(e.Leg) {
			c.notSent(e.Leg, engine.NotSentCancelled, now)
			return
		}
		d.phone.CancelLeg(e.Leg)
	case attempt.HangUp:
		d.phone.HangUpLeg(e.Leg, e.Cause)
	case attempt.AnswerMedia:
		d.stats.Answered.Add(1)
		d.media.Answer(a.ID, e.SDP, now)
	case attempt.AttachBot:
		c.attachBot(e)
	case attempt.DialPeer:
		c.dialPeer(e, now)
	case attempt.JoinPeer:
		c.joinPeer(e, now)
	case attempt.AnswerRefer:
		d.phone.AnswerRefer(e.Leg, e.Accept)
	case attempt.NotifyRefer:
		d.phone.NotifyRefer(e.Leg, e.Code, e.Reason)
	case attempt.ClosePeer:
		d.media.ClosePeer(a.ID, e.Leg)
	case attempt.DetachBot:
		d.media.DetachBot(a.ID)
	case attempt.PlayMessage:
		d.stats.Abandoned.Add(1)
		d.cfg.OnStage(StageMessage, now.Sub(c.m.CountsFrom()))
		d.media.PlayMessage(a.ID)
	case attempt.LeaveVoicemail:
		d.media.LeaveVoicemail(engine.LeaveVoicemail{Attempt: a.ID, Message: e.Message})
	case attempt.CountLive:
		c.owner.stands()
	case attempt.HearDigit:
		if leg := d.media.HearDigit(a.ID, e.Digit); leg != "" {
			d.phone.SendDigit(leg, e.Digit, engine.KeyDuration)
		}
	case attempt.CloseMedia:
		if c.opened {
			q := d.media.CloseMedia(a.ID)
			a.Quality = &q
			d.cfg.OnQuality(q)
		}
	case attempt.Arm:
		c.arm(e, now)
	case attempt.TrunkEvent:
		// Of a lost call the leg may be there still; the database says when it is over.
		e.Over = e.Over && (d.keepers == nil || !c.open(e.Leg))
		d.root.Send(d.trunks, &trunkEvent{Trunk: e.Trunk, Leg: e.Leg, From: a.From, To: a.To, Class: e.Class, Over: e.Over, At: now})
	case attempt.NextTrunk:
		d.root.Send(d.trunks, &reserveTrunk{Leg: c.m.NextLeg(), Attempt: a.ID, Tried: e.Tried, Only: c.only, ReplyTo: c.self})
	case attempt.Line:
		if e.Phase == attempt.PhaseServed {
			d.stats.Served.Add(1)
		}
		c.botLate(e)
		c.owner.line(e, now)
	case attempt.NumberFree:
		// Likewise.
		if c.numberHeld = d.keepers != nil && c.openAny(); !c.numberHeld {
			c.owner.numberFree(e.Strike)
		}
	case attempt.Over:
		d.stats.ended(c.m.A.Outcome)
		c.botTook(false)
		for _, stop := range c.timers {
			if stop != nil {
				stop()
			}
		}
		c.owner.over(now)
	}
}

// open says whether a leg may still be there.
func (c *call) open(leg engine.LegID) bool {
	return slices.ContainsFunc(c.m.A.Legs, func(l attempt.Leg) bool { return l.ID == leg && l.EndedAt == nil })
}

// openAny says whether any leg to the callee may.
func (c *call) openAny() bool {
	return slices.ContainsFunc(c.m.A.Legs, func(l attempt.Leg) bool { return l.EndedAt == nil })
}

// notPlaced says whether the leg's INVITE still waits for its intent.
func (c *call) notPlaced(leg engine.LegID) bool {
	for i, g := range c.gated {
		if dialled(g.e) == leg {
			c.gated = append(c.gated[:i:i], c.gated[i+1:]...)
			return true
		}
	}
	return false
}

// notSent stands in for the telephony port when a leg is given up before it
// was placed.
func (c *call) notSent(leg engine.LegID, why engine.NotSentReason, now time.Time) {
	c.apply(attempt.Event{Kind: attempt.LegNotSent, At: now, Leg: &engine.LegEvent{
		Attempt: c.m.A.ID, Leg: leg, Seq: 1, At: now, Kind: engine.LegNotSent, NotSent: why,
	}})
}

// by is when a leg's INVITE has to have left: at last then, or when its trunk's
// grant ends.
func (c *call) by(leg engine.LegID, last engine.BootTime) engine.BootTime {
	if leg == c.newest {
		return earliest(c.use.by, last)
	}
	return last
}

func (c *call) dial(e attempt.Dial, now time.Time) {
	a := &c.m.A
	open := engine.OpenMedia{Attempt: a.ID, Node: a.Node, Epoch: a.Epoch, AMD: c.m.Config.AMD, Listen: c.m.Config.Listen, Record: c.m.Config.Record}
	if e.Profile != nil {
		open.Profile = *e.Profile
	}
	offer, err := c.d.media.Open(open, c.mediaSink())
	if err != nil {
		c.d.log.Error().Err(err).Str("attempt_id", string(a.ID)).Msg("no media path; the call is not placed")
		c.notSent(e.Leg, engine.NotSentMedia, now)
		return
	}
	c.opened = true
	c.d.stats.LegsPlaced.Add(1)
	c.d.phone.PlaceLeg(engine.PlaceLeg{
		Attempt: a.ID, Leg: e.Leg, Trunk: e.Trunk, From: a.From, To: a.To,
		SendBy: c.by(e.Leg, c.sendBy), RingTimeout: c.m.Config.RingTimeout, Offer: offer,
		Headers: engine.IdentityHeaders(c.owner.parameters()),
	}, c.legSink())
}

func (c *call) attachBot(e attempt.AttachBot) {
	a := &c.m.A
	if a.Session == "" {
		a.Session = sessionOf(a.ID)
	}
	c.botAsked, c.botFrom = true, c.d.clock.Boot()
	c.d.late.bot(c.bot.ID).begin(a.ID, c.botFrom)
	c.d.media.AttachBot(engine.AttachBot{
		Attempt: a.ID, Session: a.Session, Call: a.ID.Call(), Endpoints: c.d.reach.of(&c.bot),
		AuthToken: c.bot.AuthToken, Account: c.bot.Account, Parameters: c.parameters(), Deadline: e.Deadline,
	})
}

// standard are the parameters of every call, in the order of the headers that a
// bot by SIP gets.
var standard = []string{"call_id", "attempt_id", "campaign_id", "contact_id", "run", "from_number", "to_number", "result_url", "result_token"}

// parameters are what the bot is told of the call.
func (c *call) parameters() map[string]string {
	a := &c.m.A
	extra := c.owner.parameters()
	p := make(map[string]string, len(extra)+10)
	for k, v := range extra {
		p[k] = v
	}
	delete(p, engine.IdentityVariable) // is the carrier's to read
	id := a.ID.Call()
	p["from_number"], p["to_number"] = a.From.E164(), a.To.E164()
	p["attempt_id"], p["call_id"] = string(a.ID), string(id)
	if c.d.cfg.ResultBase != "" {
		p["result_url"] = c.d.cfg.ResultBase + "/api/v1/calls/" + string(id) + "/result"
		p["result_token"] = c.d.cfg.ResultToken(id)
	}
	return p
}

func (c *call) arm(e attempt.Arm, now time.Time) {
	i := timerSlot[e.Timer]
	if c.timers[i] != nil {
		c.timers[i]()
	}
	c.timers[i] = c.d.after(e.At.Sub(now), c.self, &timerFired{Attempt: c.m.A.ID, Timer: e.Timer, Epoch: e.Epoch})
}
