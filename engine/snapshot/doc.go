// Package snapshot writes a value of the engine as bytes and reads it back completely: a state that
// is read back behaves as the original would have.
//
// It must not know: what the values are, where the bytes are stored.
//
// Invariants:
//
//   - Nothing is left out silently. A field that cannot be written (unexported and not
//     among its type's Parts, a function, a channel) makes its Codec refuse to write; one
//     that is derived, or only used during a call, is marked with the tag `snapshot:"-"`.
//   - nil and empty stay distinct, floats keep every bit.
//   - The same value gives the same bytes, maps in the order of their keys.
//   - Bytes are only read by a program whose types are the same as the writer's.
//
// Two limits: values must not contain pointer cycles, and what two pointers share is written twice,
// so a state refers to its parts by identifiers. Times keep what a wall clock shows, not a reading
// of the monotonic clock, which means nothing to another process.
//
// A Writer writes many values as one stream, for a recording: texts that were there are
// referred to by their number, and times keep their monotonic readings. A Digest tells
// whether values are the same. Both look at thousands of fields a second, so values are
// written by the layout of their types in memory (package unsafe), and read by reflection.
package snapshot
