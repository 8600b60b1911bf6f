package leg

import (
	"sync"
	"time"

	"dialler/engine"
	"dialler/sipstack/timing"
)

// phase is a leg's state on the wire.
type phase uint8

const (
	phaseQueued     phase = iota // the INVITE is not written yet
	phaseCalling                 // INVITE written (or being written), no response
	phaseProceeding              // a provisional response came
	phaseOffered                 // the far side calls, and has no final response yet
	phaseAnswered                // a 2xx came, its ACK is still to be sent
	phaseConfirmed               // ACK sent
	phaseClosing                 // our BYE is in progress
	phaseSilent                  // no final response in time; still owned (see onDeadline)
	phaseWatch                   // of an earlier process, not known to be answered; being cancelled
	phaseOver                    // final event delivered; state kept to answer retransmissions
	phaseGone                    // removed from the maps
)

var phaseNames = [...]string{
	"queued", "calling", "proceeding", "offered", "answered", "confirmed", "closing", "silent", "watched", "over", "gone",
}

func (p phase) String() string { return phaseNames[p] }

// maxEvents bounds the events kept per leg: beyond it, repeated provisional responses and digits
// are dropped.
const maxEvents = 2000

// leg is one SIP call. mu guards all fields below it; times are by the stack's monotonic clock.
type leg struct {
	attempt engine.AttemptID
	// recovered marks a leg of an earlier process; only its end is reported.
	recovered bool
	callee    engine.PhoneNumber // while the leg counts as calling it; "" means it does not
	begun     engine.NodeLease   // the node's lease when it was placed; nil means there are none

	mu             sync.Mutex
	endpoint       // s, id and trunk do not change
	phase          phase
	inv            invitation
	cancelWanted   bool
	cancels        uint8 // CANCEL transactions begun …
	cancelsUnknown uint8 // … and answered with 481
	dlg            *dialog
	early          earlyDialogs // of the current INVITE, as far as we need them
	described      descriptions // that its provisional responses had
	session        session
	incoming       *incoming // of a call that the far side began
	refer          *referral // the last REFER of the far side
	answers        answers   // to the far side's latest requests
	lost           string    // why we ended the dialog ourselves
	txs            clientTxs

	timer    *time.Timer
	deadline time.Duration // meaning depends on the phase (see onDeadline), 0 = none
	since    time.Time     // of the phase
	overAt   time.Duration

	sink       func(engine.LegEvent)
	events     []engine.LegEvent
	seq        int
	delivered  int // events given to the current sink
	delivering bool
	forgotten  bool
}

func (l *leg) lock() { l.mu.Lock() }

func (l *leg) enter(p phase) {
	l.phase = p
	l.since = time.Now()
}

// emit records an event; unlock delivers it to the sink.
func (l *leg) emit(e engine.LegEvent) {
	if l.phase >= phaseOver {
		return
	}
	if len(l.events) >= maxEvents && (e.Kind == engine.LegProvisional || e.Kind == engine.LegDigit) {
		return
	}
	l.seq++
	e.Attempt, e.Leg, e.Trunk, e.Seq, e.At = l.attempt, l.id, l.trunk.Conf.ID, l.seq, time.Now()
	if l.events == nil {
		l.events = make([]engine.LegEvent, 0, plainEvents)
	}
	l.events = append(l.events, e)
}

// plainEvents is the number of events of an ordinary call: sent, 100, 180, answered, closed.
const plainEvents = 5

// finish emits the leg's final event. The state for answering retransmissions (RFC 3261 timers D,
// J) is kept for 64*T1, the events until they are forgotten.
func (l *leg) finish(e engine.LegEvent) {
	if l.phase >= phaseOver {
		return
	}
	l.emit(e)
	l.enter(phaseOver)
	l.overAt = l.s.clock.Now()
	l.inv.resendAt, l.inv.data, l.inv.offer, l.session.localSDP, l.session.remoteSDP = 0, nil, nil, nil, nil
	l.session.watch = nil
	l.txs.dropForEnd()
	l.described = nil
	l.setPurge()
	l.s.called.over(l.callee)
	l.callee = ""
	l.s.Count.Live.Add(-1)
	if l.recovered {
		l.s.Count.Recovered.Add(-1)
	}
	if over := l.s.conf.OnLegOver; over != nil && !l.recovered && (l.incoming == nil || l.incoming.taken) {
		over(l.events[len(l.events)-1], l.answered(), func() []engine.SIPMessage {
			return l.ladder.Messages(l.s.clock, l.id)
		})
	}
	if e.Kind == engine.LegNotSent && l.incoming == nil {
		l.s.Count.NotSent.Add(1)
	}
}

// setPurge schedules the removal of a finished leg.
func (l *leg) setPurge() {
	keep := l.s.conf.Timers.Transaction()
	if !l.forgotten {
		keep = max(keep, l.s.conf.Timers.Keep)
	}
	l.deadline = l.overAt + keep
}

func (l *leg) notSent(why engine.NotSentReason, text string) {
	l.finish(engine.LegEvent{Kind: engine.LegNotSent, NotSent: why, Reason: text})
}

// unlock arms the timer, delivers pending events to the sink without the lock, one goroutine at a
// time, and releases the leg. A sink that calls back into the stack finds the leg unlocked;
// resulting events are delivered after it returns.
func (l *leg) unlock() {
	l.arm()
	if l.delivering {
		l.mu.Unlock()
		return
	}
	l.delivering = true
	for l.sink != nil && l.delivered < len(l.events) {
		sink, e := l.sink, l.events[l.delivered]
		l.delivered++
		l.mu.Unlock()
		sink(e)
		l.mu.Lock()
	}
	l.delivering = false
	if l.forgotten && l.phase >= phaseOver {
		l.events, l.delivered, l.sink = nil, 0, nil
		l.inv.headers, l.inv.spare = nil, nil
	}
	l.mu.Unlock()
}

// arm sets the timer to the earliest of the leg's times.
func (l *leg) arm() {
	next := timing.Earliest(l.inv.resendAt, l.deadline)
	next = timing.Earliest(next, timing.Earliest(l.txs.next(), l.answers.next()))
	if l.session.watch != nil {
		next = timing.Earliest(next, l.session.watch.next())
	}
	if l.refer != nil {
		next = timing.Earliest(next, l.refer.declineAt)
	}
	switch {
	case next == 0 || l.phase == phaseGone || l.s.net.IsClosed():
		if l.timer != nil {
			l.timer.Stop()
		}
	case l.timer == nil:
		l.timer = time.AfterFunc(max(next-l.s.clock.Now(), 0), l.onTimer)
	default:
		l.timer.Reset(max(next-l.s.clock.Now(), 0))
	}
}

// fenced says that a ringing call must not become a conversation any more. The leg is locked.
func (l *leg) fenced() bool {
	return l.begun != nil && engine.FencedOff(l.s.conf.Fence.Boot(), l.begun)
}

func (l *leg) onTimer() {
	if l.s.net.IsClosed() {
		return
	}
	l.mu.Lock()
	now := l.s.clock.Now()
	if l.inv.resendAt != 0 && now >= l.inv.resendAt {
		l.inv.resend(now)
	}
	for tx := l.txs.tick(now); tx != nil; tx = l.txs.tick(now) {
		l.txEnded(tx, nil)
	}
	if l.answers.tick(now) {
		l.incoming.unacknowledged()
		l.dialogLost("no ACK") // RFC 3261 §13.3.1.4
	}
	l.session.tick(now)
	l.refer.tick(now)
	if l.deadline != 0 && now >= l.deadline {
		l.deadline = 0
		l.onDeadline(now)
	}
	gone := l.phase == phaseGone
	l.unlock()
	if gone {
		l.s.gone(l.id, l.attempt)
	}
}

// onDeadline handles the time-out of the current phase.
func (l *leg) onDeadline(now time.Duration) {
	switch l.phase {
	case phaseCalling:
		// Timer B. The far side may have the INVITE nevertheless: the leg stays ours for the same
		// time again, to end whatever still comes of it.
		l.inv.ensureSent()
		l.emit(engine.LegEvent{Kind: engine.LegSilent, Reason: "no response to INVITE"})
		l.inv.resendAt, l.inv.data = 0, nil
		l.enter(phaseSilent)
		l.deadline = now + l.s.conf.Timers.Transaction()
	case phaseProceeding:
		// Only a CANCEL sets a deadline here (RFC 3261 §9.1, last paragraph).
		l.emit(engine.LegEvent{Kind: engine.LegSilent, Reason: "no final response after CANCEL"})
		l.finish(engine.LegEvent{Kind: engine.LegClosed, Reason: "no final response after CANCEL",
			Proof: engine.ProofWord})
	case phaseSilent:
		l.finish(engine.LegEvent{Kind: engine.LegClosed, Reason: "no final response", Proof: engine.ProofWord})
	case phaseWatch:
		reason := "no final response"
		if l.cancels > 0 && l.cancels == l.cancelsUnknown {
			reason = "the far side does not know the call"
		}
		l.finish(engine.LegEvent{Kind: engine.LegClosed, Reason: reason})
	case phaseOffered:
		l.refuse(480, engine.NotSentExpired, "nobody took the call")
	case phaseOver:
		if len(l.txs.running) > 0 { // a stray dialog is still being ended
			l.deadline = now + l.s.conf.Timers.Transaction()
			return
		}
		l.phase = phaseGone
	case phaseQueued, phaseAnswered, phaseConfirmed, phaseClosing, phaseGone:
	}
}
