package amd

import (
	"math"
	"time"

	"dialler/engine"
)

// FrameSamples is the length of a frame for Feed: 20 ms of 8 kHz audio.
const FrameSamples = 160

const frameTime = 20 * time.Millisecond

// Decision is the detector's verdict.
type Decision struct {
	Verdict     engine.Verdict
	Confidence  float64       // 0…1
	At          time.Duration // media time of the decision
	GreetingEnd time.Duration // media time at which the greeting ended; 0 when it did not
	Features    Features
}

// Detector classifies one call. It is not safe for concurrent use.
type Detector struct {
	cfg   Config
	done  bool
	last  Decision
	ear   ear
	voice voice
	tones signals
	words words

	x       Vector
	score   float64 // log-odds of a machine at the latest moment
	before  float64 // and at the one before
	scored  bool
	musical int // consecutive moments that sounded like music
	music   bool
	watch   Watcher
	turns   turns
}

// Watcher observes the inputs of decisions, for training. Its functions may be nil.
type Watcher struct {
	Step   func(*Step)           // the net's input
	Moment func(Moment, *Vector) // then the rule's input, and the music classifier's
}

const (
	// steadyTone is the level, in dBFS, above which a tone that has sounded since the beginning is
	// a tone and not noise.
	steadyTone = -42
	// spokenMin is how many frames of speech count as speech after a greeting.
	spokenMin = 15
	// stepFrames is the interval of the music classifier, askFrames that of the rule: every second
	// step of the net.
	stepFrames = 5
	askFrames  = 2 * stepSpan
	// musicScore is the log-odds that music must reach, musicMoments for how long: speech must
	// never be taken for it.
	musicScore   = 2.5
	musicMoments = 5
)

// New makes a detector for one call.
func New(cfg Config) *Detector {
	d := &Detector{cfg: cfg.withDefaults()}
	d.ear.reset()
	d.voice.reset()
	return d
}

// Watch sets w as the observer from now on.
func (d *Detector) Watch(w Watcher) { d.watch = w }

// Features are what a decision is based on.
type Features struct {
	Heard                                        time.Duration // until the decision
	Onset, Speech, FirstRun, Pause, LongestPause time.Duration
	Words, Tones                                 int
	ToneHz, Floor, Peak                          float64 // Hz, dBFS, dBFS
	Machine                                      float64 // probability, 0 without speech
	Progress, Beep, Music, Monologue             bool
}

// Map gives the features by name: durations in ms, levels in dBFS.
func (f Features) Map() map[string]float64 {
	ms := func(d time.Duration) float64 { return float64(d.Milliseconds()) }
	flag := func(b bool) float64 {
		if b {
			return 1
		}
		return 0
	}
	return map[string]float64{
		"heard_ms": ms(f.Heard), "onset_ms": ms(f.Onset), "speech_ms": ms(f.Speech), "first_run_ms": ms(
			f.FirstRun), "pause_ms": ms(f.Pause),
		"longest_pause_ms": ms(f.LongestPause), "words": float64(f.Words), "tones": float64(f.Tones),
		"tone_hz": math.Round(f.ToneHz), "floor_dbfs": math.Round(f.Floor), "peak_dbfs": math.Round(f.Peak),
		"machine": math.Round(f.Machine*1000) / 1000, "progress": flag(f.Progress), "beep": flag(f.Beep),
		"music":     flag(f.Music),
		"monologue": flag(f.Monologue),
	}
}

func span(frames int) time.Duration { return time.Duration(frames) * frameTime }

// Feed processes the next FrameSamples samples; ok is true once, with the decision. Frames of
// another length count as silence. After the decision it keeps listening: Tones and Revised.
func (d *Detector) Feed(frame []int16) (Decision, bool) {
	d.ear.hear(frame)
	d.measure()
	if d.done {
		return Decision{}, false
	}
	v, confidence := d.judge()
	if v == "" {
		return Decision{}, false
	}
	d.done = true
	d.last = Decision{Verdict: v, Confidence: confidence, At: span(d.ear.frames), Features: d.features()}
	if d.voice.heard && d.voice.pause > 0 {
		d.last.GreetingEnd = span(d.voice.lastFrame)
	}
	return d.last, true
}

// Spoken returns the duration of speech so far, even after a decision.
func (d *Detector) Spoken() time.Duration { return span(d.voice.talk) }

// Tones names what was heard so far apart from speech: progress, beep, music.
func (d *Detector) Tones() []string {
	tones := []string{}
	if d.tones.progress {
		tones = append(tones, "progress")
	}
	if d.tones.beep && !d.music && !d.tones.melody && !(d.tones.progress && !d.voice.heard) {
		tones = append(tones, "beep")
	}
	if d.music || d.tones.melody {
		tones = append(tones, "music")
	}
	return tones
}

func (d *Detector) features() Features {
	v := &d.voice
	f := Features{
		Heard: span(d.ear.frames), Onset: span(v.onset), Speech: span(v.active), FirstRun: span(v.firstRun), Pause: span(
			v.pause), LongestPause: span(v.longest),
		Words: v.words, Tones: d.tones.tones.n, ToneHz: d.tones.tones.last[0].hz, Floor: d.ear.floor, Peak: v.peak,
		Progress: d.tones.progress, Beep: d.tones.beep, Music: d.music || d.tones.melody,
		Monologue: d.turns.monologue(),
	}
	if f.FirstRun == 0 {
		f.FirstRun = span(v.run)
	}
	if d.tones.tones.sounding() >= toneMin {
		f.ToneHz = d.tones.tones.now.hz
	}
	if d.scored {
		f.Machine = probability(d.score)
	}
	return f
}

// measure updates everything that a decision is based on.
func (d *Detector) measure() {
	e, v := &d.ear, &d.voice
	loud := v.loud(e)
	sounds := loud
	tonal := e.share >= toneShare && e.hz > 312 && (loud || e.level > e.floor+3 || e.level > steadyTone)
	pair := e.pair && (loud || !v.heard)
	d.tones.peak = v.peak
	d.tones.feed(e.frames, tonal, pair, e.double, sounds, e.hz, e.share, e.level, v.talk >= spokenMin, v.heard)
	heard := v.heard
	d.listen(loud, tonal, pair)
	d.turns.feed(e.frames, v.heard && v.lastFrame == e.frames)
	d.hearWords(heard)
	if v.heard && (e.frames-v.onset)%stepFrames == 0 && !(d.done && d.music) {
		v.vector(e, &d.x)
		d.hearMusic()
	}
}

// hearWords feeds the net, from the beginning of the speech to the decision.
func (d *Detector) hearWords(before bool) {
	if d.done {
		return
	}
	w, frame := &d.words, d.ear.frames
	w.hear(&d.ear)
	switch {
	case !d.voice.heard:
	case !before:
		w.from = frame
		for back := (begun - 1) * stepSpan; back >= 0; back -= stepSpan {
			w.next(d.cfg.Model.Nets, &d.voice, &d.ear, back, d.watch.Step)
		}
	case (frame-w.from)%stepSpan == 0:
		w.next(d.cfg.Model.Nets, &d.voice, &d.ear, 0, d.watch.Step)
	}
}

// listen feeds the voice what is not a tone. A steady tone is not speech; its first frames may be a
// vowel: they neither begin speech nor end it.
func (d *Detector) listen(loud, tonal, pair bool) {
	v, now := &d.voice, &d.tones.tones.now
	switch {
	case pair || tonal && now.steady() || d.tones.tones.afterglow(d.ear.frames, d.ear.level):
		if !v.heard {
			v.rising = 0
		}
		v.feed(&d.ear, false)
	case (tonal && now.frames <= toneMin || !tonal && now.frames > 0 && now.glide < 2.5 && !v.heard) &&
		(!v.heard || v.pause > 0):
		if v.heard {
			v.feed(&d.ear, false)
		}
	default:
		v.feed(&d.ear, loud)
	}
}

func (d *Detector) hearMusic() {
	v := &d.voice
	if d.done && span(d.ear.frames) > 12*time.Second || v.talk < 40 || v.pause > stepFrames {
		return
	}
	if d.cfg.Model.Music.Score(&d.x) < musicScore {
		d.musical = 0
		return
	}
	if d.musical++; d.musical >= musicMoments {
		d.music = true
	}
}
