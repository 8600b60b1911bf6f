// Package webhook defines what is sent to integrators, and how: which events of the journal become
// which messages (kinds.go, the one table), what a message contains and how long it may be
// (shapes.go), how it is signed (sign.go, the Standard Webhooks specification 1.0), and how an
// answer decides when it is sent again (answer.go).
//
// Invariants:
//   - A message's identifier is derived from its event: reading the event again,
//     by anybody, gives the same message.
//   - A body has fewer than BodyCap bytes, whatever the contact's variables.
//   - An answer is judged only by its status and its headers, never by its body.
//
// It must not know: how events are stored and followed, sockets, queues.
//
// Decisions where the specification is silent:
//   - Facts of an event (state, outcome, reason) are those of its moment; number,
//     variables and the times of a call are those of the rows when it is read.
//   - A change of all contacts of a run at once is one message with counts
//     (contacts.closed), not one for each contact.
//   - An endpoint is disabled after the last try only when nothing was delivered
//     to it since that message was created: one message that its server cannot
//     take must not stop all others.
//   - What an address that a request named answers is that address's affair: at worst
//     it is told no more, and the endpoint goes on.
package webhook
