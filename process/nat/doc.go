// Package nat finds the address that others see this machine at, behind a NAT that does not translate ports: it
// asks a STUN server (RFC 8489) and goes on asking.
//
// An answer holds until another one comes. It knows neither SIP nor RTP: who uses the address is told of it.
package nat
