package engine

import "slices"

// Outcome is the system's term for how an attempt ended. It is never mixed with the SIP code (the
// carrier's) or the disposition (the bot's).
type Outcome string

const (
	OutcomeCompleted         Outcome = "completed"           // conversation with a stored result
	OutcomeConnectedNoResult Outcome = "connected_no_result" // conversation without a result (yet)
	OutcomeAbandoned         Outcome = "abandoned"           // answered live, no bot in time
	OutcomeMachine           Outcome = "machine"
	OutcomeFax               Outcome = "fax"
	OutcomeNoAnswer          Outcome = "no_answer"
	OutcomeBusy              Outcome = "busy"
	OutcomeRejected          Outcome = "rejected"
	OutcomeInvalidNumber     Outcome = "invalid_number"
	OutcomeBlocked           Outcome = "blocked"
	OutcomeCongestion        Outcome = "congestion"
	OutcomeThrottled         Outcome = "throttled"
	OutcomeTrunkError        Outcome = "trunk_error"
	OutcomeMediaError        Outcome = "media_error"
	OutcomeCallerHungUp      Outcome = "caller_hung_up" // hung up before the bot was connected, outside the abandon rate
	OutcomeCancelled         Outcome = "cancelled"
	OutcomeExcluded          Outcome = "excluded"
	OutcomeLost              Outcome = "lost" // the process died during the attempt
	OutcomeSystemError       Outcome = "system_error"
	OutcomeExpired           Outcome = "expired" // a dialout whose expires_at passed before it was dialled (ADR 57)
)

// Redial says whether Retry On System may list an outcome.
type Redial string

const (
	// RedialNever is for completed (its disposition decides), abandoned (final in its run,
	// regulation), blocked (607, 608: unwanted), cancelled and excluded (somebody said no), and expired
	// (of dialouts only).
	RedialNever  Redial = "never"
	RedialListed Redial = "listed" // where an operator lists it
	// RedialDefault is for outcomes whose default retry is "yes" or "soon". Throttled is one of
	// them for the case that a contact was sent back so often that the attempt was consumed after
	// all: our carrier's limit must not use up a person.
	RedialDefault Redial = "default"
)

// OutcomeRow has the properties of an outcome, except what causes it (engine/disposition).
type OutcomeRow struct {
	Outcome  Outcome
	Redial   Redial
	Answered bool   // only an answered call can have it
	Label    string // in the console
	Tone     string // its colour there
}

// OutcomeRows has every outcome, those of the specification in its order.
var OutcomeRows = [...]OutcomeRow{
	{OutcomeCompleted, RedialNever, true, "Completed", "green"},
	{OutcomeConnectedNoResult, RedialListed, true, "Connected, no result", "teal"},
	{OutcomeAbandoned, RedialNever, true, "Abandoned", "orange"},
	{OutcomeMachine, RedialListed, true, "Machine", "purple"},
	{OutcomeFax, RedialListed, true, "Fax", "purple"},
	{OutcomeNoAnswer, RedialDefault, false, "No answer", "amber"},
	{OutcomeBusy, RedialDefault, false, "Busy", "amber"},
	{OutcomeRejected, RedialListed, false, "Rejected", "red"},
	{OutcomeInvalidNumber, RedialListed, false, "Invalid number", "red"},
	{OutcomeBlocked, RedialNever, false, "Blocked", "red"},
	{OutcomeCongestion, RedialDefault, false, "Congestion", "amber"},
	{OutcomeThrottled, RedialDefault, false, "Throttled", "amber"},
	{OutcomeTrunkError, RedialDefault, false, "Trunk error", "red"},
	{OutcomeMediaError, RedialListed, false, "Media error", "red"},
	{OutcomeCallerHungUp, RedialListed, true, "Callee hung up", "amber"},
	{OutcomeCancelled, RedialNever, false, "Cancelled", "grey"},
	{OutcomeExcluded, RedialNever, false, "Excluded", "grey"},
	{OutcomeLost, RedialListed, false, "Lost", "red"},
	{OutcomeSystemError, RedialListed, false, "System error", "red"},
	{OutcomeExpired, RedialNever, false, "Expired", "grey"},
}

// OutcomeCount is how many outcomes there are.
const OutcomeCount = len(OutcomeRows)

// Outcomes lists every outcome, in the order of OutcomeRows.
var Outcomes = func() (list []Outcome) {
	for _, r := range OutcomeRows {
		list = append(list, r.Outcome)
	}
	return list
}()

// Row returns the properties of an outcome; an unknown one is never redialled.
func (o Outcome) Row() OutcomeRow {
	if i := slices.IndexFunc(OutcomeRows[:], func(r OutcomeRow) bool { return r.Outcome == o }); i >= 0 {
		return OutcomeRows[i]
	}
	return OutcomeRow{Outcome: o, Redial: RedialNever}
}

// AbandonCause says why a live answer was not served.
type AbandonCause string

const (
	AbandonNoSeat       AbandonCause = "no_seat"
	AbandonLateConnect  AbandonCause = "late_connect"
	AbandonCapacityLoss AbandonCause = "capacity_loss" // a worker, a bot endpoint or the process was lost
)

// Party is who ended a call.
type Party string

const (
	PartyCallee Party = "callee"
	PartyBot    Party = "bot"
	PartyTarget Party = "target" // of a transfer
	PartySystem Party = "system" // limits, stop, exclusion, faults
)

// Verdict is the classification of an answered call.
type Verdict string

const (
	VerdictHuman    Verdict = "human"
	VerdictMachine  Verdict = "machine"
	VerdictFax      Verdict = "fax"
	VerdictSIT      Verdict = "sit"
	VerdictSilence  Verdict = "silence"
	VerdictUnknown  Verdict = "unknown"
	VerdictScreener Verdict = "screener"
)

// Live says whether a verdict sends the call to the bot.
func (v Verdict) Live() bool {
	switch v {
	case VerdictHuman, VerdictUnknown, VerdictSilence, VerdictScreener:
		return true
	case VerdictMachine, VerdictFax, VerdictSIT:
		return false
	}
	return true
}

// AMDMode says when answer classification runs.
type AMDMode string

const (
	AMDOff        AMDMode = "off"
	AMDSequential AMDMode = "sequential" // listen first, then attach the bot
	AMDParallel   AMDMode = "parallel"   // attach the bot at once; a machine verdict detaches it
)

// Constraint is the one thing that kept the dialler from placing (more)
// dials: the answer to "why is it not dialling?".
type Constraint string

const (
	ConstraintNone          Constraint = ""
	ConstraintWindow        Constraint = "window"
	ConstraintPaused        Constraint = "paused"
	ConstraintConcurrency   Constraint = "concurrency"
	ConstraintSeats         Constraint = "seats"
	ConstraintAbandonCredit Constraint = "abandon_credit"
	ConstraintTrunkCPS      Constraint = "trunk_cps"
	ConstraintTrunkChannels Constraint = "trunk_channels"
	ConstraintTrunkHealth   Constraint = "trunk_health"
	ConstraintNumberPool    Constraint = "number_pool"
	ConstraintNoDueContacts Constraint = "no_due_contacts"
	ConstraintRetryDelay    Constraint = "retry_delay"
	ConstraintDatabase      Constraint = "database"
	ConstraintNodeDraining  Constraint = "node_draining"
	ConstraintNodeFenced    Constraint = "node_fenced"
	ConstraintKeeperAway    Constraint = "keeper_away" // the node that counts seats, channels or calls does not answer
	ConstraintOverload      Constraint = "overload"    // the dialler is late with the work of the current calls
	ConstraintMaxLines      Constraint = "max_lines"   // as many lines ring as the campaign allows
)

// constraints lists the constraints by index.
var constraints = [...]Constraint{ConstraintNone, ConstraintWindow, ConstraintPaused, ConstraintConcurrency,
	ConstraintSeats, ConstraintAbandonCredit, ConstraintTrunkCPS, ConstraintTrunkChannels, ConstraintTrunkHealth,
	ConstraintNumberPool, ConstraintNoDueContacts, ConstraintRetryDelay, ConstraintDatabase, ConstraintNodeDraining,
	ConstraintNodeFenced, ConstraintKeeperAway, ConstraintOverload, ConstraintMaxLines}

// ConstraintCount is how many constraints there are.
const ConstraintCount = len(constraints)

// Index numbers the constraints from 0, which is ConstraintNone.
func (c Constraint) Index() int { return max(slices.Index(constraints[:], c), 0) }

// ConstraintAt is the constraint with the index.
func ConstraintAt(i int) Constraint { return constraints[i] }
