// Package sdp writes the offers of calls and reads what the far side answers or
// offers (RFC 3264, RFC 4566), with the keys of SRTP in it (RFC 4568). It is pure, and
// lenient with what it reads.
package sdp
