package corpus

import (
	"math"
	"math/rand/v2"

	"dialler/media/wav"
)

// Impairment is what happens to a recording in transit. Zero fields change nothing.
type Impairment struct {
	Speed    float64 // 1.1 is a tenth faster and higher
	Onset    int     // ms of line noise before it, or cut off its beginning
	Reverb   float64 // s until it has fallen by 60 dB
	Noise    string  // hiss, babble, street, hum
	SNR      float64 // dB, of the loud parts above the noise
	Level    float64 // dBFS of the loud parts, 0 leaves it unchanged
	Offset   float64 // of full scale, DC offset
	Clip     float64 // dB beyond full scale
	Codec    string  // ulaw, alaw, gsm
	Loss     float64 // share of 20 ms frames
	LossMode string  // zero, repeat
	Seed     uint64
}

// Random draws an impairment typical of calls.
func Random(r *rand.Rand) Impairment {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	m := Impairment{
		Speed: 0.9 + 0.2*r.Float64(), Onset: r.IntN(700) - 200, Level: -36 + 28*r.Float64(),
		Noise: pick("hiss", "hiss", "hiss", "", "", "street", "hum", "babble"), SNR: 6 + 36*r.Float64(),
		Codec: pick("ulaw", "alaw", "gsm"), LossMode: pick("zero", "repeat"), Seed: r.Uint64(),
	}
	switch r.IntN(12) {
	case 0:
		m.Level = -40 + 4*r.Float64()
	case 1:
		m.Level = -6 + 3*r.Float64()
	case 2:
		m.Clip = 12 * r.Float64()
	case 3:
		m.Offset = 0.06*r.Float64() - 0.03
	}
	if r.IntN(4) == 0 {
		m.Reverb = 0.1 + 0.4*r.Float64()
	}
	if r.IntN(3) == 0 {
		m.Loss = 0.1 * r.Float64() * r.Float64()
	}
	return m
}

// Apply gives a new recording.
//
//go:norace
func (m Impairment) Apply(in []int16) []int16 {
	r := rand.New(rand.NewPCG(m.Seed, 7)) //nolint:gosec // reproducible, no secret
	x := make([]float64, len(in))
	for i, v := range in {
		x[i] = float64(v) / 32768
	}
	x = m.onset(m.speed(x))
	loud := loudness(x)
	if loud == 0 {
		loud = 0.01
	}
	if m.Reverb > 0 {
		room(x, m.Reverb, r)
	}
	if m.Noise != "" {
		noise := noiseOf(m.Noise, len(x), r)
		gain := loud * math.Pow(10, -m.SNR/20) / math.Max(1e-9, rms(noise))
		for i := range x {
			x[i] += gain * noise[i]
		}
	}
	gain := 1.0
	if m.Level != 0 {
		gain = math.Pow(10, m.Level/20) / loud
	}
	if m.Clip > 0 {
		gain = math.Pow(10, m.Clip/20) / math.Max(1e-6, peak(x))
	}
	out := make([]int16, len(x))
	for i, v := range x {
		out[i] = clip((v*gain + m.Offset) * 32767)
	}
	switch m.Codec {
	case "ulaw":
		trip(out, ulawTrip)
	case "alaw":
		trip(out, alawTrip)
	case "gsm":
		gsm(out)
		trip(out, ulawTrip)
	}
	m.lose(out, r)
	return out
}

//go:norace
func (m Impairment) speed(x []float64) []float64 {
	if m.Speed == 0 || m.Speed == 1 || len(x) < 2 {
		return x
	}
	out := make([]float64, int(float64(len(x)-1)/m.Speed))
	for i := range out {
		at := float64(i) * m.Speed
		k := int(at)
		out[i] = x[k] + (x[min(k+1, len(x)-1)]-x[k])*(at-float64(k))
	}
	return out
}

// onset prepends line noise, made of the first samples forwards and backwards, or cuts.
func (m Impairment) onset(x []float64) []float64 {
	n := m.Onset * wav.Rate / 1000
	if n <= 0 {
		quiet := 0 // cut only the quiet part
		for quiet+80 < len(x) && peak(x[quiet:quiet+80]) < 0.003 {
			quiet += 80
		}
		return x[min(-n, quiet):]
	}
	out := make([]float64, 0, n+len(x))
	line := x[:min(len(x), 400)]
	if peak(line) < 0.02 && len(line) > 0 {
		for k := range n {
			at := k % (2 * len(line))
			if at >= len(line) {
				at = 2*len(line) - 1 - at
			}
			out = append(out, line[at])
		}
	} else {
		out = out[:n]
	}
	return append(out, x...)
}

func (m Impairment) lose(x []int16, r *rand.Rand) {
	const frame = wav.Rate / 50
	for at := 0; at+frame <= len(x); at += frame {
		if r.Float64() >= m.Loss {
			continue
		}
		if m.LossMode == "repeat" && at >= frame {
			copy(x[at:at+frame], x[at-frame:at])
			continue
		}
		clear(x[at : at+frame])
	}
}

//go:norace
func rms(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	return math.Sqrt(sum / math.Max(1, float64(len(x))))
}

//go:norace
func peak(x []float64) float64 {
	p := 0.0
	for _, v := range x {
		p = math.Max(p, math.Abs(v))
	}
	return p
}

// loudness is the level of the parts that are not much below the loudest.
//
//go:norace
func loudness(x []float64) float64 {
	const part = 160
	loudest := 0.0
	for at := 0; at+part <= len(x); at += part {
		loudest = math.Max(loudest, rms(x[at:at+part]))
	}
	sum, n := 0.0, 0.0
	for at := 0; at+part <= len(x); at += part {
		if l := rms(x[at : at+part]); l > loudest/10 {
			sum += l * l
			n++
		}
	}
	return math.Sqrt(sum / math.Max(1, n))
}

// room adds a few early reflections and a decaying tail.
//
//go:norace
func room(x []float64, seconds float64, r *rand.Rand) {
	type tap struct {
		lag  int
		gain float64
	}
	taps := make([]tap, 24)
	for i := range taps {
		lag := 40 + r.IntN(int(seconds*0.6*wav.Rate))
		taps[i] = tap{lag, (2*r.Float64() - 1) * 0.5 * math.Pow(10, -3*float64(lag)/wav.Rate/seconds)}
	}
	dry := append([]float64(nil), x...)
	for _, t := range taps {
		for i := t.lag; i < len(x); i++ {
			x[i] += t.gain * dry[i-t.lag]
		}
	}
}

// noiseOf makes n samples of a noise.
//
//go:norace
func noiseOf(kind string, n int, r *rand.Rand) []float64 {
	x := make([]float64, n)
	switch kind {
	case "hiss":
		for i := range x {
			x[i] = r.NormFloat64()
		}
	case "hum":
		hz := 50 + 10*float64(r.IntN(2))
		for i := range x {
			at := 2 * math.Pi * hz * float64(i) / wav.Rate
			x[i] = math.Sin(at) + 0.5*math.Sin(3*at) + 0.3*math.Sin(5*at) + 0.05*r.NormFloat64()
		}
	case "street": // rumble that swells and falls
		low, swell := 0.0, 1.0
		for i := range x {
			if i%800 == 0 {
				swell = math.Max(0.3, math.Min(2, swell*math.Exp(0.25*r.NormFloat64())))
			}
			low += 0.15 * (r.NormFloat64() - low)
			x[i] = swell * (low + 0.1*r.NormFloat64())
		}
	case "babble": // unintelligible voices
		for range 7 {
			speaker(x, r)
		}
	}
	return x
}

// speaker adds a voice of buzz and formants, in syllables.
//
//go:norace
func speaker(x []float64, r *rand.Rand) {
	f0, phase, gain, want := 90+140*r.Float64(), 0.0, 0.0, 0.0
	var y1, y2 float64
	a1, a2 := 0.0, 0.0
	for i := range x {
		if i%1200 == 0 {
			want = math.Max(0, 0.3+0.7*r.NormFloat64())
			formant := 400 + 1400*r.Float64()
			a1, a2 = 2*0.95*math.Cos(2*math.Pi*formant/wav.Rate), -0.95*0.95
		}
		gain += (want - gain) * 0.003
		phase += f0 * (1 + 0.1*math.Sin(float64(i)/3000)) / wav.Rate
		pulse := 0.02 * r.NormFloat64()
		if phase >= 1 {
			phase--
			pulse++
		}
		y := pulse + a1*y1 + a2*y2
		y2, y1 = y1, y
		x[i] += gain * y
	}
}

// gsm does to x what GSM full rate does, about: prediction of order eight, and
// a residual of which every third sample is kept, with three bits.
//
//go:norace
func gsm(x []int16) {
	const frame, order, sub = 160, 8, 40
	var inPast, outPast [order]float64
	for at := 0; at+frame <= len(x); at += frame {
		a := predictor(x[at : at+frame])
		var residual [frame]float64
		for i := range residual {
			v := float64(x[at+i])
			p := 0.0
			for k, c := range a {
				p += c * inPast[k]
			}
			residual[i] = v - p
			copy(inPast[1:], inPast[:])
			inPast[0] = v
		}
		for s := 0; s < frame; s += sub {
			grid(residual[s : s+sub])
		}
		for i, e := range residual {
			p := e
			for k, c := range a {
				p += c * outPast[k]
			}
			p = math.Max(-32768, math.Min(32767, p))
			copy(outPast[1:], outPast[:])
			outPast[0] = p
			x[at+i] = clip(p)
		}
	}
}

// grid keeps the strongest third of e, quantised.
//
//go:norace
func grid(e []float64) {
	best, from, top := -1.0, 0, 0.0
	for g := range 3 {
		sum, high := 0.0, 0.0
		for i := g; i < len(e); i += 3 {
			sum += e[i] * e[i]
			high = math.Max(high, math.Abs(e[i]))
		}
		if sum > best {
			best, from, top = sum, g, high
		}
	}
	for i, v := range e {
		if i%3 != from || top == 0 {
			e[i] = 0
			continue
		}
		q := math.Floor(v/top*4) + 0.5
		e[i] = 1.6 * math.Max(-3.5, math.Min(3.5, q)) / 4 * top
	}
}

// predictor is the linear prediction of x (Levinson and Durbin), damped.
//
//go:norace
func predictor(x []int16) [8]float64 {
	var r [9]float64
	for k := range r {
		for i := k; i < len(x); i++ {
			r[k] += float64(x[i]) * float64(x[i-k])
		}
	}
	var a [8]float64
	e := r[0]*1.0001 + 1
	for i := range a {
		acc := r[i+1] //nolint:gosec // there are nine
		for j := range i {
			acc -= a[j] * r[i-j] //nolint:gosec // j is below i
		}
		k := math.Max(-0.98, math.Min(0.98, acc/e))
		old := a
		a[i] = k //nolint:gosec // there are eight
		for j := range i {
			a[j] = old[j] - k*old[i-1-j] //nolint:gosec // j is below i
		}
		e *= 1 - k*k
	}
	damp := 1.0
	for i := range a {
		damp *= 0.985
		a[i] *= damp
	}
	return a
}

func clip(v float64) int16 { return int16(max(-32768, min(32767, v))) }
