// Package codec implements the codecs of a call's audio: G.711 by tables, and the lower band of
// G.722, which is what an 8 kHz bot hears and says. It knows nothing of packets.
package codec
