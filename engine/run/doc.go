// Package run is the conductor of one campaign's run: who is dialled next and why not
// more, seats, rounds of reservations, triggers, exclusions, the gate of imports,
// changes of all contacts, completion, recovery, and what the campaign shows.
//
// A run is a State. Apply gives it one Input and returns effects to be carried out in
// their order; questions among them are answered by later inputs. The actor of the run
// and the simulator drive the same code.
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
