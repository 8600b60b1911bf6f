// Package training makes the model of package amd from labelled recordings,
// and measures it: in cross-validation by voice and by source, real and
// synthesised speech apart.
//
// # What it must not know
//
// Calls, and anything of a recording beyond its samples, label, voice and
// source.
//
// # Invariants
//
//   - The same recordings, options and seed give the same model.
//   - In cross-validation neither the trees nor the thresholds of a fold have
//     seen its voices (or sources); what a recording is made worse into stays
//     on its side.
//   - A recording's file name never decides anything but the order.
package training
