package amd

import "math"

// A frame is analysed through a Hann window over its last 32 ms: 129 powers, 31.25 Hz apart.
const (
	windowSamples = 256
	binHz         = float64(rate) / windowSamples
	bins          = windowSamples/2 + 1
)

var (
	window  [windowSamples]float32
	twiddle [windowSamples / 2]complex64 // exp(-2πi k / 256)
	reverse [windowSamples / 2]uint8
	// windowPower converts the sum of the powers to a mean square.
	windowPower float64
)

func init() {
	var sum float64
	for i := range window {
		w := 0.5 - 0.5*math.Cos(2*math.Pi*(float64(i)+0.5)/windowSamples)
		window[i] = float32(w)
		sum += w * w
	}
	windowPower = 2 / (windowSamples * sum)
	for k := range twiddle {
		s, c := math.Sincos(-2 * math.Pi * float64(k) / windowSamples)
		twiddle[k] = complex(float32(c), float32(s))
	}
	for i := range reverse {
		r := 0
		for b := range 7 {
			r |= i >> b & 1 << (6 - b)
		}
		reverse[i] = uint8(r)
	}
}

// spectrum gives the powers of x: a complex transform of half the length over
// pairs of samples, taken apart afterwards.
//
//go:norace
func spectrum(x *[windowSamples]float32, power *[bins]float32) {
	const half = windowSamples / 2
	var z [half]complex64
	for i := range z {
		z[reverse[i]] = complex(x[2*i]*window[2*i], x[2*i+1]*window[2*i+1])
	}
	for size := 2; size <= half; size *= 2 {
		step := windowSamples / size
		for at := 0; at < half; at += size {
			for k := range size / 2 {
				a, b := z[at+k], z[at+k+size/2]
				w := twiddle[k*step]
				// Written out, because the compiler's complex product checks for infinities.
				b = complex(real(b)*real(w)-imag(b)*imag(w), real(b)*imag(w)+imag(b)*real(w))
				z[at+k], z[at+k+size/2] = a+b, a-b
			}
		}
	}
	dc := real(z[0])
	ny := imag(z[0])
	power[0], power[half] = (dc+ny)*(dc+ny), (dc-ny)*(dc-ny)
	for k := 1; k < half; k++ {
		a, b := z[k], z[half-k]
		even := complex((real(a)+real(b))/2, (imag(a)-imag(b))/2)
		odd := complex((imag(a)+imag(b))/2, (real(b)-real(a))/2)
		w := twiddle[k]
		re := real(even) + real(odd)*real(w) - imag(odd)*imag(w)
		im := imag(even) + real(odd)*imag(w) + imag(odd)*real(w)
		power[k] = re*re + im*im
	}
}

// bandEdges are the edges of the bands that describe a voice, in bins: roughly even on the mel
// scale within the telephone band.
var bandEdges = [bandCount + 1]int{6, 12, 19, 27, 38, 53, 74, 109}

const bandCount = 7

// Pitch is sought between 65 and 400 Hz, at half the rate.
const (
	pitchSamples = 160
	lagMin       = 10
	lagMax       = 62
)

// pitch gives the fundamental frequency of the last 40 ms, and how periodic
// they are, 0…1.
//
//go:norace
func pitch(x *[2 * pitchSamples]float32) (hz, periodicity float64) {
	var y [pitchSamples]float32
	for i := range y {
		y[i] = x[2*i] + x[2*i+1]
	}
	const span = pitchSamples - lagMax
	var head float32
	for _, v := range y[:span] {
		head += v * v
	}
	if head == 0 {
		return 0, 0
	}
	tail := float32(0)
	for _, v := range y[lagMin-1 : lagMin-1+span] {
		tail += v * v
	}
	var r [lagMax + 1]float32
	best, at := float32(0), 0
	for lag := lagMin; lag <= lagMax; lag++ {
		tail += y[lag+span-1]*y[lag+span-1] - y[lag-1]*y[lag-1]
		var sum float32
		shifted := y[lag : lag+span]
		for i, v := range y[:span] {
			sum += v * shifted[i]
		}
		if sum <= 0 || tail <= 0 {
			continue
		}
		r[lag] = sum * sum / (head * tail)
		// Multiples of a period match as well: the shortest wins unless a longer one is clearly
		// better.
		if r[lag] > best*1.12 || r[lag] > best && lag-at <= 2 {
			best, at = r[lag], lag
		}
	}
	if at == 0 {
		return 0, 0
	}
	lag := float64(at)
	if at > lagMin && at < lagMax {
		a, b, c := float64(r[at-1]), float64(r[at]), float64(r[at+1]) //nolint:gosec // between lagMin and lagMax
		if d := a - 2*b + c; d < 0 {
			lag += math.Max(-0.5, math.Min(0.5, (a-c)/(2*d)))
		}
	}
	return rate / 2 / lag, math.Sqrt(float64(min(best, 1)))
}
