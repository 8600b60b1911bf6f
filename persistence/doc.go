// Package persistence keeps what the dialler must not forget in PostgreSQL:
// tables that hold the present, and events, the append-only history, written
// in the same transaction. Its hot path is Commit, the group commit: many
// steps of many calls in one transaction.
//
// It must not know: actors, HTTP, SIP, and no rule about who is dialled when.
// Where a rule of the engine stands in SQL because it concerns many rows at
// once (dialling order, counters, the reset of a run, the end of a run), a
// test of package storetest holds the SQL against the engine.
//
// # Invariants
//
// A Write commits whole or not at all; of a refused one nothing stays, not
// even a lock.
//
// No number has two live calls: number_holds has one row for a number from the
// intent to the last final answer, across campaigns, writers and nodes.
//
// A stale owner writes nothing: the epoch is checked in the transaction, under
// a lock that taking ownership (AcquireCampaign) waits for.
//
// An identity has one owner an epoch, judged by this server's clock and by
// nothing else; that a node is gone is never undone (owners.go, claims.go).
//
// Everything in a Write may come again, also late and after newer ones:
// contacts go by version; attempts and legs never go back and an ended one
// stays ended, while its result may still come; campaigns go by the sequence of
// their events; events are unique by (campaign, seq), those of dialouts by
// (attempt, type, leg, time); an intent of an ended attempt holds nothing.
//
// The rows of an import become contacts in one transaction, or not at all; it
// locks nothing that a Commit needs but their numbers (activation.go).
//
// The order of a campaign's events is the sequence that its run gave, never an
// identity column: commits reorder.
//
// Phone numbers and variables stand in rows only, never in an error or a log
// line of this package.
//
// The order of a chain of events is that of the locks on its head; whatever writes
// events ends with chain.go's statement, and nothing of its transaction comes after.
//
// # Who owns what
//
// The run of a campaign owns its rows, and its one writer keeps their order.
// What is configured (bots, trunks, numbers, keys, users) is owned by whoever
// changes it last; each change leaves an event of no campaign with who did it.
// migrations owns the schema, private the server process, storetest the tests.
//
// # A field more
//
// Each stored struct has one list of columns: contact_columns.go,
// attempt_columns.go (attempts and legs), campaign_columns.go,
// event_columns.go. A new field is a line there and an ALTER TABLE in a new
// migration; storetest fails while a field of a struct has no column.
//
// # How Commit works
//
// Two round trips. The first asks all that the database may refuse (epochs,
// suppression, holds, replies) and which contacts' variables changed. When
// something is refused the transaction is rolled back and begins again without
// it. The second sends the rows, one statement a table with all rows in one
// array of the table's row type, and COMMIT. All statements are prepared, rows
// are encoded straight from the structs, and locks that groups may share are
// taken in one order. A write that the server can never take (a broken
// constraint) makes its group commit one by one, so that it is refused alone.
//
// Contacts are updated several times a call and are therefore narrow; their
// variables stand in a table of their own and are sent only when their hash
// changed. No index of attempts knows a column that changes while the call
// lives, so that updates stay on their page (HOT).
//
// Measured (BenchmarkCalls: PostgreSQL 15, the five writes and five events of
// an answered call, one writer, shared 2-core machine): server 0.27 ms of CPU a
// call with groups of 10 writes, 0.17 ms with 50 and more; client 0.12 and
// 0.06 ms. A commit of a single write costs the server about 0.25 ms.
package persistence
