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
// latest possible answer, the longest call, and a margin.
func (a *Attempt) HoldBound(c *Config) time.Time {
	longest := max(c.CallLimit, MessageLimit)
	if c.Listen.Voicemail != "" {
		longest = max(longest, VoicemailLimit)
	}
	return a.SendBy.Add(c.RingTimeout + FinalWait + longest + HoldMargin)
}

// Owed says of an attempt that has ended whether the end of a leg to the callee
// is not proven: its number stays held then, until HoldBound at the latest.
func (m *Machine) Owed() bool {
	return m.unproven || slices.ContainsFunc(m.A.Legs, func(l Leg) bool { return l.EndedAt == nil })
}

// Watch goes on with an attempt that ended in an earlier life. What ended its
// legs there is not known here: only those that are still open can be proven to
// be over.
func (m *Machine) Watch() { m.unproven = !m.Owed() }

// Watched notes the last event of a leg of an attempt that has ended.
func (m *Machine) Watched(e *engine.LegEvent) {
	t := e.At
	m.A.Legs, m.A.Peers = slices.Clone(m.A.Legs), slices.Clone(m.A.Peers)
	for i := range m.A.Legs {
		if l := &m.A.Legs[i]; l.ID == e.Leg {
			l.EndedAt = &t
			m.unproven = m.unproven || e.Proves() == engine.Unproven
		}
	}
	for i := range m.A.Peers {
		if p := &m.A.Peers[i]; p.ID == e.Leg {
			p.EndedAt, p.State = &t, PeerOver
		}
	}
}
