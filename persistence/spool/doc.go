// Package spool keeps on disk what calls that are under way produce while the
// database is away, so that it counts as durable and survives a crash.
//
// It must not know: what is in a write beyond how it is written down, who
// decides what is spooled (engine/journal), databases.
//
// # Invariants
//
// What Append has said it took is on disk: whole, in its order, with a checksum
// each. Everything behind the first record that is not whole was never taken,
// and is cut.
//
// The room is bounded and taken from the disk when the spool is opened: a disk
// that is full later does not concern it.
//
// Records are given back in their order, lane by lane, and forgotten (and
// overwritten) only when all of a lane were released. Until then a crash gives
// them all back, those that were committed among them: writes are idempotent.
//
// A spool belongs to one process at a time and to one installation's database:
// another's records are never replayed.
//
// The files hold phone numbers and variables: they are the user's alone (0600)
// and nothing of a record ever stands in an error or a log line.
//
// # Layout
//
// One file a lane. A header (magic, layout, owner, generation, checksum), then
// from byte 4096 on records: length, CRC-32C over generation and all that
// follows, time of its arrival (Unix ns), and the write as JSON (record.go), 8
// bytes aligned. A length of zero ends them. Emptying a lane begins another
// generation, of which no old record is part.
package spool
