// Package sipstack places outbound calls over SIP trunks: it sends the INVITE of a leg, reports
// every response in wire order as an engine.LegEvent, and ends the call with CANCEL or BYE, even
// for a leg of an earlier process. It keeps trunks registered that require it. It speaks UDP, TCP
// and TLS on sockets of its own and uses sipgo's parser; the INVITE client transaction (RFC 3261
// §17.1.1, RFC 6026) and the dialog are its own, because responses must not overtake each other and
// no goroutine may be parked per call.
//
// It must not know campaigns, contacts, pacing, CPS and channel caps, which trunk to choose, what a
// response code means for an attempt, or the contents of an SDP offer. SDP passes through it as
// bytes.
//
// # Owners
//
// This package owns a leg under its LegID until its last event was given to a sink and ForgetLegs
// was called, whether or not a sink is attached. A sink may go away (DetachLegs) and another may
// come (AttachLeg): it gets all events of the leg from Seq 1. The trunk's configuration is owned by
// the caller of SetTrunk; legs keep the configuration that they were placed with.
//
// # Invariants
//
//   - A LegID is its Call-ID, and at most one INVITE transaction runs for it at
//     a time. Another one begins, with CSeq+1, only after a final response that
//     certainly refused the previous one: a challenge (401, 407), a longer session
//     interval (422), a redirect that the trunk allows (3xx, and 4xx and 5xx
//     of a target that it led to), a 503 that leads to the next address of the
//     trunk's name. Silence leads to none: the phone may be ringing. A known LegID
//     is never placed again: a second PlaceLeg changes nothing.
//   - From tag, Contact user and every Via branch are functions of the LegID,
//     the CSeq and the method, so that a later process can build the CANCEL, ACK
//     or BYE of a leg of which it knows only the ID (RFC 3261 §9.1, §17.1.1.3).
//   - No INVITE is written after its send-by time: neither the first, nor a
//     retransmission, nor one that follows a refusal.
//   - Every leg has exactly one final event. Events of a leg reach a sink
//     one at a time, in Seq order, without a lock held: a sink may call any
//     method of the Stack, and must not block, because it may run in the read
//     loop of a socket.
//   - The ACK of a 2xx leaves only after ConfirmLeg or HangUpLeg; the sole
//     exception is a 2xx that is no longer wanted: one that crosses our
//     CANCEL, that comes after LegSilent, that belongs to another fork, or whose
//     dialog the far side ends before its ACK. It gets ACK and BYE from here (RFC
//     3261 §13.2.2.4, §15), the last kind only its ACK. Crossing and late ones are
//     still reported as LegAnswered, then LegClosed.
//   - A request of the far side inside a dialog is acted on once; a repeated one
//     gets the bytes of the first answer. An offer is answered by the Negotiator
//     at once, so there is never a pending one to be overtaken.
//   - A write that may have left counts as sent. LegNotSent is certain.
//   - Only addresses of trunks are answered, and addresses that a live dialog
//     named itself; requests outside of dialogs at a bounded rate. A response is
//     matched by the branch of our own request, wherever it comes from.
//
// # Packages
//
// This package opens, connects and closes the others; its own files are the configuration and the
// statistics.
//
//   - message: the text of messages, read and written.
//   - timing: timer values and clocks.
//   - auth: answers to digest challenges.
//   - transport: sockets, connections, DNS, addresses that failed lately.
//   - trunk: trunks, their OPTIONS and registration, who may send us requests.
//   - ladder: what is kept of a leg's messages.
//   - leg: calls. table.go holds all of them and its commands, receive.go routes a
//     message to its leg, outside.go handles requests of no leg, leftover.go legs of
//     an earlier process; leg.go a leg's state and its events, invite.go the INVITE
//     client transaction, redirect.go its target after a 3xx or a 503, bulky.go
//     one that is too long for UDP, prack.go reliable provisional responses,
//     established.go what follows a 2xx, request.go our other transactions,
//     inbound.go requests of the far side, session.go its offers, refresh.go
//     session timers, refer.go transfers, recover.go a leg of an earlier process.
//
// # Decisions
//
//   - A repeated reliable provisional response is not acknowledged again: RFC
//     3262 §4 forbids it, and the PRACK's own transaction repeats it.
//   - Max-Forwards 0 is no error for an endpoint (RFC 4475 §3.3.11).
//   - The SDP of a 2xx applies even if a reliable 183 had an answer already:
//     a far side that breaks that rule means where it listens now.
//   - A session timer without a refresher is ours to refresh.
//   - 408, 481 or silence to a refresh, and 481 to an INFO, end the call with
//     BYE (RFC 3261 §12.2.1.2, RFC 5057): LegClosed says why.
//   - Credentials are not sent before a challenge; every request of a dialog answers
//     its own challenge.
//
// # Not here
//
// A redirected leg of an earlier process is cancelled at its trunk, not at the redirect's target,
// which was not recorded; it is watched like any other. One that went along a Service-Route is
// cancelled along it only when the trunk is registered again.
//
// NAPTR (a trunk's transport is configured, which RFC 3263 §4.1 makes enough), outbound flows (RFC
// 5626), sips: URIs of our own, and TCP for long ACKs and REGISTERs.
package sipstack
