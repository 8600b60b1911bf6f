// Package egress is the HTTP client for user-supplied addresses: webhooks and Config URLs. It
// blocks addresses that only this machine and its network may reach (server-side request forgery).
//
// It must not know what is sent or fetched, or why.
//
// Invariants:
//   - The address that is checked is the one that is dialled, after name
//     resolution, for every connection: a name that changes its address gains nothing.
//   - If the environment names a proxy for a URL, the proxy is dialled and the
//     check is the proxy's.
//   - No cookies, no credentials and no compressed bodies; response headers are
//     bounded, the body is the caller's to bound.
package egress
