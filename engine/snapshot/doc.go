// Package snapshot writes a value of the engine down as bytes and reads it back, whole: a
// state that is read back goes on as the one that was written would have.
//
// It must not know: what the values are, where the bytes are kept.
//
// Invariants:
//
//   - Nothing is left out silently. A field that cannot be written (unexported and not
//     among its type's Parts, a function, a channel) makes its Codec refuse to write; one
//     that is derived, or only of use during a call, says so with the tag `snapshot:"-"`.
//   - nil and empty stay apart, floats keep every bit.
//   - The same value gives the same bytes, maps in the order of their keys.
//   - Bytes are only read by a program whose types are the same as the writer's.
//
// Two limits: values must not point in circles, and what two pointers share is written
// twice, so a state names its parts by identifiers. Times keep what a wall clock shows, not
// a reading of the monotonic clock, which means nothing to another process.
package snapshot
