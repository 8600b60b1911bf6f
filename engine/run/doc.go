// Package run is the conductor of one campaign's run: who is dialled next and why not
// more, seats, rounds of reservations, triggers, exclusions, the gate of imports,
// changes of all contacts, completion, recovery, and what the campaign shows.
//
// A run is a State. Apply gives it one Input and returns effects to be carried out in
// their order; questions among them are answered by later inputs. The actor of the run
// and the simulator drive the same code.
//
// A State is built of parts, each of which owns its fields and knows those below it alone:
//
//   - Turn: the moment, effects, timers, and what waits for the database.
//   - Record: the campaign's row, counters, sequence of events, and the contacts that are up.
//   - Floor: lines with their seats and sockets, the round, the look-ahead, the window.
//   - Pacer: how many dials now, sockets ahead of them, and why not more.
//   - Contacts: contacts at rest and on their way, changes of all of them, exclusions under way.
//   - Intake: triggers, exclusions, lifts, erasures, and what waits for the switch of an import.
//   - Dialler: rounds of reservations.
//   - State: commands and events, the life of the campaign and of the run, recovery, hand-over.
//
// It must not know: actors and PIDs, clocks, the store, other campaigns. The time, a
// seed for identifiers, the answers of leases and of the store, and what the process
// knows come in with each Input.
//
// Invariants, which property tests hold:
//
//   - Busy is the seats held by lines and by candidates of the round.
//   - A contact is at most one of: in the look-ahead, a candidate, a line, a row that is
//     being read.
//   - A lease that was granted is used by a line or given back, once.
//   - A request is answered once.
//   - The same inputs give the same effects, byte for byte.
//   - A State is data: what is read back of one that was written down goes on the same.
//
// Who owns what: the run owns the campaign's lifecycle, its sequence of events, its
// counters and ledgers, and who is dialled. A contact owns its attempt (package call);
// fleet, trunk and number own seats, channels and caller IDs, and the run spends what
// they grant.
package run
