// Package http is the dialler's HTTP API: the three endpoints that external
// systems call with an API key (dialout, trigger, exclude), what bots call
// (results, the hang-up route that media-streams bots expect), the resources
// behind the console, health and metrics.
//
// It owns what only HTTP has: routes, keys and tokens on the wire, JSON,
// statuses, problem details, idempotent replays, rate limits. It decides
// nothing about calls: every rule of dialling lies behind interfaces.
//
// This package composes: the table of routes, the server and its connections,
// overload, figures, health, the console, OpenAPI. What a resource does is in the
// package of its noun, which declares the ports that it needs itself; ports.go
// joins them. What all of them need is below them: form reads bodies, wire is a
// request and its answers, access says who sends it, download sends files, live
// streams, idempotency repeats answers, memory remembers. None of them knows this
// package.
//
// What it must not know: actors, SQL, SIP, audio.
//
// Invariants:
//   - Checks run in the order 401, 429, 403, 422, 404, 409 (the rate limit of
//     a key as soon as the key is known).
//   - One 401 body, whatever is wrong with a key or token.
//   - Errors have one shape (RFC 9457) and kinds become statuses in one place,
//     wire/problem.go.
//   - No RequestCtx and no byte of it outlives its handler: what goes to a port
//     is copied.
//   - A body that was cut off is never taken for a whole one, and what a refused
//     upload still sends is never taken for a request (wire/upload.go).
//   - Neither a body, a phone number, a variable, a key nor a session's token is
//     logged.
//   - What a cookie may change needs the CSRF token of its session. A cookie
//     counts only when no other credentials come with it.
//   - However many watch a campaign, it is asked once a second; while nobody
//     does, not at all. No client holds up another, or an actor.
//   - Every route of the API is in openapi.yaml and every answer obeys it
//     (contract_test.go); the console's pages are for people and not there.
//
// Decisions where the specification is silent:
//   - null for an optional field means that it was not sent.
//   - A body with several mistakes is answered with all of them, at most 100.
//   - A repeated key in an object is a mistake of that field, not "last wins".
//   - U+0000 is refused in any text: the database cannot keep it.
//   - Trigger metadata: numbers keep the digits that were sent, null becomes
//     "", nested values become compact JSON text.
//   - Of the 4xx answers 404, 409 and 422 are kept for an Idempotency-Key; 401,
//     403, 413, 415 and 429 are not, since they say nothing about the command.
//   - A key restricted to campaigns sees a call of another campaign as absent
//     (404), and dialouts not at all restricted.
//   - A user session ends 12 h after its last request and 7 days after the
//     log-in, of more than 20 of a user the oldest; a new password and a
//     deactivation end all. An open stream alone does not prolong it.
//   - A log-in ends the session that the same browser had.
//   - The CSRF token is an HMAC under the session's token: nothing is stored,
//     and it holds on every node and after a restart.
//   - Streams go by themselves: they take their connection over from fasthttp,
//     whose timeouts are those of a request, and read from it to notice a client
//     that went away.
//   - The time of day in a campaign (live.at) is no change by itself: an idle
//     campaign is silence and heartbeats. In a merge patch null means absent, so
//     a member that GET shows as null may be absent at a client.
//   - A stream goes on while its credentials cannot be checked (database away),
//     and ends after ten seconds in which the campaign could not be asked: who
//     comes back is told why.
package http
