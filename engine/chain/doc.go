// Package chain makes a change of the history show. Each event has a digest of
// its text, and the events that one transaction wrote of a campaign's run are a
// batch, whose hash is made of their digests and of the hash of the batch before:
// who changes, removes, adds or moves one must make every hash behind it anew.
//
// The text is canonical JSON (RFC 8785): sorted keys, no white space, shortest
// numbers. Whoever has an event can make it, in any language.
//
// It must not know where events are kept, nor what they mean.
package chain
