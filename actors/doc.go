// Package actors is the campaign tree: one actor for each campaign's run, contact, outbound number,
// trunk and the fleet, on protoactor-go. Actors own concurrency, identity and order; package engine
// makes every decision, and every access to the outside world goes through the ports of ports.go.
// This package puts the tree together (tree.go) and is its API; the actors are in the packages
// below: host runs them; writer, number, trunk, fleet, dialout and campaign have one or a family
// each; call has what the calls of campaigns and of dialout share.
//
//	/user
//	 ├─ writer-*                    group commit to PostgreSQL
//	 ├─ fleet                       seats of the bots
//	 ├─ trunks ─ trunk-<id>         CPS tokens, channels, health
//	 ├─ numbers ─ number-<e164>     caps, rest, strikes: the number's one owner
//	 ├─ dialout ─ call-<id>         calls outside campaigns
//	 └─ campaigns                   guardian
//	     └─ campaign-<id>           supervisor without state of its own
//	         ├─ run                 lifecycle, pacing, due queue, tally
//	         ├─ numbers ─ slot-<e164>
//	         └─ contacts ─ contact-<id>
//
// The decisions of a contact and a call are in package engine/call, which the simulator uses too:
// the actors of contacts and dialouts are its shells (call.Shell).
//
// Receive does five things: decode, stamp the time once, Apply, carry out the effects in order,
// reply. Nothing blocks in Receive: I/O runs outside and its result comes back as a message. The
// decisions of a run are in engine/run, those of a contact or a call outside campaigns in
// engine/call; packages campaign and call carry them out.
//
// Order contract: what a step records is durable before its gated effects (the INVITE, the ACK, an
// HTTP reply) leave. A campaign's writes pass through its run, which gives every event its place in
// the campaign's sequence, and on to one writer, which keeps that order.
//
// Supervision: a run is a leaf below a supervisor without state, so its restart stops no other
// actor; a contact is restarted alone. Legs and media live in their adapters under the attempt's
// identifier and are re-attached: no restart hangs up a call. A restarted actor loads its durable
// state behind a barrier in the writer's queue.
package actors
