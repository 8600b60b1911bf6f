package actors

import (
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
	unused engine.BootTime // when what else was granted ends unless an INVITE left, 0: never
	only   engine.TrunkID  // the one trunk that may carry it, "" = any
	opened bool
	// numberHeld: the attempt has ended, and its caller ID is still in use by a leg.
	numberHeld bool
	// botAsked: the bot is being reached; what comes of it is not known. botFrom:
	// its socket is, since then.
	botAsked bool
	botFrom  engine.BootTime
	timers   [7]func()
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
	c.sendBy = c.d.sendBy(within)
	c.newest, c.use, c.unused = c.m.A.ID.Leg(1), u, u.by
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

var timerSlot = map[attempt.Timer]int{attempt.TimerRing: 0, attempt.TimerBridge: 1, attempt.TimerScreen: 2, attempt.TimerCall: 3, attempt.TimerPeer: 4, attempt.TimerRevise: 5, attempt.TimerTrunk: 6}

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
		if c.m.A.InviteAt == nil {
			c.use.by = earliest(c.use.by, c.unused)
		}
		ev := attempt.Event{Kind: attempt.TrunkGranted, At: now, Trunk: msg.Trunk, Profile: msg.Media}
		if msg.Trunk == "" {
			ev.Kind, ev.Err, ev.Until = attempt.TrunkRefused, string(msg.Constraint), msg.RetryAt
		}
		c.apply(ev)
	}
}
