// Package training makes the model of package amd from labelled recordings,
// and measures it: in cross-validation by voice and by source, real and
// synthesised speech apart.
//
// # What it must not know
//
// Calls, and anything of a recording beyond its samples, label, weight, voice,
// source and the kind of greeting that was synthesised.
//
// # Invariants
//
//   - The same recordings, options and seed give the same model, on however many
//     processors: sums are added in one order.
//   - The first folder, and what Options.Beside counts, measures: no net is
//     trained with it when there are others.
//   - In cross-validation neither the net nor the rule has seen the voices (or
//     sources) that are measured; what a recording is made worse into stays on
//     its side. The rule is tuned with voices that the net does not know.
//   - A recording's file name never decides anything but the order.
package training
