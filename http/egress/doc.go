// Package egress is the HTTP client for addresses that somebody typed in:
// webhooks and Config URLs. It keeps them away from what only this machine and
// its network may reach (server-side request forgery).
//
// It must not know: what is sent or fetched, and why.
//
// Invariants:
//   - The address that is judged is the one that is dialled, after the name was
//     resolved, for every connection: a name that changes its mind changes nothing.
//   - Where the environment names a proxy for a URL the proxy is dialled and the
//     judging is its own.
//   - No cookie, no credentials and no compressed body; headers of an answer are
//     bounded, its body is the caller's to bound.
package egress
