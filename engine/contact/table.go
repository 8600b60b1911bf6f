package contact

import "dialler/engine/fsm"

type row = fsm.Row[State, Kind, *Machine, Event]

// Table is the machine's transition table: the one place that assigns the
// state of a contact.
func Table() *fsm.Table[State, Kind, *Machine, Event] { return table }

var (
	open      = []State{Pending, Unanswered, Connected}
	processed = []State{Completed, Failed, Abandoned, MachineDetected, WindowClosed, ManuallyStopped}
)

func is(f fate) func(*Machine, Event) bool {
	return func(m *Machine, _ Event) bool { return m.fate == f }
}

func fated(from []State, on Kind, f fate, to State, do func(*Machine, Event), why string) row {
	return row{From: from, On: on, Guard: string(f), When: is(f), To: to, Do: do, Why: why}
}

var table = fsm.New("contact", States, Kinds, rows())

func rows() []row {
	closedLater := []State{Completed, Failed, WindowClosed, ManuallyStopped}
	return []row{
		// --- an attempt begins, reaches the bot, ends ------------------------
		{From: open, On: Reserved, Do: (*Machine).reserve},
		{From: open, On: Reached, To: Connected, Do: (*Machine).reach, Why: "connected: the call reached the bot"},
		{From: append([]State{Excluded}, processed...), On: Reached, Do: (*Machine).reach, Why: "excluded while it was being connected"},

		fated(open, Attempted, fateExcluded, Excluded, (*Machine).attempted, "excluded while the attempt lived"),
		fated(open, Attempted, fateAgain, "", (*Machine).again, "an unconsumed attempt is tried again after a back-off"),
		fated(open, Attempted, fateCallback, Connected, (*Machine).toCallback, "a contact with an active callback is not final"),
		fated(open, Attempted, fateAwait, Connected, (*Machine).await, "connected until a result is stored"),
		fated(open, Attempted, fateCompleted, Completed, (*Machine).attempted, "the result came before the end"),
		fated(open, Attempted, fateRedial, Connected, (*Machine).redial, "Retry On Custom"),
		fated(open, Attempted, fateAbandoned, Abandoned, (*Machine).abandoned, "abandoned is final in its run"),
		fated(open, Attempted, fateStopped, ManuallyStopped, (*Machine).attempted, "the run was stopped while the attempt lived"),
		fated(open, Attempted, fateClosed, WindowClosed, (*Machine).attempted, "the window closed while the attempt lived"),
		fated(open, Attempted, fateRetry, Unanswered, (*Machine).retry, "Retry On System"),
		fated(open, Attempted, fateMachine, MachineDetected, (*Machine).attempted, "a machine is final unless listed"),
		{From: open, On: Attempted, To: Failed, Do: (*Machine).failed, Why: "the outcome forbids a retry, or the attempts are used up"},
		{From: []State{Excluded}, On: Attempted, Do: (*Machine).attempted},
		{From: processed, On: Attempted, Do: (*Machine).attempted, Why: "the late end of a recovered attempt"},

		// --- results ---------------------------------------------------------
		fated([]State{Connected}, ResultStored, fateExcluded, Excluded, (*Machine).result, "its result is stored, then excluded"),
		fated(open, ResultStored, fateBusy, "", (*Machine).result, "the attempt, or a newer one, still lives: its end decides"),
		fated(open, ResultStored, fateCallback, Connected, (*Machine).resultCallback, ""),
		fated(open, ResultStored, fateRedial, Connected, (*Machine).resultRedial, "Retry On Custom"),
		{From: open, On: ResultStored, To: Completed, Do: (*Machine).result, Why: "the conversation finished and a result is stored"},
		fated(closedLater, ResultStored, fateCallback, Connected, (*Machine).resultCallback, "a late result asks for a callback while the run is open"),
		fated(closedLater, ResultStored, fateRedial, Connected, (*Machine).resultRedial, "a late result queues it again while the run is open"),
		{From: closedLater, On: ResultStored, To: Completed, Do: (*Machine).result, Why: "a late result still makes it completed"},
		{From: []State{Abandoned, MachineDetected, Excluded}, On: ResultStored, Do: (*Machine).result},

		fated([]State{Connected}, ResultTimedOut, fateExcluded, Excluded, (*Machine).noResult, ""),
		fated([]State{Connected}, ResultTimedOut, fateBusy, "", (*Machine).noResult, "a newer attempt lives"),
		fated([]State{Connected}, ResultTimedOut, fateRetry, Connected, (*Machine).noResultRetry, "connected_no_result is listed in Retry On System"),
		{From: []State{Connected}, On: ResultTimedOut, To: Failed, Do: (*Machine).noResultFailed, Why: "a result that does not come"},
		{From: []State{Pending, Unanswered, Completed, Failed, Abandoned, MachineDetected, WindowClosed, ManuallyStopped, Excluded}, On: ResultTimedOut, Ignore: true, Why: "the result came, or the contact moved on"},

		// --- exclusion -------------------------------------------------------
		fated(open, ExcludedBy, fateInCall, "", (*Machine).excludeLater, "a live conversation is left alone"),
		{From: open, On: ExcludedBy, To: Excluded, Do: (*Machine).exclude, Why: "from now on no INVITE leaves for it"},
		{From: processed, On: ExcludedBy, To: Excluded, Do: (*Machine).exclude, Why: "exclude holds for finished contacts too"},
		{From: []State{Excluded}, On: ExcludedBy, Ignore: true, Why: "already excluded"},
		{From: []State{Excluded}, On: Readmitted, To: Pending, Do: (*Machine).readmit, Why: "sticky off: adding it again makes it callable"},
		{From: append(append([]State{}, open...), processed...), On: Readmitted, Ignore: true, Why: "not excluded"},

		// --- trigger ---------------------------------------------------------
		{From: open, On: Triggered, Do: (*Machine).merge, Why: "an open contact merges its metadata, no second dial"},
		{From: processed, On: Triggered, To: Pending, Do: (*Machine).reopen, Why: "a final one is reopened with fresh attempts"},
		{From: []State{Excluded}, On: Triggered, To: Pending, Do: (*Machine).reopen, Why: "sticky exclusion off; with sticky on the trigger is refused before"},

		// --- the run ---------------------------------------------------------
		fated(open, WindowEnded, fateWaiting, WindowClosed, (*Machine).closeWaiting, "waiting when the single-day window ended"),
		fated(open, RunStopped, fateWaiting, ManuallyStopped, (*Machine).closeWaiting, "waiting when the run was stopped"),
		{From: open, On: WindowEnded, Do: (*Machine).dropCallback, Why: "a live attempt or an owed result goes on"},
		{From: open, On: RunStopped, Do: (*Machine).dropCallback},
		{From: append([]State{Excluded}, processed...), On: WindowEnded, Ignore: true},
		{From: append([]State{Excluded}, processed...), On: RunStopped, Ignore: true},
		{From: []State{Excluded}, On: RunReset, Do: (*Machine).resetExcluded, Why: "the next run leaves the excluded out"},
		{From: append(append([]State{}, open...), processed...), On: RunReset, To: Pending, Do: (*Machine).reset, Why: "contacts reset there and then"},
		{From: open, On: CallbackDropped, Do: (*Machine).dropCallback},
		{From: append([]State{Excluded}, processed...), On: CallbackDropped, Ignore: true},
	}
}
