// Package pacing decides how many dials to place now, and says why not more.
//
// What it must not know: contacts, trunks, numbers, the clock; they come in as
// counts and limits. Who is dialled is decided elsewhere.
//
// The gate (mode strict): a dial is placed only while
//
//	r + w ≤ f + ⌊B⌋ with B = (c·L − A) / (1 − c)
//
// still holds after it, where r are the lines placed and not yet ended or
// answered, w the answered calls that wait for a worker, f the free workers, L
// the live answers, A the abandoned ones and c the cap. Then A ≤ c·L holds
// after every event, whatever the answers do, as long as workers are not
// withdrawn: an answer served takes one from r and one from f and lets B grow;
// a call that ends adds one to f; a line that fails takes one from r; an abandon
// takes one from w and exactly one from B, and it can happen only with f ≤ 0 and
// w ≥ 1, so with B ≥ 1.
//
// Invariants:
//
//   - Whole numbers only: cap and false-positive share are parts per million, so
//     no rounding can break A ≤ c·L.
//   - Of several ledgers (run, calendar day, 30-day period) the strictest rules.
//   - With cap 0, and in mode progressive, every dial has a free worker of its
//     own: no abandon can happen while workers are not withdrawn.
//   - Every decision names its binding constraint with the numbers.
//
// What counts. Machines are in neither A nor L; the configured share φ of them
// counts as abandoned, for persons who were taken for machines. A verdict that
// can still be revised counts nowhere yet. capacity_loss counts in A. A and L
// may only hold calls that are over for the rate: served, or abandoned.
//
// A ledger that begins anew at midnight has no credit for lines that the old
// one paid for. Books therefore adds the ledger to come while lines placed now
// could be answered in it.
//
// Room is left for a forecast of answers and ends of calls, which says how many
// lines are worth having; without one the gate is used to the full, up to one
// line beyond the free workers for every worker.
package pacing
