// Package training builds the model of package amd from labelled recordings, and measures it in
// cross-validation by voice and by source, with real and synthesised speech kept apart.
//
// # What it must not know
//
// Calls, and anything of a recording beyond its samples, label, weight, voice, source and the kind
// of greeting that was synthesised.
//
// # Invariants
//
//   - The same recordings, options and seed give the same model, on any number of
//     processors: sums are added in one order.
//   - The first folder, and those counted by Options.Beside, are for measuring: no net
//     is trained with them when there are others.
//   - In cross-validation neither the net nor the rule has seen the voices (or
//     sources) that are measured; degraded copies of a recording stay on
//     its side. The rule is tuned with voices that the net does not know.
//   - A recording's file name affects nothing but the order.
package training
