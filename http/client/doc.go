// Package client talks to a dialler's HTTP API from Go: calls, contacts and
// campaigns of an integration, with an API key, and what an operator does, with a
// user's token.
//
// It must not know anything of the dialler but its API: no other package of ours.
//
// Invariants:
//   - No request is repeated that could be carried out twice: a write goes out
//     under an Idempotency-Key, its own or the caller's, where the API takes one;
//     any other is repeated only when the answer says that it was not looked at
//     (429).
//   - Credentials go to the address that New was given and nowhere else: no
//     redirect is followed.
//   - A refusal is an *Error with the API's code. A wait that the server asks for
//     and that is longer than the client waits is a refusal too.
//   - Every wait ends with the context.
package client
