// Package gateway carries the ports Telephony and Media of the campaign tree to
// the node that holds a call.
//
// A leg lives where it was placed: on the node whose sockets sent its INVITE.
// The attempt's actor lives with the campaign's run, which may be on another
// node, or move to one while the call goes on. A Gateway stands in front of a
// node's own telephony and media. What concerns a call of its own node it passes
// on by a plain call; for a call elsewhere it sends a command to the gateway
// there, which gives it to that node's ports, and what happens comes back as the
// same events, in order and once.
//
// # Order and loss
//
// Commands and events go over the link of the two nodes (package link): in the order in
// which they were given, and once. An acknowledgement means that a command was carried
// out. What is told waits a few milliseconds for what else is: under load a frame holds
// what many calls have to say, and its cost is divided by them.
//
// # Owners
//
// The node that gave the first command for a call is its owner. Another one
// becomes it by Adopt, with a higher fence (the epoch of the campaign, then the
// incarnation); what an earlier owner still says is dropped. Events replay from
// the first, as they do for an actor that was restarted. A call whose owner
// has not been heard of for OrphanAfter is hung up, unless somebody adopts it
// before.
//
// # Answers
//
// No call of a port waits for another node. The offer of Open and OpenPeer is
// filled in where the INVITE is sent from; that a path could not be opened comes
// as LegNotSent of the leg that was to use it. The quality of a call comes with
// the last event of its callee's leg. What else has an answer has a method of
// its own that calls back (AdoptLegs, JoinPeerThen, SendDigitsThen, Settled).
//
// # Clocks
//
// A send-by time is a reading of the owner's boot-time clock. The link converts it so
// that it is never later on the node that sends; times of events as well as it can.
package gateway
