// Package chain makes changes to the history detectable. Each event has a digest of its text, and
// the events that one transaction wrote for a campaign's run are a batch, whose hash covers their
// digests and the hash of the previous batch: to change, remove, add or move an event, every later
// hash must be recomputed.
//
// The text is canonical JSON (RFC 8785): sorted keys, no white space, shortest numbers. Anybody
// with an event can reproduce it, in any language.
//
// It must not know where events are stored, nor what they mean.
package chain
