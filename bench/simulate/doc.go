// Package simulate is the front end of engine/sim: it reads scenario files, plays them on all
// cores, and writes the results as a table, JSON, CSV and a page with plots.
//
// A scenario is a YAML mapping; docs/simulation.md lists its keys. The output depends on the
// scenario alone: the same file gives the same bytes, on any number of cores.
//
// What it must not know: the clock, random numbers, a running dialler.
package simulate
