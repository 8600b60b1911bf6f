// Package http is the dialler's HTTP API: the three endpoints that external systems call with an
// API key (dialout, trigger, exclude), those that bots call (results, the hang-up route that
// media-streams bots expect), the resources behind the console, health and metrics.
//
// It owns what only HTTP has: routes, keys and tokens on the wire, JSON, statuses, problem details,
// idempotent replays, rate limits. It decides nothing about calls: every rule of dialling is behind
// interfaces.
//
// This package puts the parts together: the table of routes, the server and its connections,
// overload, metrics, health, the console, OpenAPI. Each resource is a package, which declares the
// ports that it needs; ports.go joins them. What all resources need is below them: form reads
// bodies, wire is a request and its responses, access authenticates the sender, download sends
// files, live sends streams, idempotency replays responses, memory caches. None of them knows this
// package.
//
// It must not know actors, SQL, SIP or audio.
//
// Invariants:
//   - Checks run in the order 401, 429, 403, 422, 404, 409 (the rate limit of
//     a key as soon as the key is known).
//   - There is one 401 body, whatever is wrong with a key or token.
//   - Errors have one format (RFC 9457) and kinds become statuses in one place,
//     wire/problem.go.
//   - No RequestCtx and no byte of it outlives its handler: what goes to a port
//     is copied.
//   - A body that was cut off is never taken for a complete one, and the rest of a
//     refused upload is never taken for a request (wire/upload.go).
//   - Bodies, phone numbers, variables, keys and session tokens are never
//     logged.
//   - A change authorised by a cookie needs the CSRF token of its session. A cookie
//     counts only if no other credentials come with it.
//   - However many clients watch a campaign, it is queried once a second; while
//     none do, not at all. No client holds up another, or an actor.
//   - Every route of the API is in openapi.yaml and every response conforms to it
//     (contract_test.go); the console's pages are for people and not in it.
//
// Decisions where the specification is silent:
//   - null for an optional field means that it was not sent.
//   - A body with several errors is answered with all of them, at most 100.
//   - A repeated key in an object is an error of that field, not "last wins".
//   - U+0000 is refused in any text, because the database cannot store it.
//   - Trigger metadata: numbers keep the digits that were sent, null becomes
//     "", nested values become compact JSON text.
//   - Of the 4xx responses, 404, 409 and 422 are stored for an Idempotency-Key; 401,
//     403, 413, 415 and 429 are not, because they do not depend on the command.
//   - For a key restricted to campaigns, a call of another campaign is not found
//     (404); dialouts are not restricted at all.
//   - A user session ends 12 h after its last request and 7 days after the
//     log-in; beyond 20 sessions per user the oldest ends; a new password and a
//     deactivation end all. An open stream alone does not extend it.
//   - A log-in ends the same browser's previous session.
//   - The CSRF token is an HMAC under the session's token: nothing is stored,
//     and it is valid on every node and after a restart.
//   - Streams are independent of fasthttp: they take their connection over from it,
//     because its timeouts are those of a request, and read from the connection to
//     notice a client that disconnected.
//   - The time of day in a campaign (live.at) is not a change by itself: an idle
//     campaign sends nothing but heartbeats. In a merge patch null means absent, so
//     a member that GET shows as null may be absent at a client.
//   - A stream continues while its credentials cannot be checked (database down),
//     and ends after ten seconds in which the campaign could not be queried: a
//     client that reconnects is told why.
package http
