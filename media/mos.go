package media

import (
	"math"
	"time"

	"dialler/media/codec"
)

// The mean opinion score of what one side heard, by a shortened E-model (ITU-T G.107) with default
// values foreverything that is not measured:
//
//	R   = 93.2 − Id − Ie,eff
//	Id  = 0.024·d + 0.11·(d − 177.3)⁺, d the one-way delay in ms
//	Ie,eff = Ie + (95 − Ie)·Ppl / (Ppl + Bpl), Ppl the loss in per cent
//	MOS = 1 + 0.035·R + 7·10⁻⁶·R·(R − 60)·(100 − R), in 1 … 4.5
//
// Losses are assumed to be random (BurstR 1). d is half the round trip, 20 ms for a packet, and
// twice the jitter, at most 60 ms, for the jitter buffer; without a measured round trip that part
// is left out. G.711 with concealment has Ie 0 and Bpl 25.1 (G.113 appendix I). G.722 has no such
// row for an 8 kHz listener: Ie 4, for transcoding, and Bpl 15 are our own values.
func opinion(c codec.Codec, loss float64, roundTrip, jitter time.Duration) float64 {
	ie, bpl := 0.0, 25.1
	if c == codec.G722 {
		ie, bpl = 4, 15
	}
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	d := ms(roundTrip)/2 + 20 + min(2*ms(jitter), 60)
	ppl := 100 * min(max(loss, 0), 1)
	r := 93.2 - 0.024*d - 0.11*max(d-177.3, 0) - ie - (95-ie)*ppl/(ppl+bpl)
	mos := 1 + 0.035*r + 7e-6*r*(r-60)*(100-r)
	return math.Round(100*min(max(mos, 1), 4.5)) / 100
}
