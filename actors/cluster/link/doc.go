// Package link is the one way on which the nodes of a cluster talk: calls and their
// events, counts, requests, reports.
//
// What it must not know: what is said (names and bytes), where a node is, who owns what.
//
// # Order and loss
//
// Between two incarnations of nodes there is one link, which numbers what it says,
// keeps it until the other side has dealt with it, sends again what got lost, and drops
// what comes twice. Of the transport it needs nothing but that some frames arrive. What
// is told arrives in order and once, or not at all because one of the two is gone.
// Receivers deal with it in that order; an acknowledgement means that they have.
//
// # Questions
//
// A question has a time. When that is over it does not leave any more, nor again, so
// that a link that comes back does not bring what nobody waits for. A link that has not
// heard the other side recently asks first whether it is there: of a question that has
// not left (ErrNotSent) it is certain that nobody has carried it out.
//
// # Versions
//
// Every frame begins with the versions that its sender speaks. Two nodes speak the
// latest in common, and a description tells by Wire.Version which fields there are; with
// none in common they say nothing (ErrVersion). Values that are carried by their fields'
// names (Value) need no version.
//
// # Bounds
//
// For a node QueueCap bytes may wait, beside what must be told all the same; 1024 items
// and about 512 KiB are under way. A frame has at most FrameCap bytes.
//
// # Clocks
//
// Boot-time clocks of two machines have nothing in common. Every frame carries the
// sender's reading and the last one that it has got, so that each side knows between
// which bounds the difference is. A time after which something must not be done is
// converted with the bound that makes it earlier, never later; times of events with the
// middle.
package link
