// Package flight records a campaign's run so that it can be replayed: the inputs of one
// life of the run, with everything that the process answered meanwhile, and for each
// input a digest of the effects. A run is pure, so the same inputs lead to the same
// effects: a Player applies them to a new run and names the first input whose effects
// differ.
//
// It must not know: where recordings are stored, who records, actors, clocks.
//
// A recording is blocks, each with a check that covers everything before it:
//
//	"dialler flight 1\n"
//	kind (1 byte)  length (4, little endian)  head check (4)  payload  check (16)
//
// The checks are the first bytes of the SHA-256 of all bytes of the recording before them.
// The first block is the Header, as JSON; then come blocks of frames, packed in parts of at
// most 1 MiB, each behind its length; the last one says why the recording ended. One without
// a last block was cut off, as by kill -9, and is replayed to where it ends. A frame is one
// input:
//
//	flags (1)  time  boot-time less what has passed  [request]  event  answers 0  n [digest (4)]
//
// A digest of effects contains all those before it. Of a contact's write there is only what the
// run looks at or changes, in the event and in the digest: rows pass through a run as they are.
//
// Invariants:
//
//   - An input is written before it is applied: the run may change what it is given.
//   - A byte that was changed is found, with its block.
//   - Recording never changes what the run does, and never waits.
//
// Recordings contain phone numbers and variables.
package flight
