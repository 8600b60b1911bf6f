// Package webhook says what is told to integrators, and how: which events of the
// journal become which messages (kinds.go, the one table), what a message says
// and how long it may be (shapes.go), how it is signed (sign.go, the Standard
// Webhooks specification 1.0), and what an answer means for when it is sent again
// (answer.go).
//
// Invariants:
//   - A message's identifier is worked out of the event that it tells: whoever
//     reads the event, however often, makes the same message.
//   - A body has fewer than BodyCap bytes, whatever the contact's variables.
//   - An answer is judged by its status and its headers alone, never by its body.
//
// It must not know: how events are stored and followed, sockets, queues.
//
// Decisions where the specification is silent:
//   - Facts of an event (state, outcome, reason) are those of its moment; number,
//     variables and the times of a call are those of the rows when it is read.
//   - What is done to all contacts of a run at once is one message with counts
//     (contacts.closed), not one for each contact.
//   - An endpoint is disabled after the last try only when nothing was delivered
//     to it since that message was made: one message that its server cannot take
//     must not end all others.
package webhook
