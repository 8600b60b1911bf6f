// Package srtp encrypts and decrypts the packets of one call (RFC 3711) with the keys from its SDP.
// Keys are never logged.
package srtp
