// Package call is one call from its reservation to its end, and the contact or
// dialout that it belongs to: the attempt machine, what waits until it is durable,
// the send-by window of the INVITE, the legs that are watched after a loss, the hold
// of the number, and the writes that come of it. Contact and dialout differ only in
// their policy.
//
// It must not know actors, clocks, stores or the carrier: what happens comes in as
// an Input, what is to be done goes out as effects, and the same code runs in
// production and in the simulator.
package call
