// Package process is one running dialler: it wires the adapters (sipstack, media,
// http, persistence) and the campaign tree of actors together and closes them in
// the opposite order. It is the only package that knows all of them. open.go
// does the wiring, process.go has the life of it; front.go and front_*.go are what
// the API sees; the other files connect one thing each: recordings, ladders, the
// spool, trunks, retention, evidence, erasure, the cluster. What stands without a
// running dialler has a package of its own below: configfile, keys, outgoing, metrics.
//
// It reads no command line: Flags are its settings, command fills them in. What
// is decided about calls stands in engine.
package process
