// Package trial tries ways of pacing on a virtual clock: workers, a list of contacts, and the
// callees of a scenario (engine/callee). The pacing of the modes strict, hybrid and progressive is
// engine/pacing itself, fed as a run feeds it; the ratio dialler and the unsurpassable bound are
// there for comparison.
//
// It knows no campaigns: engine/sim plays those. The same input gives the same output, byte for
// byte.
package trial
