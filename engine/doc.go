// Package engine is the vocabulary of the dialler: typed identifiers, the outcomes of calls, the
// commands and events that travel between the campaign tree and the telephony and media adapters,
// and the one error type. Its sub-packages hold the rules, each as a pure function or a state
// machine.
//
// engine decides, actors execute, adapters touch the world.
//
// What it must not know: the clock (time comes in with the event), random numbers, the network,
// files, logs, goroutines, channels. A test of the import rules enforces that.
package engine
