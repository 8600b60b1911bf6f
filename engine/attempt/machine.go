package attempt

import (
	"time"

	"dialler/engine"
	"dialler/engine/disposition"
)

// BridgeBudget is how long the bot's path may take, so that the information
// message of an abandoned call starts within 2 s of the moment that counts.
const BridgeBudget = 1800 * time.Millisecond

// ScreenLimit is when an answer classification that never decided is taken
// for unknown, so that a fault of ours never costs a person the call.
const ScreenLimit = 6 * time.Second

// MessageLimit bounds the information message of an abandoned call.
const MessageLimit = time.Minute

// Config are the rules that apply to one attempt.
type Config struct {
	RingTimeout time.Duration // never under 15 s in production settings
	CallLimit   time.Duration // of a conversation, from the bot's connection
	AMD         engine.AMDMode
	// MustConsume: three unconsumed attempts went before, so this one counts
	// whatever comes of it.
	MustConsume bool
}

// Machine drives one attempt. A is its whole state; effects are handed out by
// Apply and never kept.
type Machine struct {
	A      Attempt
	Config Config

	epochs [4]int
	out    []Effect
	class  *disposition.Result // of the refusal being handled
}

var timerIndex = map[Timer]int{TimerRing: 0, TimerBridge: 1, TimerScreen: 2, TimerCall: 3}

// Apply takes one event and appends the effects to dst, in the order in which
// they must be carried out. An error means that the event is illegal in the
// present state; nothing has changed then.
func (m *Machine) Apply(ev Event, dst []Effect) ([]Effect, error) {
	if m.stale(ev) {
		return dst, nil
	}
	m.out = dst
	to, err := table.Step(m.A.State, ev.Kind, m, ev)
	dst, m.out, m.class = m.out, nil, nil
	if err != nil {
		return dst, err
	}
	m.A.State = to
	return dst, nil
}

// stale drops timers of an older epoch and leg or media events that were
// applied before (a re-attach replays from the first).
func (m *Machine) stale(ev Event) bool {
	switch ev.Kind {
	case RingTimedOut:
		return ev.Epoch != m.epochs[timerIndex[TimerRing]]
	case BridgeTimedOut:
		return ev.Epoch != m.epochs[timerIndex[TimerBridge]]
	case ScreenTimedOut:
		return ev.Epoch != m.epochs[timerIndex[TimerScreen]]
	case CallTimedOut:
		return ev.Epoch != m.epochs[timerIndex[TimerCall]]
	}
	if ev.Leg != nil {
		l := m.leg(ev.Leg.Leg)
		if l == nil || ev.Leg.Seq <= l.Seq {
			return true
		}
		l.Seq = ev.Leg.Seq
		return false
	}
	if ev.Media != nil && ev.Media.Seq > 0 {
		if ev.Media.Seq <= m.A.MediaSeq {
			return true
		}
		m.A.MediaSeq = ev.Media.Seq
	}
	return false
}

func (m *Machine) emit(e Effect) { m.out = append(m.out, e) }

func (m *Machine) leg(id engine.LegID) *Leg {
	for i := range m.A.Legs {
		if m.A.Legs[i].ID == id {
			return &m.A.Legs[i]
		}
	}
	return nil
}

// last is the newest leg; only it can still be open.
func (m *Machine) last() *Leg {
	if len(m.A.Legs) == 0 {
		return nil
	}
	return &m.A.Legs[len(m.A.Legs)-1]
}

func (m *Machine) arm(t Timer, at time.Time) {
	m.epochs[timerIndex[t]]++
	m.emit(Arm{Timer: t, At: at, Epoch: m.epochs[timerIndex[t]]})
}

func (m *Machine) disarm(t Timer) { m.epochs[timerIndex[t]]++ }

// Rearm arms the timers that a restarted owner must have running again.
func (m *Machine) Rearm(now time.Time, dst []Effect) []Effect {
	m.out = dst
	switch a := &m.A; a.State {
	case Reserved, Dialling, Ringing:
		if a.InviteAt != nil {
			m.arm(TimerRing, a.InviteAt.Add(m.Config.RingTimeout))
		}
	case Answered, Bridging, Screening:
		if a.Ending == nil {
			if a.AnsweredAt != nil && (m.Config.AMD != engine.AMDSequential || a.State == Bridging) {
				m.arm(TimerBridge, m.bridgeDeadline())
			}
			if a.State == Screening || m.Config.AMD == engine.AMDParallel {
				m.arm(TimerScreen, a.AnsweredAt.Add(ScreenLimit))
			}
		}
	case Connected:
		if a.BotConnectedAt != nil && a.Ending == nil {
			m.arm(TimerCall, a.BotConnectedAt.Add(m.Config.CallLimit))
		}
	case Ended:
	}
	dst, m.out = m.out, nil
	return dst
}

// bridgeDeadline is 1.8 s after the moment that counts (SEMANTICS §6): the
// 200 OK, or with sequential classification the end of the greeting.
func (m *Machine) bridgeDeadline() time.Time {
	if m.Config.AMD == engine.AMDSequential && m.A.GreetingEndAt != nil {
		return m.A.GreetingEndAt.Add(BridgeBudget)
	}
	return m.A.AnsweredAt.Add(BridgeBudget)
}

func at(t time.Time) *time.Time { return &t }

// PhaseNow is where the line stands for pacing, for an owner that counts anew.
func (m *Machine) PhaseNow() Phase {
	a := &m.A
	switch a.State {
	case Reserved, Dialling:
		if a.Ending != nil {
			return PhaseReleased
		}
		return PhaseDialling
	case Ringing:
		if a.Ending != nil {
			return PhaseReleased
		}
		return PhaseRinging
	case Answered, Screening, Bridging:
		switch {
		case a.Ending != nil:
			return PhaseReleased
		case a.Seated || m.Config.AMD != engine.AMDSequential || a.State == Bridging:
			return PhaseWaiting
		}
		return PhaseListening
	case Connected:
		if a.Ending != nil {
			return PhaseReleased
		}
		return PhaseServed
	case Ended:
		return PhaseOver
	}
	return PhaseOver
}
