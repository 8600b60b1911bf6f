// Package cdr matches a carrier's call detail records with our own legs, both ways: calls of which
// only one side knows, and calls of which the two say different things.
//
//	file → Reader → Record → Matcher ← Leg ← our legs, in order of time
//	                            ↓
//	                         Finding
//
// # What it must not know
//
// Files, databases, and how a finding is printed.
//
// # Invariants
//
//   - A record with a Call-ID is matched by it alone; one without by called number and time, the
//     earliest record for the earliest leg: first those within the tolerance, then those within reach.
//   - A record is matched once: a second one for the same leg is only the carrier's.
//   - Memory: about 100 bytes a record, and the legs of a few minutes.
package cdr
