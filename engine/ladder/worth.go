package ladder

import (
	"dialler/engine"
	"dialler/engine/disposition"
)

// Worth says whether the ladder of a leg is worth storing: its end was caused by trunk, network,
// media, our number or us, and not by the person called. final is the leg's last event.
func Worth(final engine.LegEvent, answered bool) bool {
	switch final.Kind {
	case engine.LegNotSent:
		return final.NotSent != engine.NotSentCancelled && final.NotSent != engine.NotSentExpired &&
			final.NotSent != engine.NotSentHeld
	case engine.LegRefused:
		if final.Code == 487 { // we cancelled it
			return false
		}
		r := disposition.Classify(disposition.Input{Code: final.Code, Reason: final.Reason, Q850: final.Q850,
			NetworkBlocked: final.NetworkBlocked, LimitReached: final.LimitReached, AfterRinging: true})
		return (r.Fault != disposition.FaultCallee && r.Fault != disposition.FaultNumber) || !r.Mapped
	case engine.LegHungUp:
		switch final.Q850 {
		case 0, 16, 17, 31:
			return false
		}
		return true
	case engine.LegClosed:
		return !answered || final.Code == 0 || final.Code >= 300 // silent, or our BYE was not accepted
	default:
		return false
	}
}
