package attempt

import (
	"time"

	"dialler/engine"
	"dialler/engine/disposition"
	"dialler/engine/fsm"
)

// BridgeBudget is how long connecting the bot may take, so that the information message of an
// abandoned call starts within 2 s of the moment that counts.
const BridgeBudget = 1800 * time.Millisecond

// ScreenLimit is when an answer classification without a decision is taken as unknown, so that a
// fault of ours never costs a person the call.
const ScreenLimit = 6 * time.Second

// ScreenGrace is how much longer than its own limit we wait for a classification.
const ScreenGrace = 2 * time.Second

// MessageLimit bounds the information message of an abandoned call.
const MessageLimit = time.Minute

// VoicemailLimit bounds the wait for a machine's beep plus the message left after it.
const VoicemailLimit = 2 * time.Minute

// Config are the rules that apply to one attempt.
type Config struct {
	RingTimeout time.Duration // never under 15 s in production settings
	CallLimit   time.Duration // of a conversation, from the bot's connection
	AMD         engine.AMDMode
	// Listen says how answers are classified, how long a beep can revise that, and which message is
	// left on a machine ("" for none).
	Listen engine.AMDRules
	Record bool // both sides, from the answer on
	// MustConsume says that three unconsumed attempts preceded, so that this one counts whatever
	// its outcome.
	MustConsume bool
	// OptOut is the key by which a person who hears the information message asks never to be called
	// again; 0 means none.
	OptOut byte
	// BotURIs are the addresses of a bot that is reached by SIP, tried in this order; empty means
	// that the bot uses a socket.
	BotURIs []string
	// Plays says that the call is answered with a message, and no bot: Message, "" is the information
	// message.
	Plays   bool
	Message engine.VoicemailID
	// Transfers say to whom the bot may hand the callee over; by default to nobody.
	Transfers TransferRules
	// RecordRinging says that somebody is to be told when the phone rings, so that it becomes durable then
	// and not with the next step.
	RecordRinging bool
}

// Machine drives one attempt. A is its whole state; Apply hands out effects and does not retain
// them.
type Machine struct {
	A      Attempt
	Config Config
	// Refusal is the code with which the intent was refused, or for which the attempt was
	// withdrawn, "" otherwise. It is not part of the state, but is for the receiver of the end.
	Refusal string

	epochs [timerSlots]int
	// stood says that CountLive was emitted.
	stood bool
	// intercepted says that before the answer the network announced that the number cannot be
	// reached, on the current leg. A restarted owner does not know it: the final response decides.
	intercepted bool
	// notBefore is the earliest time at which a timer fires; set when an owner restarts.
	notBefore time.Time
	out       []Effect            `snapshot:"-"`
	class     *disposition.Result `snapshot:"-"` // of the refusal being handled
}

// Parts implements snapshot.Parts.
func (m *Machine) Parts() []any { return []any{&m.epochs, &m.stood, &m.intercepted, &m.notBefore} }

// timerSlots is the number of timers.
const timerSlots = 7

func (t Timer) slot() int {
	switch t {
	case TimerRing:
		return 0
	case TimerBridge:
		return 1
	case TimerScreen:
		return 2
	case TimerCall:
		return 3
	case TimerPeer:
		return 4
	case TimerRevise:
		return 5
	case TimerTrunk:
		return 6
	}
	return 0
}

// Apply takes one event and appends the effects to dst, in the order in which
// they must be carried out. An error means that the event is illegal in the
// present state; nothing has changed then.
func (m *Machine) Apply(ev Event, dst []Effect) ([]Effect, error) {
	if incomplete(ev) {
		return dst, &fsm.IllegalError{Machine: table.Name(), State: string(m.A.State), Event: string(ev.Kind)}
	}
	if i := m.peerOf(ev); i >= 0 {
		return m.applyPeer(i, ev, dst)
	}
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
	m.seen(ev)
	return dst, nil
}

// incomplete says that an event lacks the data of its kind; no port can have sent it.
func incomplete(ev Event) bool {
	switch ev.Kind {
	case LegSent, LegNotSent, LegTrying, LegRinging, LegAnswered, LegRefused, LegSilent, LegHungUp, LegClosed, LegFenced,
		LegReferred:
		return ev.Leg == nil
	case LegSession:
		return ev.Leg == nil || ev.Leg.Dialog == nil
	case ResultStored:
		return ev.Result == nil
	default: // no other kind needs data
		return false
	}
}

// stale drops events that bring nothing new: timers of an older epoch, media events of another
// attempt, leg and media events that were already applied (a re-attach replays from the first), and
// anything about a leg that is over or not ours.
func (m *Machine) stale(ev Event) bool {
	switch ev.Kind {
	case PeerJoined, PeerUnfit, PeerTimedOut, PeerDropped, PeerSilent:
		return true // the far leg does not exist
	case RingTimedOut:
		return m.staleTimer(TimerRing, ev.Epoch)
	case BridgeTimedOut:
		return m.staleTimer(TimerBridge, ev.Epoch)
	case ScreenTimedOut:
		return m.staleTimer(TimerScreen, ev.Epoch)
	case CallTimedOut:
		return m.staleTimer(TimerCall, ev.Epoch)
	case RevisionTimedOut:
		return m.staleTimer(TimerRevise, ev.Epoch)
	case TrunkDue:
		return m.staleTimer(TimerTrunk, ev.Epoch)
	default: // not a timer: its own data tells how old it is
	}
	if ev.Leg != nil {
		l := m.leg(ev.Leg.Leg)
		return l == nil || l.EndedAt != nil || ev.Leg.Seq <= l.Seq
	}
	if e := ev.Media; e != nil {
		return (e.Attempt != "" && e.Attempt != m.A.ID) || (e.Seq > 0 && e.Seq <= m.A.MediaSeq)
	}
	return false
}

// staleTimer never accepts epoch 0: epochs start at 1, so that the zero value never fires.
func (m *Machine) staleTimer(t Timer, epoch int) bool {
	return epoch == 0 || epoch != m.epochs[t.slot()]
}

// seen notes how many events of a leg or the media path were handled.
func (m *Machine) seen(ev Event) {
	if ev.Leg != nil {
		if l := m.leg(ev.Leg.Leg); l != nil {
			l.Seq = ev.Leg.Seq
		}
		return
	}
	if ev.Media != nil && ev.Media.Seq > 0 {
		m.A.MediaSeq = ev.Media.Seq
	}
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
	if at.Before(m.notBefore) {
		at = m.notBefore
	}
	m.epochs[t.slot()]++
	m.emit(Arm{Timer: t, At: at, Epoch: m.epochs[t.slot()]})
}

func (m *Machine) disarm(t Timer) { m.epochs[t.slot()]++ }

func (m *Machine) disarmAll() {
	for i := range m.epochs {
		m.epochs[i]++
	}
}

// RearmGrace is how long a restarted owner waits for replayed events before it acts on a deadline
// that has passed: a restart must not hang up on a bot that was connected in time.
const RearmGrace = time.Second

// Rearm gives a restarted owner the timers that must be running, and repeats the request to end a
// leg whose end was decided: the earlier owner may not have carried it out.
func (m *Machine) Rearm(now time.Time, dst []Effect) []Effect {
	m.out = dst
	// Timers of the earlier owner may still fire here, so none of its epochs is reused.
	for i := range m.epochs {
		m.epochs[i] = max(m.epochs[i], int(now.UnixMilli()))
	}
	m.notBefore = now.Add(RearmGrace)
	a, l := &m.A, m.last()
	switch {
	case a.State == Ended:
	case a.Ending != nil && a.Ending.Outcome == engine.OutcomeAbandoned:
		m.arm(TimerCall, a.Ending.At.Add(MessageLimit))
	case a.Ending != nil && a.Ending.Voicemail:
		m.arm(TimerCall, a.Ending.At.Add(VoicemailLimit))
	case a.Ending != nil:
		m.endLegNow()
	case a.State == Connected:
		m.arm(TimerCall, a.BotConnectedAt.Add(m.Config.CallLimit))
		if m.Tentative() {
			m.arm(TimerRevise, *a.RevisableUntil)
		}
	case a.AnsweredAt != nil:
		if m.Config.AMD != engine.AMDSequential || a.State == Bridging {
			m.arm(TimerBridge, m.bridgeDeadline())
		}
		if a.State == Screening || (m.Config.AMD == engine.AMDParallel && a.Verdict == "") {
			m.arm(TimerScreen, a.AnsweredAt.Add(m.screenLimit()))
		}
	case a.State == Dialling && l != nil && l.EndedAt != nil:
		m.askTrunk() // the answer may have gone to the earlier owner
	case l != nil && l.SentAt != nil && l.EndedAt == nil:
		m.arm(TimerRing, l.SentAt.Add(m.Config.RingTimeout))
	}
	m.rearmPeers(now)
	dst, m.out = m.out, nil
	return dst
}

// rearmPeers repeats the request to end far legs that are no longer needed, and restarts the timer
// of one that is being called.
func (m *Machine) rearmPeers(now time.Time) {
	if m.A.Ending != nil {
		m.dropPeers(now)
	}
	if t := m.A.Transfer; t != nil && t.Result == TransferCalling && !m.targetOpen() {
		m.endTransfer(now, TransferUnreached, 0) // the answer about a trunk may have gone to the earlier owner
		if !m.A.BotUp {
			m.endConversation(now, engine.PartyBot, causeNormal)
		}
	}
	for i := range m.A.Peers {
		switch p := &m.A.Peers[i]; {
		case p.State == PeerLeaving && p.Dialog != nil:
			m.emit(HangUp{Leg: p.ID, Cause: causeNormal})
		case p.State == PeerLeaving:
			m.emit(Cancel{Leg: p.ID})
		case p.State == PeerCalling && p.Kind == PeerTransfer:
			m.arm(TimerPeer, m.transferDeadline())
		case p.State == PeerCalling:
			m.arm(TimerPeer, m.bridgeDeadline())
		}
	}
}

// Tentative says whether a beep may still revoke the live answer.
func (m *Machine) Tentative() bool { return m.A.RevisableUntil != nil && !m.stood }

// screenLimit is how long to wait for classification.
func (m *Machine) screenLimit() time.Duration {
	return max(ScreenLimit, m.Config.Listen.Timeout+ScreenGrace)
}

// bridgeDeadline is 1.8 s after the moment that counts (SEMANTICS §6): the
// 200 OK, or with sequential classification the end of the greeting.
func (m *Machine) bridgeDeadline() time.Time {
	return m.CountsFrom().Add(BridgeBudget)
}

// CountsFrom is the moment from which the 2 s rule counts, in an answered call.
func (m *Machine) CountsFrom() time.Time {
	if m.Config.AMD == engine.AMDSequential && m.A.GreetingEndAt != nil {
		return *m.A.GreetingEndAt
	}
	return *m.A.AnsweredAt
}

func at(t time.Time) *time.Time { return &t }

// PhaseNow is the line's phase for pacing, for an owner that counts from scratch.
func (m *Machine) PhaseNow() Phase {
	a := &m.A
	if a.State == Ended {
		return PhaseOver
	}
	if a.Ending != nil {
		return PhaseReleased
	}
	switch a.State {
	case Reserved, Dialling:
		return PhaseDialling
	case Ringing:
		return PhaseRinging
	case Answered, Bridging:
		return PhaseWaiting
	case Screening:
		if a.Seated {
			return PhaseWaiting
		}
		return PhaseListening
	case Connected:
		if m.bridged() || !a.BotUp {
			return PhaseReleased
		}
		return PhaseServed
	case Ended:
	}
	return PhaseOver
}
