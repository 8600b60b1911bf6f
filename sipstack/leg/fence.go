package leg

import (
	"time"

	"dialler/engine"
)

// After the end of this node's lease (engine.Fence) no leg becomes a conversation: ringing calls
// are cancelled, and a late 200 gets ACK and BYE. Conversations go on for engine.LimboFor, or until
// they have an owner. None of that needs another component, nor the network: the boot-time clock is
// compared before each write, and every fenceEvery for legs that would not write.

const fenceEvery = 200 * time.Millisecond

// fence ends what must not go on. The leg is locked.
func (l *leg) fence() {
	if !l.fenced() {
		return
	}
	switch l.phase {
	case phaseQueued:
		l.notSent(engine.NotSentExpired, "the node has lost its lease")
	case phaseOffered:
		l.refuse(503, engine.NotSentExpired, "the node has lost its lease")
	case phaseCalling, phaseProceeding, phaseSilent:
		if !l.cancelWanted {
			l.emit(engine.LegEvent{Kind: engine.LegFenced})
			l.cancel()
		}
	case phaseAnswered:
		l.endFenced()
	case phaseConfirmed:
		if engine.LimboOver(l.begun, l.s.conf.Fence, l.attempt) {
			l.endFenced()
		}
	case phaseClosing, phaseWatch, phaseOver, phaseGone:
	}
}

func (l *leg) endFenced() {
	l.emit(engine.LegEvent{Kind: engine.LegFenced})
	l.hangUp(engine.HangUpCause{Q850: 41, Text: "lease lost"}) // 41: temporary failure
}

// keepFence checks all legs while the lease is over, and once more when there is another than seen.
func (k *Table) keepFence(seen engine.NodeLease) {
	defer close(k.fenceOver)
	tick := time.NewTicker(fenceEvery)
	defer tick.Stop()
	for {
		select {
		case <-k.stop:
			return
		case <-tick.C:
		}
		now := k.conf.Fence.Lease()
		if now == seen && !engine.FencedOff(k.conf.Fence.Boot(), now) {
			continue
		}
		seen = now
		k.each(func(l *leg) {
			l.mu.Lock()
			l.fence()
			l.unlock()
		})
	}
}
