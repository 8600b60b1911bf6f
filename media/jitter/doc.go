// Package jitter sorts the RTP packets of a source. It knows sequence numbers and when packets came,
// on its caller's clock; it has none of its own.
package jitter
