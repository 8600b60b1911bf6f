// Package draw gives the model world its repeatable chance: generators
// seeded from names instead of from the order in which things happen, and
// spans of time to draw from.
//
// Two runs with the same seed draw the same fate for the same telephone
// number, however their goroutines interleave: every call has a generator
// of its own, derived from (seed, name, n).
//
// What it must not know: what is drawn for. The carrier and the bot own
// their behaviours.
package draw
