package call

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/journal"
)

// Call is one call and the writes of its owner, which is a contact or a dialout: the latest
// attempt, what waits to become durable, when its INVITEs may leave, legs that are watched after
// its end, and the hold of the callee's number.
//
// Its fields are its state. A shell reads them; only Apply of the owner changes them.
type Call struct {
	Machine attempt.Machine // there is no attempt while its identifier is ""
	Bot     engine.Bot
	Limits  Limits

	// SendBy is when the attempt's last INVITE must have left.
	SendBy engine.BootTime
	// Newest is the leg for which a trunk was last requested, and Granted when its INVITE may
	// leave. Unused is when the other grants expire unless an INVITE has left; 0 means never.
	Newest  engine.LegID
	Granted Validity
	Unused  engine.BootTime
	Only    engine.TrunkID // the one trunk that may carry it, "" = any

	// Offered is the SDP of a call that came in.
	Offered []byte

	MediaOpen bool
	// Replays says that the media path is being taken over. Its events are replayed from the first;
	// an event that comes before the replay does not count.
	Replays   bool
	Placing   *PlaceLeg // whose media path has been opening since PlacingAt
	PlacingAt time.Time
	Attaching *Attaching // the attempt's legs are being taken over
	Reaching  Reaching
	Socket    engine.SocketID // that stands for the bot

	// Taken says that another node now has the call; here it only remains to end.
	Taken bool

	// Watching is how many legs are followed to their end after the attempt's end.
	Watching int
	// NumberHeld says that the attempt has ended while a leg still uses its caller ID.
	NumberHeld bool

	Step    int       // of the latest write
	Pending []Pending // not yet durable, oldest first
	Last    int       // latest recorded step of the attempt
	Acked   int       // newest durable step
	Gated   []Gated   // effects that wait for a durable step, or for their time
	// RefusedEvents belong to an intent that the database refused: they go into the history with
	// the end of the attempt.
	RefusedEvents []journal.Event

	Results  map[engine.AttemptID]attempt.Attempt // earlier attempts whose results are being written
	Fetching int                                  // results whose attempt is being read
	Result   *StoreResult                         // the result that the machine is about to record

	// Held are the effects that wait for MediaClosed, Later the effects to emit after them.
	Held   []attempt.Effect
	HeldAt time.Time
	Closed bool // MediaClosed is owed
	Later  []Effect

	// For the Apply in progress.
	in    Input            `snapshot:"-"`
	out   []Effect         `snapshot:"-"`
	owner policy           `snapshot:"-"`
	steps []attempt.Effect `snapshot:"-"`
}

// Gated is an effect that waits for a durable step.
type Gated struct {
	Step   int
	Effect attempt.Effect
}

// Attaching is why legs are taken over. Gone is the reason that the attempt gets when no leg is
// known.
type Attaching struct{ Gone string }

// policy is what differs between contact and dialout.
type policy interface {
	// number is the number called, and contact the contact, "" for a dialout.
	number() engine.PhoneNumber
	contact() engine.ContactID
	// stamp marks the owner of a write.
	stamp(w *journal.Write)
	// event starts an event for the history.
	event(t journal.Type) journal.Event
	// recorded adds the owner's part to a step of the attempt whose row and event are in the write,
	// and ended to its end.
	recorded(what attempt.What, w *journal.Write) Then
	ended(w *journal.Write) Then
	// triggerRefused handles the refusal of an intent that a trigger requested. refusedLate adds to
	// the write when the attempt had been given up before the refusal.
	triggerRefused(t *Trigger)
	refusedLate(w *journal.Write) Then
	// config returns the rules of its attempts.
	config() attempt.Config
	// line hears where the line of an attempt stands.
	line(id engine.AttemptID, l attempt.Line, now time.Time)
	// variables belong to the callee and are not changed; identify adds what else only the owner
	// can tell the bot.
	variables() map[string]string
	identify(parameters map[string]string)
	// adopt takes over a stored attempt; adopted follows once its legs are taken over too.
	adopt(at attempt.Attempt)
	adopted()
	// rest: the result of the current attempt has come, for which the owner may have stayed.
	rest()
	// awaitsResult says that the outcome of an ended attempt is not final.
	awaitsResult(engine.AttemptID) bool
}

func (c *Call) enter(in Input, dst []Effect, p policy) {
	c.in, c.out, c.owner, c.steps = in, dst, p, c.steps[:0]
}

func (c *Call) leave() []Effect {
	out := c.out
	clear(c.steps[:cap(c.steps)])
	c.in, c.out, c.owner = Input{}, nil, nil
	return out
}

func (c *Call) emit(e Effect) { c.out = append(c.out, e) }

// say emits an effect that must follow those that wait for MediaClosed.
func (c *Call) say(e Effect) {
	if c.Closed {
		c.Later = append(c.Later, e)
		return
	}
	c.emit(e)
}

func (c *Call) answer(to engine.Request, value any, err error) {
	if to != "" {
		c.say(&Answer{Request: to, Value: value, Err: err})
	}
}

// Has says whether there is an attempt, Live whether it has not ended.
func (c *Call) Has() bool  { return c.Machine.A.ID != "" }
func (c *Call) Live() bool { return c.Has() && c.Machine.A.Live() }

// is says whether the current attempt has this identifier.
func (c *Call) is(id engine.AttemptID) bool { return c.Has() && c.Machine.A.ID == id }

// waits says that something is in progress whose end is an event.
func (c *Call) waits() bool {
	under := c.Attaching != nil || c.Watching > 0 || c.Live()
	return c.Closed || len(c.Pending) > 0 || c.Fetching > 0 || under && !c.Taken
}

// watchesOnly says that nothing is in progress but the watch over the legs of a lost call.
func (c *Call) watchesOnly() bool {
	return c.Watching > 0 && c.Attaching == nil && !c.Live() && !c.Closed && len(c.Pending) == 0 && c.Fetching == 0
}

// own makes an attempt the owner's current one.
func (c *Call) own(at attempt.Attempt, cfg attempt.Config, bot engine.Bot) {
	c.Machine, c.Bot = attempt.Machine{A: at, Config: cfg}, bot
	c.Machine.Config.BotURIs = bot.URIs()
	c.Machine.Config.RecordRinging = !at.Inbound && c.in.Process.TellsRinging(at.Campaign)
	c.SendBy, c.Newest, c.Granted, c.Unused, c.Only = 0, "", Validity{}, 0, ""
	c.MediaOpen, c.Placing, c.Attaching, c.NumberHeld = false, nil, nil, false
	c.Reaching = Reaching{Bot: bot.ID, Attempt: at.ID}
	c.Replays, c.Taken, c.Socket, c.Offered = false, false, "", nil
	c.Last, c.Acked, c.Gated = c.Step, c.Step, nil
	c.emit(&Owns{at.ID})
}

// begin starts the attempt, whose leases are held: its INVITEs leave within the given
// time and while the leases are valid, or not at all.
func (c *Call) begin(within time.Duration, v Validity, p *engine.MediaProfile) {
	a := &c.Machine.A
	c.SendBy = Earliest(c.in.Boot.Add(within), c.in.Process.LeaseEnds())
	c.Newest, c.Granted, c.Unused = a.ID.Leg(1), v, v.By
	a.SendBy = c.in.Now.Add(time.Duration(c.SendBy - c.in.Boot))
	c.emit(CountAttempt)
	c.apply(attempt.Event{Kind: attempt.Began, At: c.in.Now, Profile: p})
}

// take begins the attempt of a call that came in: it is answered within the given time, or refused.
func (c *Call) take(e *TakeCall, within time.Duration) {
	a := &c.Machine.A
	c.SendBy = Earliest(Earliest(c.in.Boot.Add(within), c.in.Process.LeaseEnds()), e.By)
	a.SendBy = c.in.Now.Add(time.Duration(c.SendBy - c.in.Boot))
	c.Offered = e.Call.Offer
	c.emit(CountCaller)
	c.apply(attempt.Event{Kind: attempt.Began, At: c.in.Now, Profile: e.Media, Dialog: e.Call.Dialog})
}

// apply takes one event through the machine and carries out its effects.
func (c *Call) apply(ev attempt.Event) {
	if ev.Kind == attempt.SeatGranted && len(c.Machine.Config.BotURIs) > 0 && len(c.Machine.A.Peers) == 0 {
		c.Machine.Config.BotURIs = c.in.Process.Endpoints(&c.Bot)
	}
	from := len(c.steps)
	steps, err := c.Machine.Apply(ev, c.steps)
	if err != nil {
		c.emit(&Refused{Attempt: c.Machine.A.ID, Contact: c.owner.contact(), Err: err})
		return
	}
	c.steps = steps
	c.carryOut(from, ev.At)
}

// carryOut carries out the machine's effects from an index on. Effects may cause further events (a
// leg that is not sent after all), whose effects are appended to the same slice.
func (c *Call) carryOut(from int, now time.Time) {
	end := len(c.steps)
	for i := from; i < end; i++ {
		switch e := c.steps[i]; {
		case recorded(e):
			c.Last = c.record(e.(attempt.Record).What) //nolint:forcetypeassert // that is what recorded says
		case attempt.Gated(e) && c.Last > c.Acked:
			c.Gated = append(c.Gated, Gated{c.Last, e})
		case c.early(e) > 0:
			c.Gated = append(c.Gated, Gated{c.Last, e})
			c.release(now)
		default:
			c.do(e, now)
		}
		if c.Closed {
			c.Held, c.HeldAt = append(c.Held, c.steps[i+1:end]...), now
			break
		}
	}
	c.steps = c.steps[:from]
}

func recorded(e attempt.Effect) bool {
	_, ok := e.(attempt.Record)
	return ok
}

// mediaClosed releases what waited for the audio statistics.
func (c *Call) mediaClosed(m *MediaClosed) {
	if !c.Closed {
		return
	}
	q := m.Quality
	c.Machine.A.Quality = &q
	c.goOn()
}

// goOn carries out the effects that waited for MediaClosed.
func (c *Call) goOn() {
	c.Closed = false
	held := c.Held
	c.Held = nil
	from := len(c.steps)
	c.steps = append(c.steps, held...)
	c.carryOut(from, c.HeldAt)
	if c.Closed {
		return
	}
	c.out = append(c.out, c.Later...)
	c.Later = nil
}

// settled releases what waited for a step; refused is the database's reason for refusing it. intent says that
// it was an attempt's intent: what else is written while the INVITE leaves may be refused as well.
func (c *Call) settled(step int, refused error, intent bool) {
	if !c.Has() {
		return
	}
	c.Acked = max(c.Acked, step)
	if refused != nil && intent && c.Machine.A.State == attempt.Reserved && len(c.Machine.A.Legs) == 1 {
		c.Gated = nil
		c.apply(attempt.Event{Kind: attempt.IntentRefused, At: c.in.Now, Err: engine.ErrorCode(refused),
			Until: engine.ErrorUntil(refused)})
		return
	}
	if errors.Is(refused, journal.ErrStaleEpoch) {
		if c.Live() {
			c.replaced()
			return
		}
		c.Taken = c.Taken || c.owner.contact() == ""
	}
	c.release(c.in.Now)
}

// replaced handles the database's answer that another owner has the call. Effects that wait for a
// write are dropped, and the legs and media here end unless the other owner has them.
func (c *Call) replaced() {
	a := &c.Machine.A
	c.Gated, c.Taken = nil, true
	r := &Replaced{Attempt: a.ID}
	for i := range a.Legs {
		if a.Legs[i].EndedAt == nil {
			r.Legs = append(r.Legs, a.Legs[i].ID)
		}
	}
	for i := range a.Peers {
		if a.Peers[i].EndedAt == nil {
			r.Peers = append(r.Peers, a.Peers[i].ID)
		}
	}
	c.emit(r)
}

// release carries out the effects that are durable and due.
func (c *Call) release(now time.Time) {
	for len(c.Gated) > 0 && c.Gated[0].Step <= c.Acked && !c.Closed {
		e := c.Gated[0].Effect
		if wait := c.early(e); wait > 0 {
			c.emit(&Arm{After: wait, Fired: TimerFired{Attempt: c.Machine.A.ID, Timer: TimerHeld}})
			return
		}
		c.Gated = slices.Delete(c.Gated, 0, 1)
		c.do(e, now)
	}
}

// receive handles the events that concern the current attempt.
func (c *Call) receive(event any) {
	now := c.in.Now
	switch e := event.(type) {
	case *engine.LegEvent:
		c.legEvent(e)
	case *engine.MediaEvent:
		if ev, ok := attempt.FromMedia(*e); ok && c.Has() && !c.Replays {
			if e.Seq > c.Machine.A.MediaSeq { // else replayed
				c.out = c.Reaching.media(e, c.out)
			}
			c.apply(ev)
		}
	case *PeerJoined:
		if c.is(e.Attempt) {
			c.joined(e)
		}
	case *TimerFired:
		if c.is(e.Attempt) { // otherwise from the previous attempt, stopped too late
			c.fired(e)
		}
	case *TrunkReserved:
		c.trunkReserved(e)
	case *MediaOpened:
		c.mediaOpened(e)
	case *MediaClosed:
		c.mediaClosed(e)
	case *LegsAttached:
		c.attached(e.Known)
	case *SeatGranted:
		c.Socket = e.Socket
		c.apply(attempt.Event{Kind: attempt.SeatGranted, At: now})
	default:
		c.emit(&Refused{Attempt: c.Machine.A.ID, Contact: c.owner.contact(), Err: errUnknownEvent})
	}
}

// unheardRing is how soon a ring timeout is reconsidered.
const unheardRing = time.Second

func (c *Call) fired(e *TimerFired) {
	if e.Timer == TimerHeld {
		c.release(c.in.Now)
		return
	}
	if e.Timer == attempt.TimerRing && c.in.Process.Unheard(c.Machine.A.ID) {
		// The call may have been answered; a clock on this node cannot tell.
		c.emit(&Arm{After: unheardRing, Fired: *e})
		return
	}
	ev := e.Timer.Fired(c.in.Now, e.Epoch)
	ev.Unheard = ev.Kind == attempt.BridgeTimedOut && c.in.Process.Unheard(c.Machine.A.ID)
	c.apply(ev)
}

func (c *Call) trunkReserved(e *TrunkReserved) {
	now := c.in.Now
	if !c.is(e.Attempt) { // asked for by an earlier attempt
		if e.Trunk != "" {
			c.emit(&TrunkEvent{Trunk: e.Trunk, Leg: e.Leg, Over: true, At: now})
		}
		return
	}
	c.Newest, c.Granted = e.Leg, e.Validity
	if c.Machine.A.InviteAt == nil {
		c.Granted.By = Earliest(c.Granted.By, c.Unused)
	}
	ev := attempt.Event{Kind: attempt.TrunkGranted, At: now, Trunk: e.Trunk, Profile: e.Media}
	if e.Trunk == "" {
		ev.Kind, ev.Err, ev.Until = attempt.TrunkRefused, string(e.Constraint), e.RetryAt
	}
	c.apply(ev)
}

func (c *Call) legEvent(e *engine.LegEvent) {
	if c.Watching > 0 && !(c.Live() && c.is(e.Attempt)) {
		c.watched(e)
		return
	}
	if !c.Has() {
		return
	}
	a := &c.Machine.A
	if e.Kind == engine.LegSent {
		c.left(e.Leg)
	}
	c.out = c.Reaching.leg(a.Peer(e.Leg), e, c.out)
	if ev, ok := attempt.FromLeg(*e); ok {
		waited := a.InviteAt == nil
		c.apply(ev)
		if at := a.InviteAt; waited && at != nil && c.owner.contact() != "" {
			c.say(&InviteLeft{At: *at})
		}
	}
}

// left notes that a leg's INVITE has left.
func (c *Call) left(leg engine.LegID) {
	var trunk engine.TrunkID
	for i := range c.Machine.A.Peers {
		if p := &c.Machine.A.Peers[i]; p.ID == leg {
			trunk = p.Trunk
		}
	}
	for i := range c.Machine.A.Legs {
		if l := &c.Machine.A.Legs[i]; l.ID == leg {
			trunk = l.Trunk
			c.emit(CountLegSent)
		}
	}
	if trunk != "" {
		c.emit(&TrunkEvent{Trunk: trunk, Leg: leg, Sent: true, At: c.in.Now})
	}
}

// snapshot copies the attempt for a write, since the machine continues while the writer reads.
func (c *Call) snapshot() attempt.Attempt {
	a := c.Machine.A
	a.Legs = append([]attempt.Leg(nil), a.Legs...)
	a.Peers = append([]attempt.Peer(nil), a.Peers...)
	return a
}

// tokenHash is the stored form of a result token: hex SHA-256.
func tokenHash(token string) string {
	h := sha256.Sum256([]byte(token))
	return hex.EncodeToString(h[:])
}
