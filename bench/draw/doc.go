// Package draw provides repeatable randomness for the model world: generators seeded from names
// instead of from the order of events, and random time spans.
//
// Two runs with the same seed draw the same fate for the same telephone number, however their
// goroutines interleave: every call has a generator of its own, derived from (seed, name, n).
//
// What it must not know: what is drawn. The carrier and the bot own their behaviours.
package draw
