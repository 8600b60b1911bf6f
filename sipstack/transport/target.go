package transport

import (
	"net/netip"

	"dialler/sipstack/message"
)

// Target is the destination of a message.
type Target struct {
	Addr      netip.AddrPort
	Transport message.Transport
	From      *Endpoint // source of the message; nil means the first endpoint
	TLS       *TLSPeer  // nil over UDP, TCP and connections that the far side opened
}

// At returns the target with another address.
func (t Target) At(addr netip.AddrPort) Target {
	t.Addr = addr
	return t
}

// Reliable says that the transport retransmits by itself, so that timers A, E and G are not needed
// (RFC 3261 §17).
func (t Target) Reliable() bool { return t.Transport.Reliable() }

// unmapped is an address in the form in which we compare it: IPv4 as such.
func unmapped(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }
