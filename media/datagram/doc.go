// Package datagram reads and writes UDP datagrams in batches, without an allocation for each. It
// knows nothing of RTP.
package datagram
