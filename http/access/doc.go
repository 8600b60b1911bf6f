// Package access finds out who sends a request and whether they may: API keys,
// log-in tokens and sessions, passwords, rate limits; and it serves the resources of
// keys, users and log-ins.
//
// It must not know: what a request is for.
//
//   - One 401 body, whatever is wrong with a key or token.
//   - What a cookie may change needs the CSRF token of its session. A cookie
//     counts only when no other credentials come with it.
//   - Neither a key, a password nor a session's token is logged or stored in clear.
package access
