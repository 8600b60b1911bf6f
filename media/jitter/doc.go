// Package jitter puts the RTP packets of a source in order. It knows sequence numbers
// and no clock: how long a missing packet is waited for is counted in packets.
package jitter
