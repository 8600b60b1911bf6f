package amd

import "math"

const rate = 8000

// goertzel gives the power of one frequency in x, scaled so that a sine of
// that frequency alone gives the energy of x. coeff is 2*cos(2π f / rate).
//
//go:norace
func goertzel(x []float32, coeff float32) float32 {
	var s1, s2 float32
	for _, v := range x {
		s1, s2 = v+coeff*s1-s2, s1
	}
	return (s1*s1 + s2*s2 - coeff*s1*s2) * 2 / float32(len(x))
}

func coefficient(hz float64) float32 { return float32(2 * math.Cos(2*math.Pi*hz/rate)) }

// loudTone looks for one sine, or two: the highest lines of the spectrum and
// the share of the power around them. It needs no list of frequencies, which
// beeps do not keep to. hz is that of the lower one. noise is the power to
// leave out of the account.
//
//go:norace
func loudTone(power *[bins]float32, noise float64) (hz, share float64, double bool) {
	var total float64
	for k := 3; k < bins-1; k++ {
		total += float64(power[k])
	}
	if total <= 0 {
		return 0, 0, false
	}
	total = math.Max(total-noise, 0.7*total)
	at, first := strongest(power, -9)
	share = math.Min(1, first/total)
	if at < 0 || share >= toneShare {
		return frequency(power, at), share, false
	}
	and, second := strongest(power, at)
	if second < pairEach*first || (first+second)/total < doubleShare {
		return frequency(power, at), share, false
	}
	return frequency(power, min(at, and)), math.Min(1, (first+second)/total), true
}

// strongest gives the highest line between 312 and 3400 Hz that does not lie
// around but, and the power around it.
//
//go:norace
func strongest(power *[bins]float32, but int) (at int, sum float64) {
	at = -1
	for k := 10; k <= 109; k++ {
		if (k < but-3 || k > but+3) && power[k] >= power[k-1] && power[k] > power[k+1] && (at < 0 || power[k] > power[at]) {
			at = k
		}
	}
	if at < 0 {
		return at, 0
	}
	for k := at - 2; k <= at+2; k++ {
		sum += float64(power[k])
	}
	return at, sum
}

// frequency returns the frequency of the line at a bin, interpolated from its neighbours.
func frequency(power *[bins]float32, at int) float64 {
	if at < 0 {
		return 0
	}
	a, b, c := math.Log(float64(power[at-1])+1e-30), math.Log(float64(power[at])+1e-30), math.Log(float64(power[at+1])+
		1e-30)
	off := 0.0
	if d := a - 2*b + c; d < 0 {
		off = math.Max(-0.5, math.Min(0.5, (a-c)/(2*d)))
	}
	return (float64(at) + off) * binHz
}

// progressPairs are the dual tones of call progress: ringback and busy of
// North America, ringback of the United Kingdom, dial tone.
var progressPairs = [][2]float32{
	{coefficient(440), coefficient(480)},
	{coefficient(480), coefficient(620)},
	{coefficient(350), coefficient(440)},
	{coefficient(400), coefficient(450)},
}

const (
	pairShare = 0.75 // of the energy in both
	pairEach  = 0.15 // and in the weaker one
)

// progressPair says whether x is one of the pairs.
//
//go:norace
func progressPair(x *[2 * pitchSamples]float32) bool {
	var energy float32
	for _, v := range x {
		energy += v * v
	}
	for _, p := range progressPairs {
		a, b := goertzel(x[:], p[0]), goertzel(x[:], p[1])
		if a+b > pairShare*energy && min(a, b) > pairEach*energy {
			return true
		}
	}
	return false
}

// segment is one tone from beginning to end.
type segment struct {
	start, frames int // frame of the call; number of frames
	solid         int // frames of its longest part without other sounds
	hz            float64
	share         float64 // mean purity
	level         float64 // mean, dBFS
	wobble        float64 // mean deviation from its level, dB
	glide         float64 // mean deviation from its frequency, Hz
	edge          float64 // deviation of the last frame
	pair          bool
	double        bool // two lines of any frequencies
	before        int  // silent frames before it
	spoken        bool // speech was heard before it
	heard         bool // something like speech was heard
	settled       bool // it has been classified
}

const (
	toneShare   = 0.80 // of a frame's power
	doubleShare = 0.85 // of a frame's power in two lines
	fade        = 9.0  // dB below its mean, at which a tone has ended
	toneMin     = 3    // frames: 70 ms fill that many windows
	toneParted  = 5    // frames of other sound that do not end a tone
	toneGap     = 3    // missing frames that do not end a tone: packet loss
	sitPause    = 5    // maximum frames between two tones of a SIT
)

// tracker follows tones from frame to frame.
type tracker struct {
	now   segment // that sounds
	gap   int     // frames since its last tonal one
	other float64 // the other frequency of the last frame, in Hz
	last  [6]segment
	n     int // tones so far
}

func drift(hz float64) float64 { return math.Max(14, 0.015*hz) }

// feed processes a frame; it reports whether a tone ended with it.
func (t *tracker) feed(frame int, tonal, pair, double bool, hz, share, level float64, before int, spoken,
	heard bool) bool {
	s := &t.now
	if tonal && t.fading(frame, hz, level) {
		tonal, pair = false, false
	}
	if tonal && s.frames > 0 && s.pair == pair && (pair || math.Abs(hz-s.hz) <= drift(s.hz)) {
		s.frames += t.gap + 1
		t.gap, t.other = 0, 0
		if s.frames <= 2+toneGap && s.glide == 0 && s.edge == 0 {
			// The tone did not fill the first frame's window.
			s.hz, s.share, s.level, s.edge = hz, share, level, 1e-9
			return false
		}
		w := 1 / math.Min(float64(s.frames), 10)
		s.glide += (s.edge - s.glide) * w // nor the last one's
		s.edge = math.Abs(hz - s.hz)
		s.hz += (hz - s.hz) * w
		s.share += (share - s.share) * w
		s.wobble += (math.Abs(level-s.level) - s.wobble) * w
		s.level += (level - s.level) * w
		return false
	}
	// A lost packet, or a phase reversal, does not end a tone. A frame of another frequency may:
	// two of them are another tone.
	ended, begin := false, frame
	if s.frames > 0 {
		t.gap++
		another := tonal && t.other > 0 && math.Abs(hz-t.other) <= drift(hz)
		t.other = hz
		if !tonal {
			t.other = 0
		}
		if t.gap <= toneGap && !another {
			return false
		}
		ended = t.end()
		if another {
			begin--
		}
	}
	if tonal {
		t.now = segment{start: begin, frames: frame - begin + 1, hz: hz, share: share, level: level, pair: pair,
			double: double, before: before, spoken: spoken, heard: heard}
		t.gap = 0
	}
	return ended
}

// goesOn says that next is the same tone.
func (s *segment) goesOn(next *segment) bool {
	return next.start-s.start-s.frames <= toneParted && near(next.hz, s.hz, 25) &&
		(next.pair == s.pair || min(next.frames, s.frames) < 8)
}

// note says that it holds its frequency as an instrument does.
func (s *segment) note() bool { return s.frames >= 5 && s.glide < 1.4 && s.share > 0.85 }

// cadent says that it is as pure as repeating tones.
func (s *segment) cadent() bool { return s.glide < 2.2 && s.wobble < 3 && s.share > 0.9 }

// afterglow says that a pure tone has just ended and the frame is quieter, as its reverberation is.
func (t *tracker) afterglow(frame int, level float64) bool {
	o := &t.last[0]
	return t.n > 0 && t.now.frames == 0 && o.note() && frame-o.start-o.frames < 15 && level < o.level-fade/2
}

// steady says that the current tone has held its frequency so far.
func (s *segment) steady() bool { return s.frames > toneMin && s.glide < 2.5 && s.edge < 5 }

// fading says that it is the reverberation of a tone that ended.
func (t *tracker) fading(frame int, hz, level float64) bool {
	if t.now.frames > 0 {
		return t.now.frames >= toneMin && level < t.now.level-fade
	}
	o := &t.last[0]
	return t.n > 0 && frame-o.start-o.frames < 20 && near(hz, o.hz, 2*drift(hz)) && level < o.level-fade
}

func (t *tracker) end() bool {
	long := t.now.frames >= toneMin
	if long && t.n > 0 && t.last[0].goesOn(&t.now) {
		// Frames repeated to conceal a loss had split it.
		o, n := &t.last[0], t.now
		frames := n.start + n.frames - o.start
		if n.frames > o.frames {
			o.hz, o.share, o.wobble, o.glide, o.edge, o.double, o.pair =
				n.hz, n.share, n.wobble, n.glide, n.edge, n.double, n.pair
		}
		o.frames, o.solid, o.settled = frames, max(o.solid, n.frames), false
	} else if long {
		t.now.solid = t.now.frames
		copy(t.last[1:], t.last[:])
		t.last[0] = t.now
		t.n++
	}
	t.now, t.gap, t.other = segment{}, 0, 0
	return long
}

// sounding returns how many frames the current tone has lasted.
func (t *tracker) sounding() int { return t.now.frames }

// sit says that the third of the special information tones is sounding (ITU-T E.180, and Bellcore's
// frequencies).
func (t *tracker) sit() bool {
	if t.n < 2 || t.now.pair || t.now.frames < 6 || !near(t.now.hz, 1790, 75) {
		return false
	}
	second, first := &t.last[0], &t.last[1]
	return near(first.hz, 950, 62) && near(second.hz, 1400, 62) && first.frames >= 6 && second.frames >= 6 &&
		second.start-(first.start+first.frames) <= sitPause && t.now.start-(second.start+second.frames) <= sitPause
}

func near(hz, want, within float64) bool { return math.Abs(hz-want) <= within }
