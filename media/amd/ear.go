package amd

import "math"

// ear is the analysis of one frame.
type ear struct {
	// High-pass filter against hum and DC offset.
	x1, y1 float32
	past   [2 * pitchSamples]float32 // the last 40 ms
	power  [bins]float32

	frames int
	floor  float64 // tracked noise, dBFS
	minima [8]float64
	minAt  int
	empty  int // consecutive frames without any sound

	level     float64            // of the frame, dBFS
	lost      bool               // digital silence caused by packet loss
	hz, share float64            // of the strongest tone
	double    bool               // two lines
	pair      bool               // a dual tone of call progress
	pitch     float64            // Hz
	voiced    float64            // periodicity, 0…1
	bands     [bandCount]float64 // power of the frame in dB
	flatness  float64            // of the spectrum, dB
	flux      float64            // change of the bands, dB
}

const (
	// quietest is the level below which nothing is speech, in dBFS.
	quietest = -54
	// digital is the level below which a frame is no recording, in dBFS.
	digital = -75
	// emptyLine is how many such frames are a quiet line rather than a loss.
	emptyLine = 4
)

func (e *ear) reset() {
	for i := range e.minima {
		e.minima[i] = 0 // full scale: no minimum yet
	}
	e.level = -90
}

// hear analyses FrameSamples samples; other lengths are silence.
func (e *ear) hear(frame []int16) {
	e.pair, e.pitch, e.voiced, e.flux = false, 0, 0, 0
	if e.hearTones(frame); e.level <= quietest {
		return
	}
	if e.share > 0.5 && e.hz < 660 {
		e.pair = progressPair(&e.past)
	}
	if e.level < e.floor+4 {
		return
	}
	e.pitch, e.voiced = pitch(&e.past)
	e.shape()
}

// hearTones analyses what shows the tones of a frame: level, noise and spectrum.
func (e *ear) hearTones(frame []int16) {
	e.frames++
	copy(e.past[:], e.past[FrameSamples:])
	x := e.past[FrameSamples:]
	var energy float32
	if len(frame) == FrameSamples {
		for i, s := range frame {
			in := float32(s) / 32768
			e.y1 = in - e.x1 + 0.94*e.y1
			e.x1 = in
			x[i] = e.y1
			energy += e.y1 * e.y1
		}
	} else {
		clear(x)
	}
	const silence = 1e-9
	e.level = 10 * math.Log10(float64(energy)/FrameSamples+silence)
	e.lost = e.level < digital
	e.track(e.level)
	e.hz, e.share, e.double = 0, 0, false
	if e.level <= digital {
		return
	}
	spectrum((*[windowSamples]float32)(e.past[2*pitchSamples-windowSamples:]), &e.power)
	if e.level <= quietest {
		return
	}
	e.hz, e.share, e.double = loudTone(&e.power, math.Pow(10, (e.floor-5)/10)/windowPower)
}

// shape describes the spectrum.
//
//go:norace
func (e *ear) shape() {
	var total, logs float64
	var now [bandCount]float64
	for b := range bandCount {
		var sum float32
		for _, p := range e.power[bandEdges[b]:bandEdges[b+1]] {
			sum += p
		}
		now[b] = float64(sum) + 1e-9
		total += now[b]
	}
	for b := range now {
		db := 10 * math.Log10(now[b]/total)
		e.flux += math.Abs(db - e.bands[b])
		e.bands[b] = db
		logs += db
	}
	e.flux /= bandCount
	e.flatness = logs/bandCount + 10*math.Log10(bandCount)
}

// track follows the noise: the minimum of the last four seconds, or of the whole call if it is
// shorter.
func (e *ear) track(level float64) {
	if level >= digital {
		e.empty = 0
	} else if e.empty++; e.empty < emptyLine {
		level = 0 // lost frames do not show the noise
	}
	i := e.minAt
	e.minima[i] = math.Min(e.minima[i], level)
	if e.frames%25 == 0 {
		e.minAt = (i + 1) % len(e.minima)
		e.minima[e.minAt] = level
	}
	lowest := e.minima[0]
	for _, m := range e.minima[1:] {
		lowest = math.Min(lowest, m)
	}
	// The minimum is below the mean of the noise. A call that begins with speech has its first dip
	// between two words.
	e.floor = math.Max(lowest+4, -66)
	if lowest == 0 {
		e.floor = -66
	}
}
