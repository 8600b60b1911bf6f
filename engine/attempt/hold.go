package attempt

import (
	"slices"
	"time"

	"dialler/engine"
)

// The hold of a number ends with a proof that the call is over, or when no call
// of the attempt can live any more, whoever has its legs.

// FinalWait is how long after a CANCEL a 2xx may still be under way: 64*T1
// (RFC 3261 §9.1).
const FinalWait = 32 * time.Second

// HoldMargin is added to the latest end of a call.
const HoldMargin = time.Minute

// HoldBound is when the hold of the attempt's number ends without a proof:
// latest possible answer, the longest call, and a margin. SessionEnd may be earlier.
func (a *Attempt) HoldBound(c *Config) time.Time {
	longest := max(c.CallLimit, MessageLimit)
	if c.Listen.Voicemail != "" { // the bot may say at any time that it talks to a machine
		longest += VoicemailLimit
	}
	return a.SendBy.Add(c.RingTimeout + FinalWait + longest + HoldMargin)
}

// SessionEnd is when the session of each leg whose end is not proven is over at the
// latest, of an attempt that has ended by now: nobody refreshes one any more, and no
// refresh of the far side is answered (RFC 4028 §10). Zero: that is not known, for one
// of them has none, or may live on in a process that is cut off and knows no lease.
func (m *Machine) SessionEnd(now time.Time) time.Time {
	var longest uint32
	for i := range m.A.Legs {
		l := &m.A.Legs[i]
		switch {
		case l.Proof != engine.Unproven:
		case l.Dialog == nil || l.Dialog.SessionSec == 0 || l.EndedAt == nil && m.A.Node == 0:
			return time.Time{}
		default:
			longest = max(longest, l.Dialog.SessionSec)
		}
	}
	if longest == 0 {
		return time.Time{}
	}
	return now.Add(time.Duration(longest)*time.Second + HoldMargin)
}

// Hold is that of a number.
type Hold struct {
	Attempt engine.AttemptID
	Until   *time.Time // unless a proof comes before; nil: for as long as the call lives
}

// Why is the reason of a hold, in words.
func (h *Hold) Why() string {
	if h.Until == nil {
		return "a call to the number is not over, and it is held until it is"
	}
	return "nothing has proven that a call to the number is over: it is held until something does, at the latest until " +
		h.Until.UTC().Format(time.RFC3339)
}

// Owed says of an attempt that has ended whether the end of a leg to the callee
// is not proven: its number stays held then, until HoldBound or SessionEnd at the
// latest.
func (m *Machine) Owed() bool {
	return slices.ContainsFunc(m.A.Legs, func(l Leg) bool { return l.Proof == engine.Unproven })
}

// proofOf is what proves that the leg of an event is over; without a leg in it no
// INVITE has left.
func proofOf(ev Event) engine.Proof {
	if ev.Leg == nil {
		return engine.ProofNotSent
	}
	return ev.Leg.Proves()
}

// Watched notes the last event of a leg of an attempt that has ended. A proof may
// come after an end that nothing has proven, never the other way round.
func (m *Machine) Watched(e *engine.LegEvent) {
	t := e.At
	m.A.Legs, m.A.Peers = slices.Clone(m.A.Legs), slices.Clone(m.A.Peers)
	for i := range m.A.Legs {
		if l := &m.A.Legs[i]; l.ID == e.Leg {
			l.EndedAt = &t
			if p := e.Proves(); p != engine.Unproven {
				l.Proof = p
			}
		}
	}
	for i := range m.A.Peers {
		if p := &m.A.Peers[i]; p.ID == e.Leg {
			p.EndedAt, p.State = &t, PeerOver
		}
	}
}
