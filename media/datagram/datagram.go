package datagram

const (
	// BatchSize is the maximum number of datagrams per system call.
	BatchSize = 64
	// Cap is the longest datagram that is read in full.
	Cap = 1500
	// SendCap is the longest datagram that is sent: an RTP header, 120 ms of G.711 (relayed packets
	// may be longer than our own), and the SRTP tag.
	SendCap = 12 + 6*160 + 16
)
