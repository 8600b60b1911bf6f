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
// intent to the last final answer, across campaigns, writers and nodes. On a
// server that takes another's place they are written again before all else
// (Renews): it may have lost what was committed last.
//
// A stale owner writes nothing: the epoch is checked in the transaction, under
// a lock that taking ownership (AcquireCampaign) waits for.
//
// An identity has one owner an epoch, judged by this server's clock and by
// nothing else; that a node is gone is never undone (package nodes).
//
// Everything in a Write may come again, also late and after newer ones:
// contacts go by version; attempts and legs never go back and an ended one
// stays ended, while its result may still come; campaigns go by the sequence of
// their events; events are unique by (campaign, seq), those of dialouts by
// (attempt, type, leg, time); an intent of an ended attempt holds nothing.
//
// The rows of an import become contacts in one transaction, or not at all; it
// locks nothing that a Commit needs but their numbers (package imports).
//
// The order of a campaign's events is the sequence that its run gave, never an
// identity column: commits reorder.
//
// Phone numbers and variables stand in rows only, never in an error or a log
// line of this package.
//
// The order of a chain of events is that of the locks on its head; whatever writes
// events ends with the statement of table/chain.go, and nothing of its transaction comes after.
//
// # Who owns what
//
// The run of a campaign owns its rows, and its one writer keeps their order.
// What is configured (bots, trunks, numbers, keys, users) is owned by whoever
// changes it last; each change leaves an event of no campaign with who did it.
// migrations owns the schema, private the server process, storetest the tests.
//
// Store joins the packages below and has itself what the tree asks beside: campaigns,
// attempts, suppressions, pacing. What the tree does not need is in fields of its own
// (Accounts, Recordings, Endpoints, Records, Lists). No package below imports this one.
//
// # A field more
//
// Each stored struct has one list of columns in package table. A new field is a line there and an ALTER TABLE in a new
// migration; storetest fails while a field of a struct has no column.
package persistence
