// Package client talks to a dialler's HTTP API from Go: calls, contacts and campaigns for an
// integration with an API key, and operators' actions with a user's token.
//
// It must not know anything of the dialler except its API, so it imports no other package of ours.
//
// Invariants:
//   - No request is retried that could be carried out twice: a write is sent with
//     an Idempotency-Key, its own or the caller's, where the API takes one; any
//     other is retried only if the answer says that it was not processed
//     (429).
//   - Credentials go to the address that New was given and nowhere else: no
//     redirect is followed.
//   - A refusal is an *Error with the API's code. So is a Retry-After that exceeds
//     what the client is willing to wait.
//   - Every wait ends with the context.
package client
