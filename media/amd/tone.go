package amd

import "math"

const rate = 8000

// goertzel gives the power of one frequency in x, scaled so that a sine of
// that frequency alone gives the energy of x. coeff is 2*cos(2π f / rate).
func goertzel(x *[FrameSamples]float32, coeff float32) float32 {
	var s1, s2 float32
	for _, v := range x {
		s1, s2 = v+coeff*s1-s2, s1
	}
	return (s1*s1 + s2*s2 - coeff*s1*s2) * (2.0 / FrameSamples)
}

func coefficient(hz float64) float32 { return float32(2 * math.Cos(2*math.Pi*hz/rate)) }

// singleTone looks for one sine: the coefficient c that fits
// x[n] + x[n-2] = c·x[n-1] best (Prony's method of order two), confirmed by
// the share of the energy that lies at that frequency. It needs no list of
// frequencies, which beeps do not keep to.
func singleTone(x *[FrameSamples]float32, energy float32) (hz float64, share float32) {
	var num, den float32
	for n := 2; n < FrameSamples; n++ {
		num += x[n-1] * (x[n] + x[n-2])
		den += x[n-1] * x[n-1]
	}
	if den == 0 {
		return 0, 0
	}
	c := num / den
	if c <= -1.99 || c >= 1.99 {
		return 0, 0
	}
	return math.Acos(float64(c)/2) * rate / (2 * math.Pi), goertzel(x, c) / energy
}

// progressPairs are the dual tones of call progress (ringback and busy of
// North America, ringback of the United Kingdom).
var progressPairs = [][2]float32{
	{coefficient(440), coefficient(480)},
	{coefficient(480), coefficient(620)},
	{coefficient(350), coefficient(440)},
	{coefficient(400), coefficient(450)},
}

// pairShare is the share of the energy in the best of the pairs.
func pairShare(x *[FrameSamples]float32, energy float32) float32 {
	best := float32(0)
	for _, p := range progressPairs {
		best = max(best, goertzel(x, p[0])+goertzel(x, p[1]))
	}
	return best / energy
}

// tracker follows single tones from frame to frame.
type tracker struct {
	frames int     // of the tone that sounds now, 0 without
	gap    int     // frames since the last tonal one
	mean   float64 // its frequency, Hz
	level  float64 // dB of its last frame

	last       float64 // frequency and length of the last tone that ended
	lastFrames int
	after      int // frames since it ended
	count      int // tones so far, at least 80 ms each

	sit int // how many tones of a SIT came in a row
}

const (
	toneShare  = 0.80 // of a frame's energy
	toneDrift  = 30.0 // Hz from the mean
	toneMin    = 4    // frames, below that it is a vowel
	sitFirst   = 9    // frames of a SIT's tone at least: the short ones last 274 ms
	sitPause   = 4    // frames between two tones of a SIT at most
	fusedTones = 4    // frames between two tones of a melody
)

// feed takes a frame: its frequency, or tonal false.
func (t *tracker) feed(tonal bool, hz, level float64) {
	t.after++
	if tonal && (t.frames == 0 || math.Abs(hz-t.mean) <= toneDrift) {
		t.frames++
		t.mean += (hz - t.mean) / float64(t.frames)
		if t.frames == 1 {
			t.mean = hz
		}
		t.level, t.gap = level, 0
		return
	}
	if t.frames == 0 {
		return
	}
	if t.gap++; !tonal && t.gap == 1 {
		return // one bad frame (a lost packet, a phase reversal) is no end
	}
	t.end()
	if tonal {
		t.frames, t.mean, t.level = 1, hz, level
	}
}

func (t *tracker) end() {
	if t.frames >= toneMin {
		next := 0
		switch {
		case t.frames < sitFirst:
		case near(t.mean, 950, 60):
			next = 1
		case near(t.mean, 1400, 60) && t.sit == 1 && t.after <= t.frames+sitPause+2:
			next = 2
		}
		t.sit = next
		t.last, t.lastFrames, t.after = t.mean, t.frames, t.gap
		t.count++
	}
	t.frames, t.gap = 0, 0
}

// sitComplete: the third tone of a special information tone (ITU-T E.180)
// sounds.
func (t *tracker) sitComplete() bool {
	return t.sit == 2 && t.frames >= 6 && near(t.mean, 1790, 70)
}

func near(hz, want, within float64) bool { return math.Abs(hz-want) <= within }
