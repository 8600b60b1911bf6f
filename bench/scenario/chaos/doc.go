// Package chaos kills a dialler with SIGKILL in the middle of campaigns, again
// and again, and lets the carrier judge what became of the calls.
//
// The dialler is the shipped binary as a process of its own, on real ports,
// with its private PostgreSQL; the model carrier and the model bot live on in
// the process of the harness, as the world does when a dialler dies. A CRM
// triggers and excludes contacts all the while.
//
// # What must hold
//
//   - No Call-ID is dialled after its end, no two calls to one number overlap.
//   - Five seconds after a restart everything that rings or talks at the
//     carrier is a live leg of a live attempt that was begun in this life.
//   - Every campaign completes, and its ledgers are equal: every Call-ID at the
//     carrier is a leg in the database, and every other leg is lost or was
//     never sent. No attempt is open, no leg without an end, no lease held; the
//     counters are those of the tables; /metrics counts this life.
//   - What was acknowledged is there: a trigger's contact, an exclusion (no
//     INVITE leaves after it), a conversation's result. An acknowledged
//     request that is repeated with its Idempotency-Key gets the same answer.
//   - No call reaches the bot twice.
//
// # Chance and replay
//
// When and at which step of a call the process is killed, what the CRM does,
// and what the callees do is drawn from the campaign's seed. Processes do not
// run in lock-step, so a seed repeats the plan, not every interleaving.
//
// # What it must not know
//
// The dialler's packages, except to read the database as a witness: it steers
// through the API alone. Nothing here ends a process that it has not started.
package chaos
