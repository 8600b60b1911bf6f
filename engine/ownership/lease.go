package ownership

import (
	"time"

	"dialler/engine"
	"dialler/engine/fsm"
)

// State is the state of a node in its cluster.
type State string

const (
	Absent   State = "absent"   // it has not joined yet
	Member   State = "member"   // it has a lease and may act
	Draining State = "draining" // it has a lease and keeps what it owns, but claims nothing new
	Fenced   State = "fenced"   // its lease is over: it owns nothing, and joins again
	Left     State = "left"     // for good
)

// States lists every state, the initial one first.
var States = []State{Absent, Member, Draining, Fenced, Left}

// EventKind is a kind of event of a node's lease.
type EventKind string

const (
	Tick        EventKind = "tick"         // time has passed
	Joined      EventKind = "joined"       // the database has registered the node as an incarnation
	JoinLost    EventKind = "join_lost"    // the database was not reached, or did not answer
	Renewed     EventKind = "renewed"      // the database has stored the new end of the lease
	RenewalLost EventKind = "renewal_lost" // the database was not reached, or did not answer
	Refused     EventKind = "refused"      // the database says that the lease is over
	Drain       EventKind = "drain"        // command: claim nothing new
	Leave       EventKind = "leave"        // command: give everything up
)

// EventKinds lists them.
var EventKinds = []EventKind{Tick, Joined, JoinLost, Renewed, RenewalLost, Refused, Drain, Leave}

// Event is one event of the lease.
type Event struct {
	Kind EventKind
	// Incarnation of joined, renewed, renewal_lost and refused.
	Incarnation engine.Incarnation
	// Asked is just before the request for this answer was sent: the database cannot have begun the
	// lease earlier.
	Asked engine.BootTime
}

// EffectKind is a kind of action of the node.
type EffectKind string

const (
	AskToJoin  EffectKind = "join"   // ask the database: joined or join_lost
	AskToRenew EffectKind = "renew"  // ask the database: renewed, refused or renewal_lost
	Begin      EffectKind = "begin"  // act, as Incarnation
	Fence      EffectKind = "fence"  // place no more calls as Incarnation, stop dialling; live calls continue
	TellDrain  EffectKind = "drain"  // tell the database that Incarnation claims nothing new
	TellLeave  EffectKind = "leave"  // tell the database that Incarnation has left
	WakeAt     EffectKind = "wake"   // tick at At
	KeepUntil  EffectKind = "extend" // the lease now ends at At
)

// Effect is one action of the node.
type Effect struct {
	Kind        EffectKind
	Incarnation engine.Incarnation
	At          engine.BootTime
	Why         string // of a fence: refused or expired
}

// Terms are the times of a lease.
type Terms struct {
	TTL    time.Duration // from renewal to the end in the database, 5 s
	Margin time.Duration // the node counts it this much shorter, everybody else longer, 1 s
	Every  time.Duration // interval of renewals, and of attempts to join, 1 s
}

// WithDefaults fills in zero values.
func (t Terms) WithDefaults() Terms {
	set := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	set(&t.TTL, 5*time.Second)
	set(&t.Margin, time.Second)
	set(&t.Every, time.Second)
	return t
}

// Lease is the lease of a node as counted by the node. The zero value with its Terms is a node that
// has not joined.
type Lease struct {
	Terms       Terms
	State       State
	Incarnation engine.Incarnation // present or last one
	// Until is when the node must stop acting: every placement of a call is checked against it
	// right before, by the boot-time clock.
	Until engine.BootTime
	// Next is when the database is asked again; Asking says that it has not answered yet.
	Next   engine.BootTime
	Asking bool

	now     engine.BootTime
	effects []Effect
}

// Apply takes an event at a given time and appends the effects to dst. An event without a row in
// the table is an error and changes nothing.
func (l *Lease) Apply(now engine.BootTime, ev Event, dst []Effect) ([]Effect, error) {
	if l.State == "" {
		l.State = Absent
	}
	l.now, l.effects = now, dst
	to, err := leaseTable.Step(l.State, ev.Kind, l, ev)
	dst, l.effects = l.effects, nil
	if err != nil {
		return dst, err
	}
	l.State = to
	if at, ok := l.wake(now); ok {
		dst = append(dst, Effect{Kind: WakeAt, At: at})
	}
	return dst, nil
}

// wake is when the passing of time alone changes something; ok is false when only an answer does.
func (l *Lease) wake(now engine.BootTime) (at engine.BootTime, ok bool) {
	switch l.State {
	case Member, Draining:
		if l.Asking {
			return l.Until, true
		}
		return min(l.Until, max(l.Next, now)), true
	case Absent, Fenced:
		return max(l.Next, now), !l.Asking
	case Left:
	}
	return 0, false
}

// May says whether the node may act now.
func (l *Lease) May(now engine.BootTime) bool {
	return (l.State == Member || l.State == Draining) && now < l.Until
}

// LeaseTable is the machine's transition table.
func LeaseTable() *fsm.Table[State, EventKind, *Lease, Event] { return leaseTable }

func (l *Lease) over(Event) bool      { return l.now >= l.Until }
func (l *Lease) stale(ev Event) bool  { return ev.Incarnation != l.Incarnation }
func (l *Lease) usable(ev Event) bool { return l.now < l.end(ev) }
func (l *Lease) due(Event) bool       { return l.now >= l.Next && !l.Asking }
func (l *Lease) emit(e Effect)        { l.effects = append(l.effects, e) }
func (l *Lease) answered(Event)       { l.Asking = false }
func (l *Lease) tellLeave(Event)      { l.emit(Effect{Kind: TellLeave, Incarnation: l.Incarnation}) }
func (l *Lease) tellDrain(Event)      { l.emit(Effect{Kind: TellDrain, Incarnation: l.Incarnation}) }
func (l *Lease) leaveJoined(ev Event) { l.emit(Effect{Kind: TellLeave, Incarnation: ev.Incarnation}) }
func (l *Lease) expired(Event)        { l.fence("expired") }
func (l *Lease) refused(Event)        { l.fence("refused") }
func (l *Lease) end(ev Event) engine.BootTime {
	return ev.Asked.Add(l.Terms.TTL - l.Terms.Margin)
}

func (l *Lease) join(Event) {
	l.Asking, l.Next = true, l.now.Add(l.Terms.Every)
	l.emit(Effect{Kind: AskToJoin})
}

func (l *Lease) renew(Event) {
	l.Asking, l.Next = true, l.now.Add(l.Terms.Every)
	l.emit(Effect{Kind: AskToRenew, Incarnation: l.Incarnation})
}

func (l *Lease) joined(ev Event) {
	l.Asking, l.Next = false, ev.Asked.Add(l.Terms.Every)
	l.Incarnation, l.Until = ev.Incarnation, l.end(ev)
	l.emit(Effect{Kind: KeepUntil, Incarnation: l.Incarnation, At: l.Until})
	l.emit(Effect{Kind: Begin, Incarnation: l.Incarnation})
}

func (l *Lease) renewed(ev Event) {
	l.Asking = false
	l.Until = max(l.Until, l.end(ev))
	l.emit(Effect{Kind: KeepUntil, Incarnation: l.Incarnation, At: l.Until})
}

func (l *Lease) fence(why string) {
	l.Asking, l.Next, l.Until = false, l.now, 0
	l.emit(Effect{Kind: KeepUntil, Incarnation: l.Incarnation})
	l.emit(Effect{Kind: Fence, Incarnation: l.Incarnation, Why: why})
}

type leaseRow = fsm.Row[State, EventKind, *Lease, Event]

var leaseTable = fsm.New("lease", States, EventKinds, []leaseRow{
	{From: []State{Absent, Fenced}, On: Tick, Guard: "it is time to ask", When: (*Lease).due, Do: (*Lease).join},
	{From: []State{Absent, Fenced}, On: Tick, Ignore: true},
	{From: []State{Absent, Fenced}, On: Joined, Guard: "the lease has not ended meanwhile", When: (*Lease).usable,
		To: Member, Do: (*Lease).joined,
		Why: "a new incarnation, which owns nothing"},
	{From: []State{Absent, Fenced}, On: Joined, Do: (*Lease).answered,
		Why: "the answer took longer than the lease: ask again"},
	{From: []State{Absent, Fenced}, On: JoinLost, Do: (*Lease).answered},
	{From: []State{Absent, Fenced}, On: Renewed, Ignore: true, Why: "a lease that is over does not come back"},
	{From: []State{Absent, Fenced}, On: RenewalLost, Ignore: true},
	{From: []State{Absent, Fenced}, On: Refused, Ignore: true},

	{From: []State{Member}, On: Tick, Guard: "the lease is over", When: (*Lease).over, To: Fenced, Do: (*Lease).expired,
		Why: "before anybody else may claim: others count it longer by twice the margin"},
	{From: []State{Draining}, On: Tick, Guard: "the lease is over", When: (*Lease).over, To: Left, Do: (*Lease).expired,
		Why: "it would have claimed nothing anyway; its calls go on"},
	{From: []State{Member, Draining}, On: Tick, Guard: "it is time to ask", When: (*Lease).due, Do: (*Lease).renew},
	{From: []State{Member, Draining}, On: Tick, Ignore: true},
	{From: []State{Member, Draining}, On: Renewed, Guard: "of an earlier incarnation", When: (*Lease).stale, Ignore: true},
	{From: []State{Member, Draining}, On: Renewed, Do: (*Lease).renewed},
	{From: []State{Member, Draining}, On: RenewalLost, Guard: "of an earlier incarnation", When: (*Lease).stale,
		Ignore: true},
	{From: []State{Member, Draining}, On: RenewalLost, Do: (*Lease).answered,
		Why: "it may have been done or not: the lease counts from the last answer"},
	{From: []State{Member, Draining}, On: Refused, Guard: "of an earlier incarnation", When: (*Lease).stale, Ignore: true},
	{From: []State{Member}, On: Refused, To: Fenced, Do: (*Lease).refused},
	{From: []State{Draining}, On: Refused, To: Left, Do: (*Lease).refused},
	{From: []State{Member, Draining}, On: Joined, Do: (*Lease).leaveJoined,
		Why: "a repeated answer: one incarnation is enough"},
	{From: []State{Member, Draining}, On: JoinLost, Ignore: true},

	{From: []State{Member}, On: Drain, To: Draining, Do: (*Lease).tellDrain},
	{From: []State{Draining, Left}, On: Drain, Ignore: true},
	{From: []State{Absent, Fenced}, On: Drain, To: Left, Why: "it owns nothing and must not claim anything"},
	{From: []State{Member, Draining}, On: Leave, To: Left, Do: (*Lease).leave, Why: "what it owns may be claimed at once"},
	{From: []State{Absent, Fenced}, On: Leave, To: Left},
	{From: []State{Left}, On: Leave, Ignore: true},
	{From: []State{Left}, On: Joined, Do: (*Lease).leaveJoined, Why: "it was asked before"},
	{From: []State{Left}, On: Tick, Ignore: true},
	{From: []State{Left}, On: JoinLost, Ignore: true},
	{From: []State{Left}, On: Renewed, Ignore: true},
	{From: []State{Left}, On: RenewalLost, Ignore: true},
	{From: []State{Left}, On: Refused, Ignore: true},
})

func (l *Lease) leave(ev Event) {
	l.Until = 0
	l.emit(Effect{Kind: KeepUntil, Incarnation: l.Incarnation})
	l.tellLeave(ev)
}
