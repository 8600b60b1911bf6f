package media

import (
	"math"

	"dialler/media/g711"
)

const (
	// pastFrames is how much of what was heard is kept for concealment: 60 ms.
	pastFrames = 3
	pastBytes  = pastFrames * frameBytes
	// Pitch of speech: 50 to 200 Hz.
	pitchLeast, pitchMost = 40, 160
	// A loss is concealed for 60 ms: the first 10 ms at full level, then fading.
	fadeFrom, fadeTo = 80, 480
	// joinSamples is over how many samples what was made up passes into what
	// is heard again: 4 ms.
	joinSamples = 32
)

// past is what was heard last, as it came, and what is made of it after a loss:
// its last period of pitch again and again, fading. It costs a copy a frame as
// long as nothing is lost.
type past struct {
	law   codec
	valid int // bytes at the end of heard
	heard [pastBytes]byte

	made   int // samples made up since the loss began; 0: none
	pitch  int
	level  float64 // the step at the seam, which is smoothed out
	source [pastBytes]int16
}

// keep takes a frame that was heard.
func (p *past) keep(frame []byte, law codec) {
	if law != p.law {
		p.law, p.valid = law, 0
	}
	copy(p.heard[:], p.heard[frameBytes:])
	copy(p.heard[pastBytes-frameBytes:], frame)
	p.valid = min(p.valid+frameBytes, pastBytes)
}

func (p *past) table() *[256]int16 {
	if p.law == codecAlaw {
		return &alawToPCM
	}
	return &ulawToPCM
}

// begin finds the pitch of what was heard last.
func (p *past) begin() {
	table := p.table()
	for i, b := range p.heard {
		p.source[i] = table[b]
	}
	clear(p.source[:pastBytes-p.valid])
	const end, window = pastBytes, 160
	best := 0.0
	p.pitch = pitchLeast
	at := func(lag, step int) (c, e float64) {
		for i := end - window; i < end; i += step {
			x, y := float64(p.source[i]), float64(p.source[i-lag])
			c += x * y
			e += y * y
		}
		return c, e
	}
	score := func(lag, step int) float64 {
		c, e := at(lag, step)
		if c <= 0 || e == 0 {
			return 0
		}
		return c / math.Sqrt(e)
	}
	for lag := pitchLeast; lag <= pitchMost; lag += 2 {
		if s := score(lag, 2); s > best {
			best, p.pitch = s, lag
		}
	}
	best = 0
	for lag, last := max(p.pitch-2, pitchLeast), min(p.pitch+2, pitchMost); lag <= last; lag++ {
		if s := score(lag, 1); s > best {
			best, p.pitch = s, lag
		}
	}
	p.level = float64(p.source[end-1]) - float64(p.source[end-1-p.pitch])
}

// sample makes up the next sample.
func (p *past) sample() int16 {
	i := p.made
	p.made++
	if i >= fadeTo {
		return 0
	}
	v := float64(p.source[pastBytes-p.pitch+i%p.pitch])
	if i < 16 {
		v += p.level * (1 - float64(i)/16)
	}
	if i > fadeFrom {
		v *= float64(fadeTo-i) / (fadeTo - fadeFrom)
	}
	return int16(min(max(v, -32768), 32767))
}

// lose makes up a frame in μ-law; false: it would be silence.
func (p *past) lose(frame []byte) bool {
	if p.valid < 2*frameBytes || p.made >= fadeTo {
		return false
	}
	if p.made == 0 {
		p.begin()
	}
	for i := range frame {
		frame[i] = g711.ToUlaw(p.sample())
	}
	return true
}

// join lets the first samples that are heard again begin as what was made up
// would go on.
func (p *past) join(b []byte, law codec) {
	if p.made == 0 {
		return
	}
	table, encode := &ulawToPCM, g711.ToUlaw
	if law == codecAlaw {
		table, encode = &alawToPCM, g711.ToAlaw
	}
	for i := range min(joinSamples, len(b)) {
		w := float64(i+1) / (joinSamples + 1)
		b[i] = encode(int16(w*float64(table[b[i]]) + (1-w)*float64(p.sample())))
	}
	p.made = 0
}
