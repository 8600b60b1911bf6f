// Package simulate is what surrounds engine/sim: it reads scenario files, plays
// them over all cores, and writes what came of it as a table, JSON, CSV and a
// page with plots.
//
// A scenario is a YAML mapping; docs/simulation.md lists its keys. What is
// written follows from the scenario alone: the same file gives the same bytes,
// on any number of cores.
//
// What it must not know: the clock, random numbers, a running dialler.
package simulate
