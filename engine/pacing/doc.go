// Package pacing decides how many dials to place now, and says why not more.
//
// What it must not know: contacts, trunks, numbers, the clock; they come in as counts and limits.
// Who is dialled is decided elsewhere.
//
// Three things limit the dials beyond those that have a free worker of their own: the gate, which
// keeps the abandon cap; the forecast, which avoids wasting what the gate allows; and the dialling
// resources.
//
// The gate of mode strict: a dial is placed only while
//
//	r + w ≤ f + ⌊B⌋ with B = (c·L − A) / (1 − c)
//
// still holds after it, where r are the lines placed and not yet ended or answered, w the answered
// calls that wait for a worker, f the free workers, L the live answers, A the abandoned ones and c
// the cap. Then A ≤ c·L holds after every event, whatever the answers do, as long as workers are
// not withdrawn: an answer served takes one from r and one from f and lets B grow; a call that ends
// adds one to f; a line that fails takes one from r; an abandon takes one from w and exactly one
// from B, and it can happen only with f ≤ 0 and w ≥ 1, so with B ≥ 1.
//
// The gate of mode hybrid keeps A ≤ c·L at the end of the window with statistical certainty. Either
// the workers wanted, six standard deviations above their mean, stay within workers and credit; or,
// when there is some credit, a line carries hardly any risk. In addition, the rest of the window
// must be able to repay the abandons of two scenarios: four times as many people answer as
// expected, against most of the live answers that dialling one line a worker would still bring; and
// as many answer as at the recent peak, among the lines that are too young to have shown it,
// against hardly any of them, since what has happened will happen again. Over the cap it takes only
// lines that carry hardly any risk: with one line a worker alone the credit would be earned back
// much later.
//
// What was tried in the simulation, and the results, are in bench/results/*-pacing.md.
//
// The forecast (Model) knows how lines of each age answer and how calls of each age end, both
// learnt from this campaign, and computes how many workers will be wanted over the ring timeout.
// One more line is worth placing while at most a share theta of the answers that it brings would
// find no worker, including the answers that it displaces. A controller adjusts theta so that
// abandons meet the cap; so an error of the model costs some efficiency and never the cap, which
// the gate keeps.
//
// Before all of these comes the brake (Brake): while commits, the bot's sockets or the run's own
// messages are later than a bound, no dial is admitted at all. Without it a dialler that may dial
// more than its machine can handle is late with everything, and ends fewer calls than one that is
// asked for half as much.
//
// Invariants:
//
//   - The gate of strict counts in whole numbers: cap and false-positive share
//     are parts per million, so no rounding can break A ≤ c·L. The forecast may
//     only lower what it allows, and never below one line for a free worker.
//   - Of several ledgers (run, calendar day, 30-day period) the strictest decides.
//   - With cap 0, and in mode progressive, every dial has a free worker of its
//     own: no abandon can happen while workers are not withdrawn.
//   - Every decision names its binding constraint with the numbers. Gate and
//     forecast are both abandon_credit; the wording distinguishes them.
//
// What counts. Machines are in neither A nor L; the configured share φ of them counts as abandoned,
// for persons who were taken for machines. A verdict that can still be revised does not count yet.
// capacity_loss counts in A. A and L may only contain calls that are over for the rate: served, or
// abandoned.
//
// A new ledger at midnight has no credit for lines that the old one paid for. Books therefore adds
// the ledger to come while lines placed now could be answered in it.
//
// Who owns what: the run actor owns one Model and the Books of its campaign, tells both what
// happens, ticks the model twice a second, and asks Decide after every event.
package pacing
