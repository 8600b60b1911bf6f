// Package carrier is a model of a telephone carrier and all its subscribers: a SIP user agent
// server over UDP and TCP (RFC 3261) with RTP media (RFC 3550, RFC 4733), whose callees answer,
// ring out, are busy, are machines, hang up, or never existed. It is the independent judge of the
// dialler: its ledger shows what really arrived on the wire, and finds overlapping calls to one
// number and Call-IDs that were dialled twice.
//
// # Chance and script
//
// The behaviour of a call is drawn from (seed, called number, n-th call to that number), never from
// the order in which goroutines run, so a run can be repeated. Config.Script sets the behaviour of
// single numbers for exact tests.
//
// # Invariants
//
//   - An INVITE copy with a known branch is a retransmission: it is answered
//     again and never rings twice. It is a fault only if it comes so late
//     that no correct client transaction can have sent it.
//   - A digest retry, and a retry after 3xx or 422, continues its call. Any
//     other INVITE with a used Call-ID is recorded as a duplicate.
//   - A call is live in the ledger from its INVITE until the callee's
//     phone is free again: final refusal sent, BYE received, BYE sent.
//   - Every judgement is computed from the ledger's rows, so that it can be
//     repeated from the ledger file alone.
//
// # What it must not know
//
// The dialler. It shares no code with sipstack, media, http, persistence or actors, not even the
// SIP parser: a bug of ours must not be repeated in its judge.
//
// # Ownership
//
// A call belongs to one of the shards, chosen by Call-ID; its state, its ledger row and its timers
// are used only under the shard's lock. There is no goroutine per call: one reader per UDP socket,
// one per TCP connection, one per RTP port, and a few pacers for the audio. Package media, which
// knows no calls, owns the ports, streams and descriptions of the audio.
//
// Load stays on loopback: other addresses are refused unless Config.AllowRemote is set.
package carrier
