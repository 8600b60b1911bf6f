// Package carrier is a model of a telephone carrier and of everybody behind
// it: a SIP user agent server over UDP and TCP (RFC 3261) with RTP media
// (RFC 3550, RFC 4733), whose callees answer, ring out, are busy, are
// machines, hang up, or never existed. It is the independent judge of the
// dialler: its ledger says what really arrived on the wire, and finds
// overlapping calls to one number and Call-IDs that were dialled twice.
//
// # Chance and script
//
// What becomes of a call is drawn from (seed, called number, n-th call to
// that number), never from the order in which goroutines run, so a run can
// be repeated. Config.Script fixes the behaviour of single numbers for
// exact tests.
//
// # Invariants
//
//   - An INVITE copy with a known branch is a retransmission: it is answered
//     again and never rings twice. It is a fault only when it comes so late
//     that no correct client transaction can have sent it.
//   - A digest retry, and a retry after 3xx or 422, continues its call. Any
//     other INVITE with a used Call-ID is recorded as a duplicate.
//   - A call lives in the ledger from its INVITE to the moment the callee's
//     phone is free again: final refusal sent, BYE received, BYE sent.
//   - Every judgement is computed from the ledger's rows, so that it can be
//     made again from the ledger file alone.
//
// # What it must not know
//
// The dialler. It shares no code with sipstack, media, http, persistence or
// actors, not even the SIP parser: a fault of ours must not be mirrored in
// its judge.
//
// # Ownership
//
// A call belongs to one of the shards, chosen by Call-ID; its state, its
// ledger row and its timers are touched under the shard's lock only. There
// is no goroutine per call: one reader per UDP socket, one per TCP
// connection, one per RTP port, and a few pacers for the audio. Ports, streams
// and descriptions of the audio are package media's, which knows no calls.
//
// Load stays on loopback: other addresses are refused unless
// Config.AllowRemote is set.
package carrier
