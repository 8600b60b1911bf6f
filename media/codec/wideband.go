package codec

import "dialler/media/g711"

// silentUpper is the code of the upper band that every decoder hears as
// silence: the smallest difference, under which the scale factor goes to its
// least, where it is none.
const silentUpper = 3 << 6

// payloadMost is the longest payload that is decoded: a datagram is no longer.
const payloadMost = 1500

// Wideband is the G.722 of a call whose bot has 8 kHz. The lower band of the
// codec is sound at 8 kHz, of half the level: what the bot says becomes the
// lower band beside a silent upper one, and of what the far side says the bot
// hears the lower band. That leaves out the filters and half of the codec, and
// their delay; what the far side's own filter leaves of the sound between 4 and
// 5 kHz (half of it at 4.3 kHz, a tenth at 5) is heard mirrored, between 4 and 3.
type Wideband struct {
	enc, dec subband
	out      [payloadMost]byte
}

func NewWideband() *Wideband { return &Wideband{enc: newLower(), dec: newLower()} }

// Encode turns μ-law into as many bytes of G.722, in place.
func (w *Wideband) Encode(b []byte) {
	for i, u := range b {
		b[i] = silentUpper | w.enc.quantise(int32(UlawToPCM[u])>>1)
	}
}

// Decode gives G.722 as μ-law, valid until the next call.
func (w *Wideband) Decode(b []byte) []byte {
	b = b[:min(len(b), len(w.out))]
	out := w.out[:len(b)]
	for i, c := range b {
		out[i] = g711.ToUlaw(int16(2 * w.dec.sample(c))) //nolint:gosec // 15 bits and one
	}
	return out
}
