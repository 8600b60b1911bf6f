// Package demux finds the call of an RTP packet on a shared socket by its source. It is pure: no
// socket, no clock, no lock; times are nanoseconds of its caller's clock. It knows a call only as a
// Peer.
//
// # How packets find their call
//
//  1. The remote address and port of the SDP answer belong to the call that
//     named them. The first packet from there binds its SSRC to the call.
//  2. When two live calls of one socket name the same address, only the SSRC
//     decides: an SSRC from the SDP (RFC 5576), one bound before the other call
//     was even opened, or one proven by elimination: a single call is without a
//     source, and every other one is still heard from its own while the
//     stranger sends. From then on the far side's IP address is known to share
//     ports, and a first packet from there proves nothing while another
//     call of the socket is still ringing: it may be that one's early media.
//  3. A packet from an address that no call named latches to a call (a far side
//     behind a NAT) only where the trunk and the SDP's address allow it, from the
//     hosts of the far side, by five packets in a row, and when no other call is
//     possible (latch.go; docs/adr/0039). The SDP's address takes precedence
//     over a latch whenever it sends.
//  4. Packets of an ended call are recognised for two seconds.
//  5. A packet that no answered call has, from an address that one ringing call
//     alone named in a provisional response, is that one's early media.
//  6. Any other packet may belong to more than one call, or to none: it is
//     dropped and counted by reason, never guessed.
//
// Rule 1 is taken on trust: a silent call that names an address which nobody else is known to share
// hears what comes from there, even if that is the early media of a later call that will name it
// too. Carriers give every live call its own port. For rule 3 the caller opens a call that may
// latch on a socket on which no other call is unheard. Far sides with one port for all calls pay
// the price of rule 6.
package demux
