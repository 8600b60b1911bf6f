// Package chaos kills a dialler with SIGKILL in the middle of campaigns, again
// and again, kills and slows its database, and lets carrier, database and API
// judge what became of the calls.
//
// The dialler is the shipped binary as a process of its own, on real ports; the
// model carrier and the model bot live on in the process of the harness, as the
// world does when a dialler dies. A CRM triggers and excludes contacts and sends
// lists and files all the while. PostgreSQL is the harness's own, and the way to
// it leads over a wire (wire.go) that sees where a transaction stands; in every
// second installation of a long run it is the private one of the dialler, which
// the next life adopts.
//
// # What is done
//
//   - SIGKILL at random, right after a restart, while the database is away, at
//     each step of a call that the carrier sees (INVITE, 180, 200, ACK, audio,
//     end) or the bot (connected, hears, over, result), and at each transaction
//     of a call or of a request (intent, answer, connected, end, result, trigger,
//     exclusion, import): before it, before its COMMIT, when the server has
//     committed and the dialler has not heard, when it has.
//   - The database killed and started again, one of its backends killed, its
//     connections cut at those moments, silent, with slow commits.
//   - The dialler stopped (SIGSTOP) for twice as long as an intent may wait.
//
// # What must hold
//
// Every promise of engine/promise, which hears what carrier, bot and database noted
// (record.go): among them that no two calls to one number overlap, and that no INVITE
// leaves before its intent is durable or after an exclusion is confirmed. Beyond that:
//
//   - No Call-ID is dialled after its end.
//   - Five seconds after a life has closed the attempts of those before, which it
//     does as soon as it is up, everything that rings or talks at the carrier is a
//     live leg of a live attempt that was begun in this life. (A 200 that nobody
//     acknowledged is repeated every four seconds, and tells the next life for the
//     first time of the dialog that it has to end.)
//   - Every campaign completes, and its ledgers are equal: every Call-ID at the
//     carrier is a leg in the database, and every other leg is lost or was
//     never sent. No attempt is open, no leg without an end, no lease held; the
//     counters are those of the tables; /metrics counts this life.
//   - What was acknowledged is there: a trigger's contact, an exclusion (no
//     INVITE leaves after it), a conversation's result, the rows of a list or a
//     file; of a file that was not acknowledged all rows are there or none. An
//     acknowledged request that is repeated with its Idempotency-Key gets the
//     same answer.
//   - No call reaches the bot twice.
//   - After a fault the same life works again by itself.
//
// # Chance and replay
//
// What is done when, what the CRM asks for, and what the callees do is drawn
// from the campaign's seed. Processes do not run in lock-step, so a seed repeats
// the plan, not every interleaving.
//
// # Several nodes
//
// Cluster does the same to three nodes of one cluster (bench/site) that share
// campaigns, people, a trunk, a bot and the callers' numbers: a node is killed,
// stands still for longer than its lease, is drained and started again, all are
// upgraded one after the other; two nodes are cut from each other, one from all
// others, from PostgreSQL or from etcd, both ways or one, and etcd stands still.
// Its CRMs ask the nodes in turn. Beyond what is above must hold:
//
//   - Within ten seconds of a disturbance somebody else has acquired what a node acted for.
//   - No epoch of a campaign has two nodes that dialled in it, nor is an epoch
//     dialled in after a later one; every INVITE left within the lease of the node
//     that sent it. Triggers of the harness in the database note who acquired an
//     epoch and who stored an intent, by the connection that did.
//   - The channels and the calls a second of the trunk, the seats of the bot and
//     the calls of a caller's number are those of all nodes together, counted at
//     the carrier and at the bot.
//   - No campaign's abandons exceed its cap at any moment, those by the loss of a
//     node aside.
//   - Nothing happens to an attempt after its end but the ends of its legs and its result.
//
// With ClusterConfig.Lasting two of five conversations last 90 to 200 s, longer than any cut and
// than a number was ever held on a guess; phones ring for up to 25 s; the carrier answers a CANCEL
// with 200, 481 or not at all while the callee picks up, and loses BYEs. Cuts last 4 to 60 s and
// strike the node that has a call which rings, or is answered and not acknowledged. Somebody asks for
// a call to who has one, once a second. All the while (cluster_watch.go) must hold, of what
// carrier, bot, database and nodes say:
//
//   - Every call at the carrier is one of a live attempt, but those whose CANCEL or BYE it did not
//     hear; every live attempt has a call at the carrier, or is closed when the fence must have acted.
//   - The bot talks with everybody who talks, and with nobody else.
//   - No node has a leg that the carrier has not.
//
// What it does not do: a stepped clock, a fail-over that lost its tail, a full disk, no descriptors.
// Those are tests of package process.
//
// # What it must not know
//
// The dialler's packages, except to read the database as a witness: it steers
// through the API alone. Nothing here ends a process that it has not started.
package chaos
