package attempt

import (
	"slices"
	"time"

	"dialler/engine"
)

// The hold of a number ends with a proof that the call is over, or when no call of the attempt can
// still be up, whoever owns its legs.

// FinalWait is how long after a CANCEL a 2xx may still arrive: 64*T1 (RFC 3261 §9.1).
const FinalWait = 32 * time.Second

// HoldMargin is added to the latest possible end of a call.
const HoldMargin = time.Minute

// HoldBound is when the hold of the attempt's number ends without a proof: the latest possible
// answer, plus the longest call, plus a margin. SessionEnd may be earlier.
func (a *Attempt) HoldBound(c *Config) time.Time {
	longest := max(c.CallLimit, MessageLimit)
	if c.Listen.Voicemail != "" { // the bot may report a machine at any time
		longest += VoicemailLimit
	}
	return a.SendBy.Add(c.RingTimeout + FinalWait + longest + HoldMargin)
}

// SessionEnd is the latest time at which the sessions of all unproven legs of an ended attempt
// expire: we no longer refresh them, and no refresh of the far side is answered (RFC 4028 §10).
// Zero means unknown: a leg has no session timer, or may be up in a process that is cut off and has
// no lease.
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

// Hold is the hold of a number.
type Hold struct {
	Attempt engine.AttemptID
	Until   *time.Time // unless a proof comes first; nil means as long as the call is up
}

// Why explains the hold in words.
func (h *Hold) Why() string {
	if h.Until == nil {
		return "a call to the number is not over; the number is held until it is"
	}
	return "there is no proof that a call to the number is over: it is held until there is, at the latest until " +
		h.Until.UTC().Format(time.RFC3339)
}

// Owed says whether an ended attempt has a leg to the callee without a proof of its end: the number
// then stays held, until HoldBound or SessionEnd at the latest.
func (m *Machine) Owed() bool {
	return slices.ContainsFunc(m.A.Legs, func(l Leg) bool { return l.Proof == engine.Unproven })
}

// proofOf is the proof in an event that its leg is over; an event without a leg means that no
// INVITE left.
func proofOf(ev Event) engine.Proof {
	if ev.Leg == nil {
		return engine.ProofNotSent
	}
	return ev.Leg.Proves()
}

// Watched notes the last event of a leg of an ended attempt. A proof may follow an unproven end,
// never the reverse.
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
