// Package spool stores on disk what calls in progress produce while the database is unavailable, so
// that it counts as durable and survives a crash.
//
// It must not know: the contents of a write beyond its encoding, who decides what is spooled
// (engine/journal), databases.
//
// # Invariants
//
// Whatever Append has accepted is on disk: whole, in order, each record with a checksum. Everything
// after the first incomplete record was never accepted, and is cut.
//
// The space is bounded and reserved on disk when the spool is opened: a disk that fills up later
// does not affect it.
//
// Records are replayed in order, lane by lane, and removed (and overwritten) only when all of a
// lane were released. Until then a crash causes all of them to be replayed, including committed
// ones: writes are idempotent.
//
// A spool belongs to one process at a time and to one installation's database: records of another
// are never replayed.
//
// The files contain phone numbers and variables: only the user may read them (0600), and nothing of
// a record ever appears in an error or a log line.
//
// # Layout
//
// One file per lane. A header (magic, layout, owner, generation, checksum), then from byte 4096 on
// records: length, CRC-32C over generation and everything after it, time of arrival (Unix ns), and
// the write as JSON (record.go), 8 bytes aligned. A length of zero ends them. Emptying a lane
// begins another generation, so no old record is valid any more.
package spool
