// Package process is one running dialler: it wires the adapters (sipstack, media,
// http, persistence) and the campaign tree of actors together and closes them in
// the opposite order. It is the only package that knows all of them. process.go
// does the wiring; front.go and front_*.go are what the API sees; the other files
// connect one thing each: recordings, ladders, the spool, trunks and SIP listeners
// of the configuration file, retention, evidence, erasure.
//
// It reads no command line: Flags are its settings, command fills them in. What
// is decided about calls stands in engine.
package process
