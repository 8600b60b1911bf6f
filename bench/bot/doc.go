// Package bot is a model of the customer's voice bots: a real Twilio Media Streams server
// (bidirectional WebSocket) with scripted conversations, and a judge of the platform that dials it.
// It checks the order and the form of every frame, the signature of the upgrade, and what happens
// to every mark, and it posts results over HTTP as real bots do.
//
// # Chance and script
//
// A conversation is drawn from (seed, called number, n-th session with that number), the behaviour
// at the door from (seed, n-th knock). Config.Script sets the conversations of single numbers.
//
// # Invariants
//
//   - A breach of the protocol is counted by name and attached to its
//     session; it never ends the session, so that one run finds them all.
//   - A session ends exactly once: by the bot, by a stop frame, or lost.
//   - Load stays on loopback: results are posted to other addresses only
//     with Config.AllowRemote.
//
// # What it must not know
//
// The dialler: it shares no code with media, http, persistence or actors.
//
// # Ownership
//
// One goroutine per socket reads, and afterwards posts the result. Only the pacers write frames; a
// session's state is behind its own mutex.
package bot
