// Package spine is the installation's own chain: one list of signed entries that says when the record
// began, where every chain of events stood from minute to minute, and what was done to the record as
// a whole: starts, exports, erasures, retention, new keys.
//
// An entry names the hash of the one before and is signed with the key in force, so that nobody
// without that key can change, remove, insert or append one. It is kept in the database and in a file
// outside it, seals.jsonl: who cuts the end off in the database is shown up by the file.
//
// It must not know where entries are stored, nor the clock: what is appended comes with its time.
//
// # Invariants
//
// The first entry is the genesis and has number 1; every other number follows the one before.
//
// Every entry is signed with the key in force: that of the genesis, then that of each key entry. A
// key entry is signed by the former key, and holds a signature of the new one over the hash of the
// entry before: so whoever trusts the new key may trust what it took over.
package spine
