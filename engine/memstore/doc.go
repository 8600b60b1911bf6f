// Package memstore is the store of campaigns in memory: it keeps every promise of
// persistence/storetest.RunPort, as the PostgreSQL store does. The simulator drives the core with
// it, and the tests of the actors use it with injected faults.
//
// It must not know: files, networks, SQL, what a caller does with an answer. Rules of the core are
// called, never repeated: contact.Machine for what a bulk change does to a contact, contact.Order
// for who is dialled first, exclusion.Book for who is excluded, tally for what a row or an attempt
// counts as.
//
// Invariants:
//
//   - A write is applied or refused as a whole, and may be repeated.
//   - The version of a contact only grows; an attempt does not go back; a number is
//     held by one attempt at a time.
//   - Frequent queries of the tree cost the size of the answer plus a search:
//     due contacts, the next due time, overdue results, counters and ledgers are
//     kept up to date with every write. Only queries before a run, and by
//     variables, go through all contacts.
//   - An answer never depends on the order of a map, so that a seed replays.
//
// A contact at rest takes its struct, its strings and some 140 bytes of indexes. Rows are copied in
// and out; what they point at is shared and never changed.
package memstore
