// Package codec has the codecs of a call's audio: G.711 by tables, and of G.722 the
// lower band, which is what a bot of 8 kHz hears and says. It knows no packet.
package codec
