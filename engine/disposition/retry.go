package disposition

import (
	"slices"

	"dialler/engine"
)

// retryDefault are the outcomes whose default retry is "yes" or "soon".
// Throttled is among them for the case that a contact was sent back so often
// that the attempt was consumed after all: our carrier's limit must not use up
// a person.
var retryDefault = []engine.Outcome{
	engine.OutcomeNoAnswer, engine.OutcomeBusy, engine.OutcomeCongestion,
	engine.OutcomeTrunkError, engine.OutcomeThrottled,
}

// DefaultRetryOnSystem fills a Retry On System that was omitted; an empty one
// stays empty and redials no consumed attempt.
func DefaultRetryOnSystem() []engine.Outcome { return slices.Clone(retryDefault) }

// Listable says whether an outcome may stand in Retry On System. Not those
// that must not be redialled by a list: completed (its disposition decides),
// abandoned (final in its run, regulation), blocked (607, 608: unwanted),
// cancelled and excluded (somebody said no).
func Listable(o engine.Outcome) bool {
	switch o {
	case engine.OutcomeConnectedNoResult, engine.OutcomeMachine, engine.OutcomeFax,
		engine.OutcomeNoAnswer, engine.OutcomeBusy, engine.OutcomeRejected, engine.OutcomeInvalidNumber,
		engine.OutcomeCongestion, engine.OutcomeThrottled, engine.OutcomeTrunkError,
		engine.OutcomeMediaError, engine.OutcomeCallerHungUp, engine.OutcomeLost, engine.OutcomeSystemError:
		return true
	case engine.OutcomeCompleted, engine.OutcomeAbandoned, engine.OutcomeBlocked,
		engine.OutcomeCancelled, engine.OutcomeExcluded:
		return false
	}
	return false
}

// ListableOutcomes lists what Retry On System accepts, in the order of
// engine.Outcomes.
func ListableOutcomes() []engine.Outcome {
	var list []engine.Outcome
	for _, o := range engine.Outcomes {
		if Listable(o) {
			list = append(list, o)
		}
	}
	return list
}

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
