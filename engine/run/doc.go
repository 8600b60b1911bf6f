// Package run is the conductor of one campaign's run: what it dials next, by
// which rules, and what it shows. The actor of the run and the simulator drive
// the same code.
package run
