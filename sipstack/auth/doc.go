// Package auth answers digest challenges (RFC 3261 §22, RFC 7616, RFC 8760):
// the credentials of one request and of its repetitions. It must not know
// which request that is, nor where it goes.
package auth
