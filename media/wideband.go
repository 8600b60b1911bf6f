package media

import "math"

// halfSide is the number of taps on each side of the middle of the half-band
// filter that are not zero.
const halfSide = 12

// halfBand is the filter between 8 and 16 kHz: a sinc under a Kaiser window
// (β 5.65: 60 dB), of which every second tap is zero, scaled by 2^15. The sum of
// both sides is a half; the middle tap is the other half.
var halfBand = func() (h [halfSide]int32) {
	const beta = 5.65
	sum := 0.0
	var taps [halfSide]float64
	for i := range taps {
		n := float64(2*i + 1)
		x := n / float64(2*halfSide)
		taps[i] = math.Sin(math.Pi*n/2) / (math.Pi * n) * bessel0(beta*math.Sqrt(1-x*x)) / bessel0(beta)
		sum += 2 * taps[i]
	}
	for i := range taps {
		h[i] = int32(math.Round(taps[i] / sum * (1 << 14)))
	}
	return h
}()

// bessel0 is the modified Bessel function of the first kind, order 0.
func bessel0(x float64) float64 {
	sum, term := 1.0, 1.0
	for k := 1.0; term > 1e-12*sum; k++ {
		term *= x * x / (4 * k * k)
		sum += term
	}
	return sum
}

// wideband is the G.722 of a call whose bot has 8 kHz. It delays each way by
// 2.5 ms: 1.4 of the codec's filter, 1.5 of ours.
type wideband struct {
	enc, dec g722
	// The last input of the filters, oldest first, before the block at hand.
	up   [2*halfSide - 1 + frameBytes]int32
	down [4*halfSide - 2 + 2*frameBytes]int32
	pcm  [2 * frameBytes]int16
	out  [datagramCap]byte
}

func newWideband() *wideband { return &wideband{enc: newG722(), dec: newG722()} }

// encode turns μ-law into as many bytes of G.722, in place.
func (w *wideband) encode(b []byte) {
	for ; len(b) > frameBytes; b = b[frameBytes:] {
		w.encodePart(b[:frameBytes])
	}
	w.encodePart(b)
}

func (w *wideband) encodePart(b []byte) {
	const past = 2*halfSide - 1
	for i, u := range b {
		w.up[past+i] = int32(ulawToPCM[u])
	}
	for i := range b {
		x := w.up[i : i+past+1] // the newest last
		w.pcm[2*i] = int16(x[halfSide-1])
		var sum int32
		for k, h := range halfBand {
			sum += h * (x[halfSide-1-k] + x[halfSide+k])
		}
		w.pcm[2*i+1] = int16(clip16(sum >> 14)) //nolint:gosec // clipped
	}
	copy(w.up[:past], w.up[len(b):])
	w.enc.encode(b, w.pcm[:2*len(b)])
}

// decode gives G.722 as μ-law, valid until the next call.
func (w *wideband) decode(b []byte) []byte {
	b = b[:min(len(b), len(w.out))]
	for at := 0; at < len(b); at += frameBytes {
		part := b[at:min(at+frameBytes, len(b))]
		w.decodePart(w.out[at:], part)
	}
	return w.out[:len(b)]
}

func (w *wideband) decodePart(dst, b []byte) {
	const past, middle = 4*halfSide - 2, 2*halfSide - 1
	n := w.dec.decode(w.pcm[:], b)
	for i, s := range w.pcm[:n] {
		w.down[past+i] = int32(s)
	}
	for i := range b {
		x := w.down[2*i : 2*i+past+1]
		sum := x[middle] << 14
		for k, h := range halfBand {
			sum += h * (x[middle-1-2*k] + x[middle+1+2*k])
		}
		dst[i] = encodeUlaw(int16(clip16(sum >> 15))) //nolint:gosec // clipped
	}
	copy(w.down[:past], w.down[n:])
}
