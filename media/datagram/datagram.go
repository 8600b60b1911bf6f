package datagram

const (
	// BatchSize is how many datagrams one system call carries at most.
	BatchSize = 64
	// Cap is the longest datagram that is read in full.
	Cap = 1500
	// SendCap is the longest datagram that is sent: a header of RTP, 120 ms of
	// G.711 (what is relayed may come in longer packets than our own), and the tag
	// of SRTP.
	SendCap = 12 + 6*160 + 10
)
