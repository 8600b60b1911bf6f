package transport

import (
	"net/netip"

	"dialler/sipstack/message"
)

// Target is where a message goes.
type Target struct {
	Addr      netip.AddrPort
	Transport message.Transport
	From      *Endpoint // whose socket or address it leaves from; nil for the first
	TLS       *TLSPeer  // nil over UDP, TCP and connections that the far side opened
}

// At is the same way to another address.
func (t Target) At(addr netip.AddrPort) Target {
	t.Addr = addr
	return t
}

// Reliable says that the transport retransmits by itself: no timers A, E and
// G (RFC 3261 §17).
func (t Target) Reliable() bool { return t.Transport.Reliable() }

// unmapped is an address as we compare it: IPv4 as such.
func unmapped(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }
