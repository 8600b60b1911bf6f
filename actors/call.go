package actors

import (
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
	"dialler/engine/attempt"
)

// callOwner is the actor to which an attempt belongs: a contact, or a dialout.
type callOwner interface {
	// record sends what is to be durable and gives the step to wait for.
	record(what attempt.What, now time.Time) (step int)
	// line tells whoever paces where the line stands.
	line(l attempt.Line, now time.Time)
	// stands says that the live answer can no longer be taken back.
	stands()
	// dialled says that the attempt's first INVITE left.
	dialled(at time.Time)
	// numberFree gives the caller ID back.
	numberFree(strike bool)
	// parameters are the bot's customParameters beside those of every call.
	parameters() map[string]string
	// over says that the attempt has ended.
	over(now time.Time)
}

// call carries out the effects of one attempt's machine. It lives inside its
// owner's actor and is used from its Receive only.
type call struct {
	d      *deps
	self   *actor.PID
	owner  callOwner
	m      attempt.Machine
	bot    engine.Bot
	sendBy engine.BootTime
	// The newest leg whose trunk was asked for, and when its INVITE may leave.
	newest engine.LegID
	use    use
	only   engine.TrunkID // the one trunk that may carry it, "" = any
	opened bool
	// numberHeld: the attempt has ended, and its caller ID is still in use by a leg.
	numberHeld bool
	// botAsked: the bot is being reached; what comes of it is not known.
	botAsked bool
	timers   [6]func()
	buf      []attempt.Effect

	acked int // newest durable step
	last  int // newest recorded step
	gated []gatedEffect
}

type gatedEffect struct {
	step int
	e    attempt.Effect
}

// use is when what was granted may be used, by the boot-time clock: from one moment
// on, and before the other, 0: always.
type use struct{ from, by engine.BootTime }

// mayLeave: what was held back until now may be sent.
type mayLeave struct{ Attempt engine.AttemptID }

// timerFired comes back from the clock; a stale epoch is dropped by the machine.
type timerFired struct {
	Attempt engine.AttemptID
	Timer   attempt.Timer
	Epoch   int
}

// reserveTrunk asks for a channel and a token for one leg.
type reserveTrunk struct {
	Leg     engine.LegID
	Attempt engine.AttemptID
	Tried   []engine.TrunkID
	Only    engine.TrunkID // no other; "" = any
	ReplyTo *actor.PID
}

// trunkReserved answers reserveTrunk.
type trunkReserved struct {
	Attempt    engine.AttemptID
	Leg        engine.LegID
	Trunk      engine.TrunkID // "" when refused
	Media      *engine.MediaProfile
	Use        use // when its INVITE may leave
	Constraint engine.Constraint
	RetryAt    time.Time
}

func (c *call) legSink() func(engine.LegEvent) {
	root, self := c.d.root, c.self
	return func(e engine.LegEvent) { root.Send(self, &e) }
}

func (c *call) mediaSink() func(engine.MediaEvent) {
	root, self := c.d.root, c.self
	return func(e engine.MediaEvent) { root.Send(self, &e) }
}

// begin starts the attempt, whose leases are held: its INVITEs leave within
// the given time and when those may be used, or not at all.
func (c *call) begin(now time.Time, within time.Duration, u use, p *engine.MediaProfile) {
	boot := c.d.clock.Boot()
	c.sendBy = earliest(u.by, c.d.sendBy(within))
	c.newest, c.use = c.m.A.ID.Leg(1), use{from: u.from}
	c.m.A.SendBy = now.Add(time.Duration(c.sendBy - boot))
	c.d.stats.Attempts.Add(1)
	c.apply(attempt.Event{Kind: attempt.Began, At: now, Profile: p})
}

// apply takes one event through the machine and carries out what it says.
func (c *call) apply(ev attempt.Event) {
	// Effects may lead to further events (a leg that is not sent after all):
	// each step uses its own slice of the buffer.
	if ev.Kind == attempt.SeatGranted && len(c.m.Config.BotURIs) > 0 && len(c.m.A.Peers) == 0 {
		c.m.Config.BotURIs = c.d.reach.of(&c.bot)
	}
	was := stagesOf(&c.m.A)
	effects, err := c.m.Apply(ev, c.buf[len(c.buf):])
	if err != nil {
		c.d.stats.Illegal.Add(1)
		c.d.log.Warn().Err(err).Str("attempt_id", string(c.m.A.ID)).Msg("event refused by the attempt")
		return
	}
	c.timed(was)
	for _, e := range effects {
		if r, ok := e.(attempt.Record); ok {
			c.last = c.owner.record(r.What, ev.At)
			continue
		}
		switch {
		case attempt.Gated(e) && c.last > c.acked:
			c.gated = append(c.gated, gatedEffect{c.last, e})
		case c.early(e) > 0:
			c.gated = append(c.gated, gatedEffect{c.last, e})
			c.release(ev.At)
		default:
			c.do(e, ev.At)
		}
	}
}

// durable releases what waited for the step; refused says why the database
// did not take it.
func (c *call) durable(step int, refused error, now time.Time) {
	c.acked = max(c.acked, step)
	if refused != nil && c.m.A.State == attempt.Reserved && len(c.m.A.Legs) == 1 {
		c.gated = nil
		c.apply(attempt.Event{Kind: attempt.IntentRefused, At: now, Err: engine.ErrorCode(refused), Until: engine.ErrorUntil(refused)})
		return
	}
	c.release(now)
}

// release carries out what is durable and may be done now.
func (c *call) release(now time.Time) {
	for len(c.gated) > 0 && c.gated[0].step <= c.acked {
		e := c.gated[0].e
		if wait := c.early(e); wait > 0 {
			c.d.after(wait, c.self, &mayLeave{c.m.A.ID})
			return
		}
		c.gated = c.gated[1:]
		c.do(e, now)
	}
}

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
		d.root.Send(d.trunks, &trunkEvent{Trunk: e.Trunk, Leg: e.Leg, To: a.To, Class: e.Class, Over: e.Over, At: now})
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
	c.botAsked = true
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

var timerSlot = map[attempt.Timer]int{attempt.TimerRing: 0, attempt.TimerBridge: 1, attempt.TimerScreen: 2, attempt.TimerCall: 3, attempt.TimerPeer: 4, attempt.TimerRevise: 5}

func (c *call) arm(e attempt.Arm, now time.Time) {
	i := timerSlot[e.Timer]
	if c.timers[i] != nil {
		c.timers[i]()
	}
	c.timers[i] = c.d.after(e.At.Sub(now), c.self, &timerFired{Attempt: c.m.A.ID, Timer: e.Timer, Epoch: e.Epoch})
}

// receive handles the messages that concern the attempt and drops any other.
func (c *call) receive(msg any, now time.Time) {
	switch msg := msg.(type) {
	case *engine.LegEvent:
		if msg.Kind == engine.LegSent {
			c.left(msg.Leg, now)
		}
		if len(c.m.A.Peers) > 0 {
			c.peerTried(c.peerOf(msg.Leg), msg)
		}
		if ev, ok := attempt.FromLeg(*msg); ok {
			waited := c.m.A.InviteAt == nil
			c.apply(ev)
			if at := c.m.A.InviteAt; waited && at != nil {
				c.owner.dialled(*at)
				if from := c.m.A.ReservedAt; from != nil {
					c.d.cfg.OnInvite(at.Sub(*from))
				}
			}
		}
	case *engine.MediaEvent:
		if ev, ok := attempt.FromMedia(*msg); ok {
			if msg.Seq > c.m.A.MediaSeq { // else replayed
				c.mediaTried(msg)
			}
			c.apply(ev)
		}
	case *peerJoined:
		if msg.Attempt == c.m.A.ID {
			c.joined(msg.Leg, msg.Err, now)
		}
	case *mayLeave:
		if msg.Attempt == c.m.A.ID {
			c.release(now)
		}
	case *seatGranted:
		c.apply(attempt.Event{Kind: attempt.SeatGranted, At: now})
	case *timerFired:
		if msg.Attempt == c.m.A.ID { // else of the attempt before, whose stop came too late
			ev := msg.Timer.Fired(now, msg.Epoch)
			ev.Unheard = ev.Kind == attempt.BridgeTimedOut && c.d.away != nil && c.d.away.Unheard(c.m.A.ID)
			c.apply(ev)
		}
	case *trunkReserved:
		if msg.Attempt != c.m.A.ID { // asked for by an earlier attempt
			if msg.Trunk != "" {
				c.d.root.Send(c.d.trunks, &trunkEvent{Trunk: msg.Trunk, Leg: msg.Leg, Over: true, At: now})
			}
			return
		}
		c.newest, c.use = msg.Leg, msg.Use
		ev := attempt.Event{Kind: attempt.TrunkGranted, At: now, Trunk: msg.Trunk, Profile: msg.Media}
		if msg.Trunk == "" {
			ev.Kind, ev.Err = attempt.TrunkRefused, string(msg.Constraint)
		}
		c.apply(ev)
	}
}

// left notes that a leg's INVITE has left.
func (c *call) left(leg engine.LegID, now time.Time) {
	var trunk engine.TrunkID
	for i := range c.m.A.Peers {
		if p := &c.m.A.Peers[i]; p.ID == leg {
			trunk = p.Trunk
		}
	}
	for i := range c.m.A.Legs {
		if l := &c.m.A.Legs[i]; l.ID == leg {
			trunk = l.Trunk
			c.d.stats.LegsSent.Add(1)
		}
	}
	if trunk != "" {
		c.d.root.Send(c.d.trunks, &trunkEvent{Trunk: trunk, Leg: leg, Sent: true, At: now})
	}
}

// reattach gives a restarted owner its attempt back: it takes over the legs
// that live in the telephony port. ok is false when none is known there: then
// what may still ring is ended, and the attempt is lost.
func (c *call) reattach(now time.Time) (ok bool) {
	a := &c.m.A
	c.opened = true
	c.sendBy = 0 // an INVITE that has not left by now never will
	known := c.d.phone.AttachLeg(a.ID, c.legSink())
	if len(known) > 0 {
		for i := range a.Legs {
			if l := &a.Legs[i]; l.Dialog != nil && l.EndedAt == nil && a.Ending == nil {
				c.d.phone.ConfirmLeg(l.ID) // harmless when it was confirmed
			}
		}
		for i := range a.Peers {
			if p := &a.Peers[i]; p.State == attempt.PeerUp && a.Ending == nil {
				c.d.phone.ConfirmLeg(p.ID)
			}
		}
		for _, e := range c.m.Rearm(now, nil) {
			c.do(e, now)
		}
		return true
	}
	return false
}

// recoverLegs ends what an earlier owner's legs may have left at the carrier;
// their last events come to the sink.
func (c *call) recoverLegs() (watched int) {
	a := &c.m.A
	if !a.Live() { // it was closed by an earlier owner
		c.numberHeld = c.d.keepers != nil && c.openAny()
	}
	for i := range a.Legs {
		l := &a.Legs[i]
		if l.EndedAt != nil {
			continue
		}
		c.d.phone.RecoverLeg(engine.RecoveredLeg{
			Attempt: a.ID, Leg: l.ID, Node: a.Node, Trunk: l.Trunk, From: a.From, To: a.To, Dialog: l.Dialog,
			GiveUp: c.m.Config.RingTimeout + c.d.cfg.RingGrace,
		}, c.legSink())
		watched++
	}
	for i := range a.Peers {
		p := &a.Peers[i]
		if p.EndedAt != nil {
			continue
		}
		r := engine.RecoveredLeg{
			Attempt: a.ID, Leg: p.ID, Node: a.Node, Trunk: p.Trunk, From: a.To, URI: p.URI, Dialog: p.Dialog,
			GiveUp: c.m.Config.RingTimeout + c.d.cfg.RingGrace,
		}
		if n, ok := numberOf(p.URI); ok {
			r.From, r.To, r.URI = a.From, n, ""
		}
		c.d.phone.RecoverLeg(r, c.legSink())
		watched++
	}
	return watched
}

// closed notes the end of a leg that is watched. With the last one to the callee
// the caller ID is free.
func (c *call) closed(e *engine.LegEvent) {
	defer func() {
		if c.numberHeld && !c.openAny() {
			c.numberHeld = false
			c.owner.numberFree(false)
		}
	}()
	for i := range c.m.A.Legs {
		if l := &c.m.A.Legs[i]; l.ID == e.Leg {
			t := e.At
			l.EndedAt = &t
		}
	}
	for i := range c.m.A.Peers {
		if p := &c.m.A.Peers[i]; p.ID == e.Leg {
			t := e.At
			p.EndedAt, p.State = &t, attempt.PeerOver
		}
	}
}
