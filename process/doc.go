// Package process is one running dialler: it wires the adapters (sipstack, media, http,
// persistence) to the campaign tree of actors and closes them in the opposite order. It is the only
// package that knows all of them. open.go does the wiring, process.go contains the life cycle;
// front.go and front_*.go are what the API sees; the other files connect one thing each:
// recordings, ladders, the spool, trunks, retention, evidence, erasure, the cluster. Parts that
// work without a running dialler have packages of their own below: configfile, keys, outgoing,
// metrics.
//
// It reads no command line: Flags are its settings, which command fills in. Decisions about calls
// are made in engine.
package process
