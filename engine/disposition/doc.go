// Package disposition is the one table that defines the end of a leg: final SIP response, Q.850
// cause, silence, a failed send and the verdict of answer classification → outcome, whether the
// attempt is consumed, whether it is redialled, and whose fault it was.
//
// What it must not know: campaigns, contacts, trunks as things; it gives advice (next trunk,
// throttle, strike) that their owners carry out.
//
// Invariants:
//
//   - Classify gives an outcome of engine.Outcomes for every input, also for
//     codes that no standard knows.
//   - A cause of a Reason header wins over a generic SIP code (480, 500, 503,
//     603) and over nothing else: a 486 with cause 18 is busy.
//   - The next trunk is tried in the same attempt only when no phone can be
//     ringing: after a final refusal by the network or a send that certainly
//     failed, never after silence.
//
// Decisions where the interface document is silent:
//
//   - A 487 that we did not cause is no_answer: somebody downstream stopped
//     waiting for the callee.
//   - Stop and Exclude name the outcome of a leg that they cancelled, whatever
//     final response crossed the CANCEL.
//   - A 403 strikes the caller ID (one of the "403/606/608-type refusals") and
//     marks the trunk as doubtful; the trunk's owner holds it only when 403s
//     pass a rate over at least five destinations and two caller IDs.
//   - The limit marker of a 503 and the network-blocked marker of a 603 are
//     more precise than a cause and win over it.
//   - An unlisted 5xx or 6xx is treated "as 500", "as 603" in full, causes
//     included. 300, 380 and other 3xx are treated as the listed redirections.
//   - An INVITE that was not sent because its send-by time had passed is
//     system_error, unconsumed: the fault is ours and no phone rang.
package disposition
