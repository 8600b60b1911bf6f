package media

// batchSize is how many datagrams one system call carries at most.
const batchSize = 64

const (
	// datagramCap is the longest datagram that is read in full.
	datagramCap = 1500
	// rtpHeaderBytes and frameBytes make up what we send.
	rtpHeaderBytes = 12
	frameBytes     = 160 // 20 ms of G.711
	sendBytes      = rtpHeaderBytes + frameBytes
	// sendCap leaves room for the tag of SRTP.
	sendCap = sendBytes + srtpTrailCap
)
