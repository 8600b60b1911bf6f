// Package fsm is the transition table that drives every state machine of the
// dialler: from, event, guard, to, action. One table is at once the code that
// runs, the subject of the exhaustive state × event test, and the source of
// the diagram in docs/state-machines.md, so that the three cannot disagree.
//
// What it must not know: any particular machine, time, effects. An action
// collects its effects in the machine M; this package only calls it.
//
// Invariants:
//
//   - New refuses an inconsistent table (unknown state or event, a row that can
//     never be reached, a guard without a name), so a table that exists is
//     consistent.
//   - Rows of a pair are tried in the order in which they are written; the first
//     whose guard holds is taken, and no other.
//   - Step never changes the state itself: the caller assigns what it returns,
//     and only when there is no error. An error means that no action ran.
//   - An event that no row covers is an *IllegalError, never a panic; an event
//     that is known to come late and harmlessly is a row that says Ignore.
//   - Step does not allocate, but for the error.
package fsm
