package codec

import "dialler/media/g711"

// silentUpper is an upper-band code that every decoder renders as silence: the smallest difference,
// which drives the scale factor to its minimum and keeps it there.
const silentUpper = 3 << 6

// payloadMost is the longest payload that is decoded: no datagram is longer.
const payloadMost = 1500

// Wideband converts G.722 for a call whose bot uses 8 kHz. The codec's lower band is 8 kHz audio at
// half the level: the bot's audio becomes the lower band beside a silent upper one, and the bot
// hears the far side's lower band. That saves the filters, their delay, and half of the codec. In
// return, sound between 4 and 5 kHz that the far side's own filter lets through (half of it at 4.3
// kHz, a tenth at 5) is heard mirrored, between 4 and 3.
type Wideband struct {
	enc, dec subband
	out      [payloadMost]byte
}

func NewWideband() *Wideband { return &Wideband{enc: newLower(), dec: newLower()} }

// Encode converts μ-law to as many bytes of G.722, in place.
func (w *Wideband) Encode(b []byte) {
	for i, u := range b {
		b[i] = silentUpper | w.enc.quantise(int32(UlawToPCM[u])>>1)
	}
}

// Decode converts G.722 to μ-law; the result is valid until the next call.
func (w *Wideband) Decode(b []byte) []byte {
	b = b[:min(len(b), len(w.out))]
	out := w.out[:len(b)]
	for i, c := range b {
		out[i] = g711.ToUlaw(int16(2 * w.dec.sample(c))) //nolint:gosec // 15 bits and one
	}
	return out
}
