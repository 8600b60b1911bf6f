package contact

import (
	"slices"

	"dialler/engine/fsm"
)

type row = fsm.Row[State, Kind, *Machine, Event]

// Table is the machine's transition table: the one place that assigns the
// state of a contact.
func Table() *fsm.Table[State, Kind, *Machine, Event] { return table }

var (
	open      = []State{Pending, Waiting, Connected}
	processed = []State{Completed, Failed, Abandoned, MachineDetected, WindowClosed, ManuallyStopped, Expired}
	notOpen   = append([]State{Excluded}, processed...)
	// lateResult are the final states that a late result may still change.
	lateResult = []State{Completed, Failed, WindowClosed, ManuallyStopped, Expired}
)

func is(f fate) func(*Machine, Event) bool {
	return func(m *Machine, _ Event) bool { return m.fate == f }
}

func fated(from []State, on Kind, f fate, to State, do func(*Machine, Event), why string) row {
	return row{From: from, On: on, Guard: string(f), When: is(f), To: to, Do: do, Why: why}
}

func ignored(from []State, on Kind, f fate, why string) row {
	return row{From: from, On: on, Guard: string(f), When: is(f), Ignore: true, Why: why}
}

var table = fsm.New("contact", States, Kinds, noted(rows()))

// noted makes every action set a flag, by which Apply tells a change from an ignored event.
func noted(rs []row) []row {
	for i := range rs {
		if do := rs[i].Do; do != nil {
			rs[i].Do = func(m *Machine, ev Event) {
				m.changed = true
				do(m, ev)
			}
		}
	}
	return rs
}

func rows() []row {
	return slices.Concat(attemptRows(), resultRows(), excludeRows(), operatorRows(), runRows())
}

func attemptRows() []row {
	return []row{
		fated(open, Reserved, fateWaiting, "", (*Machine).reserve,
			"one live attempt, and only for a contact that waits for a dial"),
		fated(open, Reached, fateBusy, Connected, (*Machine).reach, "connected: the call reached the bot"),
		fated([]State{Excluded}, Reached, fateBusy, "", (*Machine).reach, "excluded while it was being connected"),

		ignored(States, Attempted, fateNotOurs, "an end that is already recorded"),
		fated(open, Attempted, fateExcluded, Excluded, (*Machine).attempted, "excluded while the attempt lived"),
		fated(open, Attempted, fateReadmit, "", (*Machine).readmitted,
			"added again while the exclusion's cancel was under way"),
		fated(open, Attempted, fateAbandoned, Abandoned, (*Machine).abandoned, "abandoned is final in its run"),
		fated(open, Attempted, fateCallback, Connected, (*Machine).toCallback,
			"a contact with an active callback is not final"), fated(open, Attempted, fateAgain, "", (*Machine).again,
			"an unconsumed attempt is tried again after a back-off"),
		fated(open, Attempted, fateNext, Waiting, (*Machine).nextNumber, "on to the person's next number at once"),
		fated(open, Attempted, fateSkip, "", (*Machine).nextNumber,
			"a number on the suppression list leaves the person's others"),
		fated(open, Attempted, fateCapped, "", (*Machine).capped,
			"it waits until its number may be called again, and loses nothing by it"),
		fated(open, Attempted, fateAwait, Connected, (*Machine).await, "connected until a result is stored"),
		fated(open, Attempted, fateShort, Connected, (*Machine).redialShort,
			"Redial Only Under: redialled without waiting for its result"),
		fated(open, Attempted, fateCompleted, Completed, (*Machine).attempted, "the result came before the end"),
		fated(open, Attempted, fateRedial, Connected, (*Machine).retry, "Retry On Custom, or Redial Only Under"),
		fated(open, Attempted, fateStopped, ManuallyStopped, (*Machine).attempted,
			"the run was stopped while the attempt lived"), fated(open, Attempted, fateClosed, WindowClosed,
			(*Machine).attempted, "the window closed while the attempt lived"),
		fated(open, Attempted, fateRetry, Waiting, (*Machine).retry, "Retry On System, or Redial Only Under"),
		fated(open, Attempted, fateMachine, MachineDetected, (*Machine).attempted, "a machine is final unless listed"),
		{From: open, On: Attempted, To: Failed, Do: (*Machine).failed,
			Why: "the outcome forbids a retry, or the attempts are used up"},
		{From: []State{Excluded}, On: Attempted, Do: (*Machine).attempted, Why: "the attempt that the exclusion cancelled"},
	}
}

func resultRows() []row {
	final := []State{Abandoned, MachineDetected, Excluded}
	return []row{
		ignored(States, ResultStored, fateUnheard, "nobody was talked to: the result says nothing about the contact"),
		fated(States, ResultStored, fateAsked, "", (*Machine).stop, "none of the person's numbers is called in any run"),
		fated(open, ResultStored, fateBusy, "", (*Machine).resultWhileBusy,
			"the attempt, or a newer one, still lives: its end decides"),
		fated(open, ResultStored, fateBefore, "", (*Machine).resultKept, "reopened since: it is dialled anyway"),
		fated(open, ResultStored, fateExcluded, Excluded, (*Machine).result, "its result is stored, then excluded"),
		fated(open, ResultStored, fateCallback, Connected, (*Machine).resultCallback, "requested and pending"),
		fated(open, ResultStored, fateKeep, "", (*Machine).resultKept, "a contact with an active callback is not final"),
		fated(open, ResultStored, fateRedial, Connected, (*Machine).resultRedial, "Retry On Custom, or Redial Only Under"),
		{From: open, On: ResultStored, To: Completed, Do: (*Machine).result,
			Why: "the conversation finished and a result is stored"},
		fated(lateResult, ResultStored, fateCallback, Connected, (*Machine).resultCallback,
			"a late result asks for a callback while the run is open"),
		fated(lateResult, ResultStored, fateRedial, Connected, (*Machine).resultRedial,
			"a late result queues it again while the run is open"), {From: lateResult, On: ResultStored, To: Completed,
			Do: (*Machine).result, Why: "a late result still makes it completed"},
		{From: final, On: ResultStored, Do: (*Machine).resultLate, Why: "stored, but it changes nothing"},

		ignored(States, ResultTimedOut, fateEarly, "the result came, the contact moved on, or it is not time yet"),
		fated([]State{Connected}, ResultTimedOut, fateExcluded, Excluded, (*Machine).noResult,
			"the exclusion waited for a result that does not come"), fated([]State{Connected}, ResultTimedOut, fateShort, "",
			(*Machine).noResult, "Redial Only Under: it waits for its redial"),
		fated([]State{Connected}, ResultTimedOut, fateRetry, Connected, (*Machine).noResultRetry,
			"connected_no_result is listed in Retry On System"), fated([]State{Connected}, ResultTimedOut, fateStopped,
			ManuallyStopped, (*Machine).noResult, "it would have been redialled, but the run is over"),
		fated([]State{Connected}, ResultTimedOut, fateClosed, WindowClosed, (*Machine).noResult,
			"it would have been redialled, but the window is closed"),
		{From: []State{Connected}, On: ResultTimedOut, To: Failed, Do: (*Machine).noResultFailed,
			Why: "a result that does not come"},
	}
}

func excludeRows() []row {
	excluded := []State{Excluded}
	return []row{
		ignored(States, ExcludedBy, fateRepeated, "excluded already, or to be once its call is over"),
		fated(States, ExcludedBy, fateReason, "", (*Machine).newReason, "the newer reason stands"),
		fated(open, ExcludedBy, fateInCall, "", (*Machine).excludeLater, "a live conversation is left alone"),
		{From: open, On: ExcludedBy, To: Excluded, Do: (*Machine).exclude, Why: "from now on no INVITE leaves for it"},
		{From: processed, On: ExcludedBy, To: Excluded, Do: (*Machine).exclude,
			Why: "exclude holds for finished contacts too"},
		fated(excluded, Readmitted, fateBusy, Pending, (*Machine).reopenLater,
			"callable once the attempt that the exclusion cancelled is over"),
		{From: excluded, On: Readmitted, To: Pending, Do: (*Machine).reopen,
			Why: "sticky off: adding it again makes it callable"},
		{From: open, On: Readmitted, Do: (*Machine).keep, Why: "an exclusion that waits for the call's end is withdrawn"},
		{From: processed, On: Readmitted, Ignore: true, Why: "not excluded"},

		fated(open, Suppressed, fateSkip, "", (*Machine).barNumber, "the person is called at another number"),
		fated(open, Suppressed, fateAwait, "", (*Machine).awaitOnly,
			"no redial is to come, the result of its conversation is awaited"),
		fated(open, Suppressed, fateHeard, Completed, (*Machine).suppressed,
			"what its result made it: neither redial nor callback is to come"),
		fated(open, Suppressed, fateWaiting, Failed, (*Machine).suppressed,
			"its next dial would be refused: it does not wait for it"),
		fated(open, Suppressed, fateWished, "", (*Machine).dropCallback, "no callback is to come"),
		{From: States, On: Suppressed, Ignore: true, Why: "it does not wait for a dial, or a live attempt goes on"},

		{From: open, On: Triggered, Do: (*Machine).merge, Why: "an open contact merges its metadata, no second dial"},
		{From: processed, On: Triggered, To: Pending, Do: (*Machine).reopen,
			Why: "a final one is reopened with fresh attempts"},
		fated(excluded, Triggered, fateBusy, Pending, (*Machine).reopenLater,
			"callable once the attempt that the exclusion cancelled is over"),
		{From: excluded, On: Triggered, To: Pending, Do: (*Machine).reopen,
			Why: "sticky exclusion off; with sticky on the trigger is refused before"},
	}
}

func operatorRows() []row {
	return []row{
		fated(open, Hastened, fateGranted, "", (*Machine).hasten, "dialled next, inside its window"),
		fated(processed, Hastened, fateGranted, Pending, (*Machine).reopen, "a final one is reopened with fresh attempts"),
		fated(open, CallbackSet, fateGranted, "", (*Machine).promise, "one active callback, the newest wins"),
		fated(processed, CallbackSet, fateGranted, Pending, (*Machine).promiseFinal,
			"a final one is reopened with fresh attempts"),
	}
}

func idle(m *Machine, _ Event) bool { return m.fate != fateBusy }

func runRows() []row {
	return []row{
		fated(open, WindowEnded, fateWaiting, WindowClosed, (*Machine).closeWaiting,
			"waiting when the single-day window ended"), fated(open, RunStopped, fateWaiting, ManuallyStopped,
			(*Machine).closeWaiting, "waiting when the run was stopped"),
		fated(open, WindowEnded, fateAwait, "", (*Machine).dropRedial,
			"no redial is to come, the result of its conversation is awaited"),
		fated(open, RunStopped, fateAwait, "", (*Machine).dropRedial,
			"no redial is to come, the result of its conversation is awaited"),
		fated(open, WindowEnded, fateWished, "", (*Machine).dropCallback, "the window closes before the callback"),
		fated(open, RunStopped, fateWished, "", (*Machine).dropCallback, "the end of the run"),
		{From: open, On: WindowEnded, Ignore: true, Why: "a live attempt or an owed result goes on"},
		{From: open, On: RunStopped, Ignore: true, Why: "a live attempt or an owed result goes on"},
		{From: notOpen, On: WindowEnded, Ignore: true},
		{From: notOpen, On: RunStopped, Ignore: true},
		{From: []State{Excluded}, On: RunReset, Guard: "no live attempt", When: idle, Do: (*Machine).resetExcluded,
			Why: "the next run leaves the excluded out"},
		{From: processed, On: RunReset, Guard: string(fateReached), When: reached, Do: (*Machine).leaveOut,
			Why: "a run for the unreached: it stays as it ended"},
		fated(open, RunReset, fateAnswered, Completed, (*Machine).leaveOut,
			"a run for the unreached: what its result made it"),
		fated(open, RunReset, fateReached, Failed, (*Machine).leaveOut,
			"a run for the unreached: its result is not waited for any more"),
		{From: slices.Concat(open, processed), On: RunReset, Guard: "no live attempt", When: idle, To: Pending,
			Do: (*Machine).reset, Why: "contacts reset there and then"},
		fated(open, CallbackDropped, fateNoCall, Completed, (*Machine).callbackDropped,
			"without its callback it is what its result made it"), fated(open, CallbackDropped, fateUsedUp, Failed,
			(*Machine).promiseDroppedUsedUp, "no attempt is left without the callback that was promised"),
		fated(open, CallbackDropped, fateWaiting, "", (*Machine).promiseDropped,
			"without the callback that was promised it waits its turn"),
		fated(open, CallbackDropped, fateWished, "", (*Machine).dropCallback, ""),
		{From: States, On: CallbackDropped, Ignore: true, Why: "no callback is to come"},
		fated(open, Deferred, fateWaiting, "", (*Machine).deferred,
			"it waits for its own window, or for the end of a single-day run"),
		fated(open, Deferred, fateNoCall, Completed, (*Machine).callbackDropped,
			"without its callback it is what its result made it"), fated(open, Deferred, fateNever, Failed,
			(*Machine).neverOpens, "several zones, and no hour suits all of them"),
		{From: States, On: Deferred, Ignore: true, Why: "it does not wait, or its window is open"},

		fated(open, Lapsed, fateAwait, "", (*Machine).awaitOnly,
			"no redial is to come, the result of its conversation is awaited"),
		fated(open, Lapsed, fateHeard, Completed, (*Machine).expire,
			"what its result made it: neither redial nor callback is to come"),
		fated(open, Lapsed, fateReached, Failed, (*Machine).expire, "somebody was reached, and no result came"),
		fated(open, Lapsed, fateWaiting, Expired, (*Machine).expire, "nobody was reached in time"),
		{From: States, On: Lapsed, Ignore: true, Why: "it does not wait for a dial, or has not expired"},

		ignored(States, CalledUs, fateKnown, "told late or twice"),
		{From: States, On: CalledUs, Do: (*Machine).callsBack, Why: "nobody is dialled while they talk to us"},

		fated(open, Retuned, fateAwait, "", (*Machine).awaitOnly,
			"the redial after a short conversation is dropped, its result is awaited"),
		fated(open, Retuned, fateHeard, Completed, (*Machine).usedUp, "the redial that its result asked for is dropped"),
		fated(open, Retuned, fateUsedUp, Failed, (*Machine).usedUp, "fewer attempts are allowed than it has had"),
		{From: open, On: Retuned, Do: (*Machine).retune, Why: "the attempts that are left"},
		{From: notOpen, On: Retuned, Ignore: true, Why: "final by the rules that held then"},
	}
}

func reached(m *Machine, _ Event) bool { return m.fate == fateReached || m.fate == fateAnswered }
