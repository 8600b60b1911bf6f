package disposition

import (
	"time"

	"dialler/engine"
)

// Input is what is known about a leg when it ends.
type Input struct {
	Code   int    // final SIP status code, 0 when there was none
	Reason string // reason phrase; informative, markers in it are read by sipstack
	Q850   int    // cause of a "Reason: Q.850" header, 0 when absent
	// NetworkBlocked says that a 603 has a network-blocked marker (603+).
	NetworkBlocked bool
	// LimitReached says that the reason of a 503 names a CPS or concurrency limit.
	LimitReached bool
	// RetryAfter is the Retry-After header, 0 when absent.
	RetryAfter time.Duration

	AfterRinging bool     // an 18x came before
	Intercepted  bool     // and the network announced (SIT) that the number cannot be reached
	CancelledBy  CancelBy // why we sent CANCEL
	AuthTried    bool     // the 401 or 407 answers an INVITE with credentials

	NotSent engine.NotSentReason // if not "", certainly no INVITE left
	Silent  bool                 // no final response: Timer B, or none after CANCEL
}

// CancelBy says why we cancelled a leg.
type CancelBy string

const (
	CancelNone        CancelBy = ""
	CancelRingTimeout CancelBy = "ring_timeout"
	CancelStop        CancelBy = "stop"
	CancelExclude     CancelBy = "exclude"
)

// Retry is the default retry of an ended attempt.
type Retry string

const (
	RetryYes       Retry = "yes"        // fills an omitted Retry On System
	RetryNo        Retry = "no"         //
	RetryByPolicy  Retry = "by_policy"  // only when an operator lists the outcome
	RetrySoon      Retry = "soon"       // the contact goes back unchanged
	RetryHoldTrunk Retry = "hold_trunk" // again once the trunk is repaired, or by another trunk
)

// Fault says whose fault it was.
type Fault string

const (
	FaultCallee   Fault = "callee"    // the person or the phone
	FaultNumber   Fault = "number"    // the number that was dialled
	FaultCallerID Fault = "caller_id" // our number
	FaultTrunk    Fault = "trunk"     // the carrier connection or its credentials
	FaultNetwork  Fault = "network"   // somewhere between trunk and phone
	FaultMedia    Fault = "media"     // codecs, session timers, addresses in SDP
	FaultUs       Fault = "us"        // the dialler itself, or its operators
)

// Result is what the end of a leg means.
type Result struct {
	Outcome  engine.Outcome
	Consumes bool // counts against Max Attempts
	Retry    Retry
	BackOff  bool // the retry backs off beyond Retry Delay
	// MinRetryAfter is the far side's Retry-After where it is honoured: the person is not called
	// earlier. TrunkRetryAfter comes from an overloaded trunk and does not concern the person.
	MinRetryAfter   time.Duration
	TrunkRetryAfter time.Duration

	// NextTrunk says that another trunk may be tried in the same attempt.
	NextTrunk bool
	// Redirect says that the Contacts of the response may be followed if the trunk allows;
	// otherwise the rest of the result applies.
	Redirect bool

	Fault            Fault
	Strike           bool // mark against the caller ID
	NumberAlarm      bool // the network blocks our number: tell the operator
	TrunkBad         bool // counts towards the trunk's breaker
	TrunkDoubt       bool // a 403: counts towards the trunk's rate over destinations and caller IDs
	Throttle         bool // the trunk's token bucket shrinks
	SuggestExclusion bool // the callee does not want our calls

	// Friendly is the reason in words. Mapped is false for a code that the table does not list: the
	// console then shows the raw code.
	Friendly string
	Mapped   bool
}

// Struck says, as Classify does but from stored data, whether a call with this end was a refusal of
// its caller ID.
func Struck(o engine.Outcome, code int) bool {
	switch o {
	case engine.OutcomeBlocked:
		return code >= 300 && code != 607 // otherwise it never left, or the callee refused it
	case engine.OutcomeRejected:
		return code == 403
	case engine.OutcomeMediaError:
		return code == 606
	default:
		return false
	}
}

// Classify determines the meaning of a leg's end. It never fails.
func Classify(in Input) Result {
	switch in.CancelledBy {
	case CancelStop:
		return cancelled(engine.OutcomeCancelled, "Cancelled", in)
	case CancelExclude:
		return cancelled(engine.OutcomeExcluded, "Excluded while it was being dialled", in)
	case CancelNone, CancelRingTimeout:
	}
	switch {
	case in.NotSent != "":
		return notSent(in.NotSent)
	case in.intercepted():
		return rows[rowInvalid].with("Announced as out of service")
	case in.Silent && in.AfterRinging, in.Code == 408 && in.AfterRinging:
		return rows[rowNoAnswer].with("No answer")
	case in.Silent, in.Code == 408:
		return rows[rowSilence].with("No response from the carrier")
	case in.Code < 300 || in.Code > 699:
		return rows[rowUnlisted].unmapped()
	case in.Code == 503 && in.LimitReached:
		r := rows[rowThrottled].with("The carrier's call limit is reached")
		r.TrunkRetryAfter = honoured(in)
		return r
	case in.Code == 603 && in.NetworkBlocked:
		r := rows[rowBlocked].with("Blocked by the network")
		r.MinRetryAfter = honoured(in)
		return r
	}
	return byTable(in)
}

// intercepted says whether an announcement of the network decides: with a code that says less than
// it, and no Q.850 cause that says otherwise (a phone that is switched off has its announcement too,
// and cause 20).
func (in *Input) intercepted() bool {
	if !in.Intercepted || in.LimitReached || in.NetworkBlocked {
		return false
	}
	switch in.Code {
	case 408, 480, 486, 487, 500, 502, 503, 504, 600, 603:
	default:
		return false
	}
	switch {
	case in.Q850 == 16, in.Q850 == 31, in.Q850 == 127: // of a network that knows no better
		return true
	case in.Q850 <= 0, in.Q850 >= len(causes):
		return true
	}
	row := causes[in.Q850].row
	return row == rowUnlisted || row == rowInvalid
}

func byTable(in Input) Result {
	code, listed := in.Code, true
	e := codes[code-300]
	if e.row == rowUnlisted {
		listed = false
		switch {
		case code >= 600:
			code, e = 603, codes[603-300]
		case code >= 500:
			code, e = 500, codes[500-300]
		case code < 400:
			e = codes[302-300]
		}
	}
	if generic(code) && in.Q850 > 0 && in.Q850 < len(causes) {
		if c := causes[in.Q850]; c.row != rowUnlisted {
			e, listed = c, true
		}
	}
	r := rows[e.row].with(e.friendly)
	if e.adjust != nil {
		e.adjust(&r)
	}
	if !listed {
		r.Mapped = false
	}
	r.MinRetryAfter = honoured(in)
	return r
}

// generic codes say so little that a Q.850 cause takes precedence.
func generic(code int) bool {
	switch code {
	case 480, 500, 503, 603:
		return true
	}
	return false
}

// honoured returns the Retry-After if the far side may demand it.
func honoured(in Input) time.Duration {
	switch in.Code {
	case 480, 486, 503, 600, 603:
		return max(in.RetryAfter, 0)
	}
	return 0
}

func notSent(why engine.NotSentReason) Result {
	r := rows[rowNotSent].with("The call could not be sent")
	switch why {
	case engine.NotSentNoRoute:
	case engine.NotSentMedia:
		// Another trunk would not help: no media path can be opened.
		return Result{Outcome: engine.OutcomeMediaError, Retry: RetrySoon, Fault: FaultUs,
			Friendly: "No media path could be opened", Mapped: true}
	case engine.NotSentTrunk:
		// A trunk that is not configured says nothing about the carrier.
		r.TrunkBad, r.Fault, r.Friendly = false, FaultUs, "The trunk is not configured"
	case engine.NotSentExpired:
		return Result{Outcome: engine.OutcomeSystemError, Retry: RetrySoon, Fault: FaultUs,
			Friendly: "Not sent in time", Mapped: true}
	case engine.NotSentOutdated:
		return Result{Outcome: engine.OutcomeExpired, Retry: RetryNo, Fault: FaultUs,
			Friendly: "Its expires_at passed before it was sent", Mapped: true}
	case engine.NotSentHeld:
		return Result{Outcome: engine.OutcomeSystemError, Retry: RetrySoon, Fault: FaultUs,
			Friendly: "Another call to the number is not over", Mapped: true}
	case engine.NotSentCancelled:
		return Result{Outcome: engine.OutcomeCancelled, Retry: RetryNo, Fault: FaultUs,
			Friendly: "Cancelled before it was sent", Mapped: true}
	}
	return r
}

// cancelled is a leg that a rule ended; it is consumed once its INVITE left.
func cancelled(o engine.Outcome, friendly string, in Input) Result {
	return Result{Outcome: o, Consumes: in.NotSent == "", Retry: RetryNo, Fault: FaultUs, Friendly: friendly, Mapped: true}
}

// ForVerdict is the outcome of an answered call that is ended because of its verdict, "" for the
// verdicts that go to the bot (SEMANTICS §5).
func ForVerdict(v engine.Verdict) engine.Outcome {
	switch v {
	case engine.VerdictMachine:
		return engine.OutcomeMachine
	case engine.VerdictFax:
		return engine.OutcomeFax
	case engine.VerdictSIT:
		return engine.OutcomeInvalidNumber
	case engine.VerdictHuman, engine.VerdictSilence, engine.VerdictUnknown, engine.VerdictScreener:
		return ""
	}
	return ""
}
