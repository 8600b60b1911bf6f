package media

// batchSize is how many datagrams one system call carries at most.
const batchSize = 64

// extraBatch is that of the ports that are opened when the first ones do not
// suffice: there can be many of them, each with few calls.
const extraBatch = 16

const (
	// datagramCap is the longest datagram that is read in full.
	datagramCap = 1500
	// rtpHeaderBytes and frameBytes make up what we send.
	rtpHeaderBytes = 12
	frameBytes     = 160 // 20 ms of G.711
	sendBytes      = rtpHeaderBytes + frameBytes
	// sendCap is the longest datagram that is sent, with room for the tag of
	// SRTP: what is relayed may come in longer packets than our own.
	sendCap = rtpHeaderBytes + relayedCap + srtpTrailCap
	// relayedCap is the longest payload that is relayed: 120 ms of G.711.
	relayedCap = 6 * frameBytes
)
