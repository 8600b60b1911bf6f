package disposition

import "dialler/engine"

// row is one line of the table "Final response → outcome".
type row int

const (
	rowUnlisted row = iota // the zero value: unlisted 4xx
	rowBusy
	rowNoAnswer
	rowNotSent
	rowSilence
	rowInvalid
	rowRejected
	rowCallerMedia // 606
	rowUnwanted    // 607
	rowBlocked     // 608, 603+
	rowAuth
	rowCongestion
	rowThrottled
	rowMedia
	rowRedirect
	rowCount
)

type rowResult Result

var rows = [rowCount]rowResult{
	rowUnlisted: {Outcome: engine.OutcomeSystemError, Consumes: true, Retry: RetryNo, Fault: FaultNetwork},
	rowBusy:     {Outcome: engine.OutcomeBusy, Consumes: true, Retry: RetryYes, Fault: FaultCallee},
	rowNoAnswer: {Outcome: engine.OutcomeNoAnswer, Consumes: true, Retry: RetryYes, Fault: FaultCallee},
	rowNotSent: {Outcome: engine.OutcomeTrunkError, Retry: RetryYes, NextTrunk: true, TrunkBad: true,
		Fault: FaultTrunk},
	rowSilence: {Outcome: engine.OutcomeTrunkError, Consumes: true, Retry: RetryYes, TrunkBad: true,
		Fault: FaultTrunk},
	rowInvalid:  {Outcome: engine.OutcomeInvalidNumber, Consumes: true, Retry: RetryNo, Fault: FaultNumber},
	rowRejected: {Outcome: engine.OutcomeRejected, Consumes: true, Retry: RetryByPolicy, Fault: FaultCallee},
	rowCallerMedia: {Outcome: engine.OutcomeMediaError, Consumes: true, Retry: RetryNo, Strike: true,
		Fault: FaultCallerID},
	rowUnwanted: {Outcome: engine.OutcomeBlocked, Consumes: true, Retry: RetryNo, SuggestExclusion: true,
		Fault: FaultCallee},
	rowBlocked: {Outcome: engine.OutcomeBlocked, Consumes: true, Retry: RetryNo, Strike: true, NumberAlarm: true,
		Fault: FaultCallerID},
	rowAuth: {Outcome: engine.OutcomeTrunkError, Retry: RetryHoldTrunk, Fault: FaultTrunk},
	rowCongestion: {Outcome: engine.OutcomeCongestion, Consumes: true, Retry: RetryYes, BackOff: true, NextTrunk: true,
		TrunkBad: true, Fault: FaultNetwork},
	rowThrottled: {Outcome: engine.OutcomeThrottled, Retry: RetrySoon, Throttle: true, Fault: FaultTrunk},
	rowMedia:     {Outcome: engine.OutcomeMediaError, Consumes: true, Retry: RetryNo, Fault: FaultMedia},
	rowRedirect: {Outcome: engine.OutcomeInvalidNumber, Consumes: true, Retry: RetryNo, Redirect: true,
		Fault: FaultNumber},
}

func (r rowResult) with(friendly string) Result {
	res := Result(r)
	res.Friendly, res.Mapped = friendly, true
	return res
}

func (r rowResult) unmapped() Result {
	res := Result(r)
	res.Friendly = "The call failed"
	return res
}

// entry maps one code or cause to its row. adjust is for the differences of a single code from its
// row.
type entry struct {
	row      row
	friendly string
	adjust   func(*Result)
}

// codes is indexed by SIP status code − 300. 408, the marked 503 and the marked 603 are handled
// before the lookup.
var codes = tabulate(400, map[int]entry{
	301 - 300: {rowRedirect, "Number moved permanently", nil},
	302 - 300: {rowRedirect, "Number moved", nil},
	305 - 300: {rowRedirect, "Another route is required", nil},

	401 - 300: {rowAuth, "The carrier refuses our credentials", nil},
	402 - 300: {rowAuth, "The carrier demands payment", nil},
	407 - 300: {rowAuth, "The carrier refuses our credentials", nil},

	403 - 300: {rowRejected, "Refused", func(r *Result) { r.Strike, r.TrunkDoubt = true, true }},
	603 - 300: {rowRejected, "Declined", nil},

	404 - 300: {rowInvalid, "Number not found", nil},
	410 - 300: {rowInvalid, "Number no longer in service", nil},
	416 - 300: {rowInvalid, "Number format not accepted", nil},
	484 - 300: {rowInvalid, "Number incomplete", nil},
	485 - 300: {rowInvalid, "Number ambiguous", nil},
	604 - 300: {rowInvalid, "Number does not exist", nil},

	415 - 300: {rowMedia, "Media type not supported", nil},
	420 - 300: {rowMedia, "SIP extension not supported", nil},
	421 - 300: {rowMedia, "SIP extension required", nil},
	422 - 300: {rowMedia, "Session interval too small", nil},
	488 - 300: {rowMedia, "No common codec", nil},
	494 - 300: {rowMedia, "Security agreement required", nil},
	606 - 300: {rowCallerMedia, "Call not acceptable", nil},

	429 - 300: {rowThrottled, "Too many calls for the carrier", nil},

	480 - 300: {rowNoAnswer, "Not available", nil},
	486 - 300: {rowBusy, "Busy", nil},
	487 - 300: {rowNoAnswer, "No answer", nil},
	600 - 300: {rowBusy, "Busy everywhere", nil},

	500 - 300: {rowCongestion, "Carrier error", nil},
	502 - 300: {rowCongestion, "Carrier gateway error", nil},
	503 - 300: {rowCongestion, "Carrier has no capacity", nil},
	504 - 300: {rowCongestion, "Carrier timeout", nil},
	580 - 300: {rowCongestion, "Precondition failed", notTheTrunk},

	607 - 300: {rowUnwanted, "Callee does not want these calls", nil},
	608 - 300: {rowBlocked, "Blocked by the network", nil},
})

// causes is indexed by Q.850 cause.
var causes = tabulate(128, map[int]entry{
	1:   {rowInvalid, "Number not assigned", nil},
	3:   {rowInvalid, "No route to the number", nil},
	22:  {rowInvalid, "Number changed", nil},
	23:  {rowRedirect, "Redirected to a new destination", nil},
	28:  {rowInvalid, "Number format invalid", nil},
	17:  {rowBusy, "Busy", nil},
	18:  {rowNoAnswer, "Phone does not respond", nil},
	19:  {rowNoAnswer, "No answer", nil},
	20:  {rowNoAnswer, "Phone switched off or out of coverage", nil},
	31:  {rowNoAnswer, "Not available", nil},
	21:  {rowRejected, "Declined", nil},
	55:  {rowAuth, "Calls barred for our account", nil},
	57:  {rowAuth, "Our account may not place this call", nil},
	27:  {rowCongestion, "Destination out of order", notTheTrunk},
	34:  {rowCongestion, "No circuit available", nil},
	38:  {rowCongestion, "Network out of order", nil},
	41:  {rowCongestion, "Temporary network failure", nil},
	42:  {rowCongestion, "Switching equipment congested", nil},
	44:  {rowCongestion, "Requested circuit not available", nil},
	47:  {rowCongestion, "Network resources not available", nil},
	102: {rowCongestion, "Network timeout", nil},
	111: {rowCongestion, "Network protocol error", nil},
	127: {rowCongestion, "Network interworking error", nil},
	65:  {rowMedia, "Bearer capability not implemented", nil},
	70:  {rowMedia, "Only restricted digital bearer available", nil},
	79:  {rowMedia, "Service not implemented", nil},
	88:  {rowMedia, "Incompatible destination", nil},
})

// notTheTrunk blames the destination, so that the trunk's breaker does not count it.
func notTheTrunk(r *Result) { r.TrunkBad = false }

// tabulate turns a literal into an array, so that a lookup is an index operation.
func tabulate(size int, m map[int]entry) []entry {
	t := make([]entry, size)
	for i := range t {
		t[i].friendly = "The call failed"
	}
	for i, e := range m {
		t[i] = e
	}
	return t
}
