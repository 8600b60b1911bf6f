package amd

import (
	"math"
	"time"

	"dialler/engine"
)

// FrameSamples is 20 ms of 8 kHz audio, what Feed takes.
const FrameSamples = 160

const frameTime = 20 * time.Millisecond

// Decision is what the detector says.
type Decision struct {
	Verdict     engine.Verdict
	Confidence  float64       // 0…1
	At          time.Duration // media time of the decision
	GreetingEnd time.Duration // media time at which the greeting ended; 0 when it did not
	Features    Features
}

// Detector classifies one call. It is not safe for concurrent use.
type Detector struct {
	cfg    Config
	frames int // fed
	done   bool

	// High-pass against hum and direct current.
	x1, y1 float32
	x      [FrameSamples]float32

	floor  float64 // tracked noise, dBFS
	minima [8]float64
	minAt  int
	empty  int // frames in a row without any sound

	tones tracker

	heard     bool
	onset     int // frame of the first speech
	active    int // frames of speech
	talk      int // frames of speech and of the breaths in it
	run       int // frames of the talk-spurt that sounds, pauses under spurtPause in it
	firstRun  int
	longest   int // pause within the speech
	pause     int // frames since the last speech
	words     int
	rising    int // frames above the threshold in a row, not yet speech
	progress  int // frames of call progress tones
	peak      float64
	lastFrame int // of speech
}

const (
	// speechAbove is how far above the noise speech is, dB.
	speechAbove = 9
	// quietest is the level below which nothing is speech, dBFS.
	quietest = -48
	// speechRange is how far below its peak speech is still speech, dB.
	speechRange = 32
	// digital is the level below which a frame is no recording, dBFS.
	digital = -75
	// emptyLine is how many of them are a quiet line rather than a loss.
	emptyLine = 4
	// wordPause and spurtPause end words and talk-spurts, frames.
	wordPause  = 5
	breath     = 12
	spurtPause = 20
	// speechMin is how many frames in a row begin speech: shorter is a click.
	speechMin = 3
)

// New gives a detector for one call.
func New(cfg Config) *Detector {
	d := &Detector{cfg: cfg.withDefaults(), peak: -90}
	for i := range d.minima {
		d.minima[i] = 0 // full scale: no minimum yet
	}
	return d
}

// Features are what a decision rests on.
type Features struct {
	Onset, Speech, FirstRun, Pause, LongestPause time.Duration
	Words, Tones                                 int
	ToneHz, Floor, Peak                          float64 // Hz, dBFS, dBFS
}

// Map gives the features by name: durations in ms, levels in dBFS.
func (f Features) Map() map[string]float64 {
	ms := func(d time.Duration) float64 { return float64(d.Milliseconds()) }
	return map[string]float64{
		"onset_ms": ms(f.Onset), "speech_ms": ms(f.Speech), "first_run_ms": ms(f.FirstRun), "pause_ms": ms(f.Pause),
		"longest_pause_ms": ms(f.LongestPause), "words": float64(f.Words), "tones": float64(f.Tones),
		"tone_hz": math.Round(f.ToneHz), "floor_dbfs": math.Round(f.Floor), "peak_dbfs": math.Round(f.Peak),
	}
}

func span(frames int) time.Duration { return time.Duration(frames) * frameTime }

// Feed takes the next FrameSamples samples; ok is true once, with the
// decision. Frames of another length count as silence.
func (d *Detector) Feed(frame []int16) (Decision, bool) {
	if d.done {
		return Decision{}, false
	}
	d.frames++
	d.measure(frame)
	v, confidence := d.judge()
	if v == "" {
		return Decision{}, false
	}
	d.done = true
	dec := Decision{Verdict: v, Confidence: confidence, At: span(d.frames), Features: d.features()}
	if d.heard && d.pause > 0 {
		dec.GreetingEnd = span(d.lastFrame)
	}
	return dec, true
}

func (d *Detector) features() Features {
	f := Features{
		Onset: span(d.onset), Speech: span(d.active), FirstRun: span(d.firstRun), Pause: span(d.pause), LongestPause: span(d.longest),
		Words: d.words, Tones: d.tones.count, ToneHz: d.tones.last, Floor: d.floor, Peak: d.peak,
	}
	if f.FirstRun == 0 {
		f.FirstRun = span(d.run)
	}
	if d.tones.frames >= toneMin {
		f.ToneHz = d.tones.mean
	}
	return f
}

// measure updates everything that a decision rests on.
func (d *Detector) measure(frame []int16) {
	var energy float32
	if len(frame) == FrameSamples {
		for i, s := range frame {
			in := float32(s) / 32768
			d.y1 = in - d.x1 + 0.94*d.y1
			d.x1 = in
			d.x[i] = d.y1
			energy += d.y1 * d.y1
		}
	}
	const silence = 1e-9
	level := 10 * math.Log10(float64(energy)/FrameSamples+silence)
	d.track(level)
	loud := level > math.Max(math.Max(d.floor+speechAbove, quietest), d.peak-speechRange)

	tonal, hz := false, 0.0
	if level > quietest {
		var share float32
		hz, share = singleTone(&d.x, energy)
		tonal = share >= toneShare && hz > 300
		if !tonal && (loud || !d.heard) && pairShare(&d.x, energy) > toneShare {
			d.progress++
			loud = false
		}
	}
	d.tones.feed(tonal, hz, level)
	// A tone is not speech; a few tonal frames within a word are a vowel.
	if d.tones.frames >= toneMin || tonal && (!d.heard || d.pause > 0) {
		loud = false
	}
	d.speech(loud, level)
}

// track follows the noise: the minimum of the last four seconds, and of the
// whole call while that is short.
func (d *Detector) track(level float64) {
	if level >= digital {
		d.empty = 0
	} else if d.empty++; d.empty < emptyLine {
		level = 0 // lost frames say nothing of the noise
	}
	i := d.minAt
	d.minima[i] = math.Min(d.minima[i], level)
	if d.frames%25 == 0 {
		d.minAt = (i + 1) % len(d.minima)
		d.minima[d.minAt] = level
	}
	lowest := d.minima[0]
	for _, m := range d.minima[1:] {
		lowest = math.Min(lowest, m)
	}
	// The minimum lies under the mean of the noise. A call that begins with
	// speech has its first dip between two words.
	d.floor = math.Max(lowest+4, -66)
	if lowest == 0 {
		d.floor = -66
	}
}

// speech counts talk-spurts, words and pauses.
func (d *Detector) speech(loud bool, level float64) {
	if loud {
		d.rising++
		d.peak = math.Max(d.peak, level)
		if !d.heard {
			if d.rising < speechMin {
				return
			}
			d.heard, d.onset, d.words = true, d.frames-d.rising, 1
			d.active, d.talk, d.run, d.pause = d.rising, d.rising, d.rising, 0
			d.lastFrame = d.frames
			return
		}
		if d.pause > 0 && d.rising < speechMin {
			d.pause++ // a click in a pause does not end it
			return
		}
		if d.pause > 0 {
			gap := d.pause - d.rising + 1
			d.longest = max(d.longest, gap)
			if gap >= wordPause {
				d.words++
			}
			if gap >= spurtPause {
				if d.firstRun == 0 {
					d.firstRun = d.run
				}
				d.run = 0
			} else {
				d.run += gap
			}
			if gap <= breath {
				d.talk += gap
			}
			d.active += d.rising - 1
			d.talk += d.rising - 1
			d.run += d.rising - 1
			d.pause = 0
		}
		d.active++
		d.talk++
		d.run++
		d.lastFrame = d.frames
		return
	}
	d.rising = 0
	if d.heard {
		d.pause++
	}
}
