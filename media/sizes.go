package media

import (
	"dialler/media/codec"
	"dialler/media/datagram"
	"dialler/media/srtp"
)

// extraBatch is that of the ports that are opened when the first ones do not
// suffice: there can be many of them, each with few calls.
const extraBatch = 16

const (
	// rtpHeaderBytes and codec.FrameBytes make up what we send.
	rtpHeaderBytes = 12
	sendBytes      = rtpHeaderBytes + codec.FrameBytes
	// relayedCap is the longest payload that is relayed: 120 ms of G.711.
	relayedCap = 6 * codec.FrameBytes
)

// What is relayed has room in a datagram, with the tag of SRTP.
var _ [datagram.SendCap - rtpHeaderBytes - relayedCap - srtp.TrailCap]struct{}
