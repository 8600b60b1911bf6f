// Package gateway carries the ports Telephony and Media of the campaign tree to the node that holds
// a call.
//
// A leg lives on the node whose sockets sent its INVITE. The attempt's actor lives with the
// campaign's run, which may be on another node or move to one during the call. A Gateway stands in
// front of a node's own telephony and media. Commands for a call on its own node are plain calls.
// For a call elsewhere it sends a command to the gateway there, which passes it to that node's
// ports; events come back unchanged, in order and once.
//
// # Order and loss
//
// Commands and events go over the link of the two nodes (package link), in order and once. An
// acknowledgement means that a command was carried out. A message waits a few milliseconds for
// others: under load a frame holds the messages of many calls, which share its cost.
//
// # Owners
//
// The node that gave the first command for a call is its owner. Another node becomes the owner by
// Adopt, with a higher fence (the epoch of the campaign, then the incarnation); later commands of
// the former owner are dropped. Events replay from the first, as they do for a restarted actor. A
// call whose owner has been silent for OrphanAfter is hung up, unless another node adopts it first.
//
// # Answers
//
// No call of a port waits for another node. The offer of Open and OpenPeer is filled in where the
// INVITE is sent; a path that cannot be opened is reported as LegNotSent of the leg that was to use
// it. The quality of a call comes with the last event of its callee's leg. Other commands with an
// answer have a separate method with a callback (AdoptLegs, JoinPeerThen, SendDigitsThen, Settled).
//
// # Clocks
//
// A send-by time is a reading of the owner's boot-time clock. The link converts it so that it is
// never later on the sending node; event times are converted as accurately as possible.
package gateway
