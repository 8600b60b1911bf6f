// Package memstore is the store of campaigns in memory: it keeps every promise of
// persistence/storetest.RunPort, as PostgreSQL's does. The simulator drives the
// core over it, and the tests of the actors run over it with faults added.
//
// It must not know: files, networks, SQL, what a caller does with an answer.
// Rules that the core has elsewhere are asked, never repeated: contact.Machine says
// what a bulk change does to a contact, contact.Order who is dialled first,
// exclusion.Book who is excluded, tally what a row or an attempt counts as.
//
// Invariants:
//
//   - A write is done whole or refused whole, and may come again.
//   - The version of a contact only grows; an attempt does not go back; a number is
//     held by one attempt at a time.
//   - What the tree asks all the time costs the size of the answer and a search:
//     due contacts, the next due time, overdue results, counters and ledgers are
//     kept up to date with every write. Only questions before a run, and by
//     variables, go through all contacts.
//   - An answer never depends on the order of a map, so that a seed replays.
//
// A contact at rest is its struct, its texts and some 160 bytes of indices. Rows are
// copied in and out; what they point at is shared and never changed.
package memstore
