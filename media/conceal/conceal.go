package conceal

import (
	"math"

	"dialler/media/codec"
	"dialler/media/g711"
)

const (
	// Frames is how many frames of received audio are kept for concealment: 60 ms.
	Frames = 3
	Bytes  = Frames * codec.FrameBytes
	// The pitch of speech: 50 to 200 Hz.
	pitchLeast, pitchMost = 40, 160
	// A loss is concealed for 60 ms: the first 10 ms at full level, then fading.
	fadeFrom, fadeTo = 80, 480
	// JoinSamples is the number of samples over which concealment cross-fades into received audio:
	// 4 ms.
	JoinSamples = 32
)

// Past is the most recently received audio, unchanged, and the concealment made from it after a
// loss: its last pitch period repeated, fading. While nothing is lost it costs one copy per frame.
type Past struct {
	law   codec.Codec
	valid int // bytes at the end of heard
	heard [Bytes]byte

	made   int // samples made up since the loss began; 0 means no loss
	pitch  int
	level  float64 // the step at the seam, which is smoothed
	source [Bytes]int16
}

// Keep stores a received frame.
func (p *Past) Keep(frame []byte, law codec.Codec) {
	if law != p.law {
		p.law, p.valid = law, 0
	}
	copy(p.heard[:], p.heard[codec.FrameBytes:])
	copy(p.heard[Bytes-codec.FrameBytes:], frame)
	p.valid = min(p.valid+codec.FrameBytes, Bytes)
}

func (p *Past) table() *[256]int16 {
	if p.law == codec.Alaw {
		return &codec.AlawToPCM
	}
	return &codec.UlawToPCM
}

// begin finds the pitch of the last received audio.
func (p *Past) begin() {
	table := p.table()
	for i, b := range p.heard {
		p.source[i] = table[b]
	}
	clear(p.source[:Bytes-p.valid])
	const end, window = Bytes, 160
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
func (p *Past) sample() int16 {
	i := p.made
	p.made++
	if i >= fadeTo {
		return 0
	}
	v := float64(p.source[Bytes-p.pitch+i%p.pitch])
	if i < 16 {
		v += p.level * (1 - float64(i)/16)
	}
	if i > fadeFrom {
		v *= float64(fadeTo-i) / (fadeTo - fadeFrom)
	}
	return int16(min(max(v, -32768), 32767))
}

// Lose makes up a frame in μ-law; it returns false when that would be silence.
func (p *Past) Lose(frame []byte) bool {
	if p.valid < 2*codec.FrameBytes || p.made >= fadeTo {
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

// Join cross-fades the first samples received after a loss with the continuation of the made-up
// audio.
func (p *Past) Join(b []byte, law codec.Codec) {
	if p.made == 0 {
		return
	}
	table, encode := &codec.UlawToPCM, g711.ToUlaw
	if law == codec.Alaw {
		table, encode = &codec.AlawToPCM, g711.ToAlaw
	}
	for i := range min(JoinSamples, len(b)) {
		w := float64(i+1) / (JoinSamples + 1)
		b[i] = encode(int16(w*float64(table[b[i]]) + (1-w)*float64(p.sample())))
	}
	p.made = 0
}
