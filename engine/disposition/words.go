package disposition

import "dialler/engine"

// Describe gives an outcome in words, for ends that no SIP code explains.
func Describe(o engine.Outcome) string {
	switch o {
	case engine.OutcomeCompleted:
		return "Conversation finished"
	case engine.OutcomeConnectedNoResult:
		return "Conversation without a result"
	case engine.OutcomeAbandoned:
		return "Answered, but no bot was free in time"
	case engine.OutcomeMachine:
		return "Answering machine"
	case engine.OutcomeFax:
		return "Fax"
	case engine.OutcomeNoAnswer:
		return "No answer"
	case engine.OutcomeBusy:
		return "Busy"
	case engine.OutcomeRejected:
		return "Declined"
	case engine.OutcomeInvalidNumber:
		return "Number not in service"
	case engine.OutcomeBlocked:
		return "Blocked"
	case engine.OutcomeCongestion:
		return "Network congestion"
	case engine.OutcomeThrottled:
		return "The carrier's call limit is reached"
	case engine.OutcomeTrunkError:
		return "Trunk failure"
	case engine.OutcomeMediaError:
		return "Audio failure"
	case engine.OutcomeCallerHungUp:
		return "Hung up before the bot was connected"
	case engine.OutcomeCancelled:
		return "Cancelled"
	case engine.OutcomeExcluded:
		return "Excluded"
	case engine.OutcomeLost:
		return "Lost when the dialler was interrupted"
	case engine.OutcomeSystemError:
		return "Internal failure"
	}
	return string(o)
}
