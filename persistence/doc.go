// Package persistence stores in PostgreSQL what the dialler must not forget: tables with the
// present state, and events, the append-only history, written in the same transaction. Its hot path
// is Commit, the group commit: many steps of many calls in one transaction.
//
// It must not know: actors, HTTP, SIP, or any rule about who is dialled when. Where a rule of the
// engine is repeated in SQL because it concerns many rows at once (dialling order, counters, the
// reset of a run, the end of a run), a test of package storetest compares the SQL with the engine.
//
// # Invariants
//
// A Write commits as a whole or not at all; a refused one leaves nothing behind, not even a lock.
//
// No number has two live calls: number_holds has one row for a number from the intent to the last
// final answer, across campaigns, writers and nodes. On a server that replaces another the holds
// are written again before anything else (Renews): it may have lost the latest commits.
//
// A stale owner writes nothing: the epoch is checked in the transaction, under a lock that taking
// ownership (AcquireCampaign) waits for.
//
// An identity has one owner per epoch, judged by this server's clock and by nothing else; once a
// node is declared gone, that is never undone (package nodes).
//
// Everything in a Write may arrive again, even late and after newer writes: contacts are ordered by
// version; attempts and legs never go back and an ended one stays ended, while its result may still
// arrive; campaigns are ordered by the sequence of their events; events are unique by (campaign,
// seq), those of dialouts by (attempt, type, leg, time); an intent of an ended attempt takes no
// hold.
//
// The rows of an import become contacts in one transaction, or not at all; apart from their numbers
// it locks nothing that a Commit needs (package imports).
//
// A campaign's events are ordered by the sequence that its run assigned, never by an identity
// column: commits reorder.
//
// Phone numbers and variables are in rows only, never in an error or a log line of this package.
//
// The events of a chain are ordered by the locks on its head; every transaction that writes events
// ends with the statement of table/chain.go, and nothing follows it.
//
// # Who owns what
//
// The run of a campaign owns its rows, and its one writer keeps their order. Configuration (bots,
// trunks, numbers, keys, users) has no owner: the last change wins, and each change leaves an event
// of no campaign that records who made it. migrations owns the schema, private the server process,
// storetest the tests.
//
// Store joins the packages below and adds what the tree needs besides: campaigns, attempts,
// suppressions, pacing. What the tree does not need is in separate fields (Accounts, Recordings,
// Endpoints, Records, Lists). No package below imports this one.
//
// # Adding a field
//
// Each stored struct has one list of columns in package table. A new field is a line there and an
// ALTER TABLE in a new migration; storetest fails while a field of a struct has no column.
package persistence
