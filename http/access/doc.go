// Package access determines who sends a request and whether it is permitted: API keys, log-in
// tokens and sessions, passwords, rate limits; and it serves the resources of keys, users and
// log-ins.
//
// It must not know: what a request is for.
//
//   - One 401 body, whatever is wrong with a key or token.
//   - Changes authorised by a cookie need the CSRF token of its session. A cookie
//     counts only if no other credentials are sent with it.
//   - Neither a key, a password nor a session's token is logged or stored in clear.
package access
