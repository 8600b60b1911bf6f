// Package jitter sorts the RTP packets of a source. It knows sequence numbers but no clock: the
// wait for a missing packet is counted in packets.
package jitter
