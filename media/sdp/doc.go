// Package sdp writes the SDP offers of calls and reads the answers and offers of the far side (RFC
// 3264, RFC 4566), including SRTP keys (RFC 4568). It is pure, and lenient in what it reads.
package sdp
