package media

import (
	"dialler/media/codec"
	"dialler/media/datagram"
	"dialler/media/srtp"
)

// extraBatch is the batch size of ports opened when the first ones do not suffice: there can be
// many of them, each with few calls.
const extraBatch = 16

const (
	// rtpHeaderBytes and codec.FrameBytes make up a packet of ours.
	rtpHeaderBytes = 12
	sendBytes      = rtpHeaderBytes + codec.FrameBytes
	// relayedCap is the longest payload that is relayed: 120 ms of G.711.
	relayedCap = 6 * codec.FrameBytes
)

// A relayed packet fits into a datagram, together with the SRTP tag.
var _ [datagram.SendCap - rtpHeaderBytes - relayedCap - srtp.TrailCap]struct{}
