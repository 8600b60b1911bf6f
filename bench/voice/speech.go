package voice

import (
	"math"
	"math/rand/v2"
	"time"
)

// formants are rough centre frequencies of vowels, in Hz.
var formants = [][3]float64{
	{730, 1090, 2440}, // a
	{270, 2290, 3010}, // i
	{300, 870, 2240},  // u
	{530, 1840, 2480}, // e
	{570, 840, 2410},  // o
	{490, 1350, 1690}, // r
}

// resonator is a two-pole filter with unity gain at its centre.
type resonator struct{ a1, a2, gain, y1, y2 float64 }

func (f *resonator) tune(hz, bandwidth float64) {
	r := math.Exp(-math.Pi * bandwidth / Rate)
	w := 2 * math.Pi * hz / Rate
	f.a1, f.a2 = 2*r*math.Cos(w), -r*r
	f.gain = (1 - r) * math.Sqrt(1-2*r*math.Cos(2*w)+r*r)
}

func (f *resonator) step(x float64) float64 {
	y := f.gain*x + f.a1*f.y1 + f.a2*f.y2
	f.y2, f.y1 = f.y1, y
	return y
}

// speech fills out with syllables that follow each other without a pause
// longer than a breath. The loudest syllable peaks at speechLevel.
func speech(r *rand.Rand, out []int16, pitch float64) {
	var bank [3]resonator
	phase, at := 0.0, 0
	for at < len(out) {
		n := min(len(out)-at, Rate*(110+r.IntN(110))/1000)
		if len(out)-at-n < Rate*60/1000 {
			n = len(out) - at
		}
		vowel := formants[r.IntN(len(formants))]
		for i := range bank {
			bank[i].tune(vowel[i]*(0.95+0.1*r.Float64()), 60+40*float64(i))
		}
		onset := n * r.IntN(30) / 100 // fricative at the head of the syllable
		glide := 0.9 + 0.2*r.Float64()
		peak := speechLevel * (0.6 + 0.4*r.Float64())
		seg := make([]float64, n)
		top := 1e-9
		for i := range seg {
			frac := float64(i) / float64(n)
			phase += pitch * (1 + (glide-1)*frac) * (1 + 0.01*r.NormFloat64()) / Rate
			src := 0.02 * r.NormFloat64()
			if phase >= 1 {
				phase--
				src++
			}
			var y float64
			if i < onset {
				y = 0.02 * r.NormFloat64()
			} else {
				y = bank[0].step(src) + 0.5*bank[1].step(src) + 0.25*bank[2].step(src)
			}
			// The envelope never falls to zero inside a word.
			y *= 0.12 + 0.88*math.Pow(math.Sin(math.Pi*frac), 0.6)
			seg[i] = y
			top = max(top, math.Abs(y))
		}
		for i, y := range seg {
			out[at+i] = clip16(y / top * peak)
		}
		at += n
	}
	fade(out)
}

// fade removes the clicks at both ends.
func fade(out []int16) {
	n := min(len(out)/2, Rate/100)
	for i := range n {
		g := float64(i) / float64(n)
		out[i] = int16(g * float64(out[i]))
		out[len(out)-1-i] = int16(g * float64(out[len(out)-1-i]))
	}
}

func clip16(v float64) int16 {
	return int16(max(-32768, min(32767, math.Round(v))))
}

// noise adds line noise to the whole signal.
func noise(r *rand.Rand, out []int16) {
	for i := range out {
		out[i] = clip16(float64(out[i]) + lineNoise*r.NormFloat64())
	}
}

// samples converts a length of time.
func samples(d time.Duration) int { return int(d * Rate / time.Second) }

func between(r *rand.Rand, lo, hi time.Duration) int {
	return samples(lo + time.Duration(r.Int64N(int64(hi-lo)+1)))
}
