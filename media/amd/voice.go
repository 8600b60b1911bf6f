package amd

import "math"

const (
	// speechAbove is how far speech is above the noise, in dB.
	speechAbove = 9
	// voiceAbove is how far a frame with a clear pitch must be above the noise, in dB.
	voiceAbove = 5.5
	clearVoice = 0.75
	// nearby is the level, in dBFS, that speech must reach to be the callee's rather than the
	// room's.
	nearby = -46
	// speechRange is how far below its peak a frame still counts as speech, in dB.
	speechRange = 32
	// wordPause, breath and spurtPause are the pauses that end words, phrases and talk-spurts, in
	// frames.
	wordPause  = 5
	breath     = 12
	spurtPause = 20
	// speechMin is how many consecutive frames begin speech: anything shorter is a click.
	speechMin = 3
	// contour is the number of frames by which the ends of melody and loudness are judged.
	contour = 16
)

// moments accumulates mean and deviation.
type moments struct{ n, sum, squares float64 }

func (m *moments) add(v float64) { m.n++; m.sum += v; m.squares += v * v }

func (m *moments) mean() float64 {
	if m.n == 0 {
		return 0
	}
	return m.sum / m.n
}

func (m *moments) deviation() float64 {
	if m.n < 2 {
		return 0
	}
	return math.Sqrt(math.Max(0, m.squares/m.n-m.mean()*m.mean()))
}

// line fits a straight line.
type line struct{ n, x, y, xx, xy float64 }

func (l *line) add(x, y float64) { l.n++; l.x += x; l.y += y; l.xx += x * x; l.xy += x * y }

func (l *line) slope() float64 {
	d := l.n*l.xx - l.x*l.x
	if l.n < 4 || d <= 0 {
		return 0
	}
	return (l.n*l.xy - l.x*l.y) / d
}

// voice describes the speech of a call: its timing, melody and timbre.
type voice struct {
	heard     bool
	onset     int // frame of the first speech
	active    int // frames of speech
	talk      int // frames of speech, including breaths
	run       int // frames of the current talk-spurt, including pauses under spurtPause
	firstRun  int
	longest   int // longest pause within the speech
	lastPause int // last completed pause
	pause     int // frames since the last speech
	words     int
	phrases   int // parts between breaths
	phrase    int // frames of speech in the current phrase
	rising    int // consecutive frames above the threshold, not yet speech
	peak      float64
	lastFrame int // of speech
	voicedAll int // frames with a pitch

	melody      moments // semitones over 100 Hz
	trend       line    // semitones over seconds
	low, high   float64 // of the melody
	recent      [contour]float64
	recentAt    [contour]int
	recentN     int
	level       moments
	recentLevel [contour]float64
	levelN      int
	flat, flux  moments
	bands       [bandCount]moments
	syllables   int
	valley      float64
	crest       float64
	climbing    bool
	changes     int // between voiced and voiceless
	wasVoiced   bool
	noise       moments // level in the pauses, dBFS
	lastTone    float64 // melody of the last voiced frame
	lastToneAt  int
	steady      moments // whether the melody was steady from frame to frame
	purity      moments // share of the strongest spectral line
}

func (v *voice) reset() { v.peak, v.valley, v.crest = -90, -90, -90 }

// loud says whether a frame stands out from the noise as speech does.
func (v *voice) loud(e *ear) bool {
	least := e.floor + speechAbove
	if e.voiced > clearVoice {
		least = e.floor + voiceAbove
	}
	return e.level > math.Max(math.Max(least, quietest), v.peak-speechRange)
}

// feed processes a frame.
func (v *voice) feed(e *ear, loud bool) {
	if !loud {
		v.rising = 0
		if v.heard {
			v.pause++
			if v.pause >= breath {
				v.phrase = 0
			}
			if !e.lost {
				v.noise.add(e.level)
			}
		}
		return
	}
	v.rising++
	v.peak = math.Max(v.peak, e.level)
	if !v.heard {
		if e.voiced > 0.45 {
			v.wasVoiced = true
		}
		if v.rising < speechMin || v.peak < nearby || !v.wasVoiced && v.rising < 3*speechMin {
			return // a click or a breath
		}
		v.heard, v.onset, v.words, v.phrases = true, e.frames-v.rising, 1, 1
		v.active, v.talk, v.run, v.phrase, v.pause = v.rising, v.rising, v.rising, v.rising, 0
		v.lastFrame = e.frames
		v.colour(e)
		return
	}
	if v.pause > 0 && v.rising < speechMin {
		v.pause++ // a click in a pause does not end it
		return
	}
	if v.pause > 0 {
		v.resume()
	}
	v.active++
	v.talk++
	v.run++
	v.phrase++
	v.lastFrame = e.frames
	v.colour(e)
}

// resume ends a pause; its last frames were speech already.
func (v *voice) resume() {
	gap := v.pause - v.rising + 1
	v.longest = max(v.longest, gap)
	if gap >= wordPause {
		v.words++
		v.lastPause = gap
	}
	if gap >= breath {
		v.phrases++
		v.phrase = 0
	}
	if gap >= spurtPause {
		if v.firstRun == 0 {
			v.firstRun = v.run
		}
		v.run = 0
	} else {
		v.run += gap
	}
	if gap <= breath {
		v.talk += gap
	}
	v.active += v.rising - 1
	v.talk += v.rising - 1
	v.run += v.rising - 1
	v.phrase += v.rising - 1
	v.pause = 0
}

// colour measures the timbre of a frame of speech.
func (v *voice) colour(e *ear) {
	v.level.add(e.level)
	v.recentLevel[v.levelN%contour] = e.level
	v.levelN++
	v.flat.add(e.flatness)
	v.flux.add(e.flux)
	for b := range v.bands {
		v.bands[b].add(e.bands[b])
	}
	switch {
	case v.climbing && e.level > v.crest:
		v.crest = e.level
	case v.climbing && e.level < v.crest-4:
		v.climbing, v.valley = false, e.level
		v.syllables++
	case !v.climbing && e.level < v.valley:
		v.valley = e.level
	case !v.climbing && e.level > v.valley+4:
		v.climbing, v.crest = true, e.level
	}
	v.purity.add(e.share)
	voiced := e.voiced >= 0.55
	if voiced != v.wasVoiced {
		v.changes++
		v.wasVoiced = voiced
	}
	if !voiced {
		return
	}
	tone := 12 * math.Log2(e.pitch/100)
	if v.melody.n > 5 && math.Abs(tone-v.melody.mean()) > 9 {
		return // an octave mistaken
	}
	if v.lastToneAt == e.frames-1 {
		held := 0.0
		if math.Abs(tone-v.lastTone) < 0.12 {
			held = 1
		}
		v.steady.add(held)
	}
	v.lastTone, v.lastToneAt = tone, e.frames
	v.voicedAll++
	if v.melody.n == 0 {
		v.low, v.high = tone, tone
	}
	v.melody.add(tone)
	v.trend.add(float64(e.frames-v.onset)/50, tone)
	v.low, v.high = math.Min(v.low, tone), math.Max(v.high, tone)
	v.recent[v.recentN%contour], v.recentAt[v.recentN%contour] = tone, e.frames
	v.recentN++
}

// ending returns the slope of the melody at its end in semitones per second, its distance from the
// mean, and the drop in loudness.
func (v *voice) ending() (slope, over, fall float64) {
	var l line
	var m moments
	for i := range min(v.recentN, contour) {
		if age := v.lastFrame - v.recentAt[i]; age <= 2*contour {
			l.add(float64(-age)/50, v.recent[i])
			if age <= contour/2 {
				m.add(v.recent[i])
			}
		}
	}
	slope = math.Max(-60, math.Min(60, l.slope()))
	if m.n > 0 {
		over = m.mean() - v.melody.mean()
	}
	var end moments
	for i := range min(v.levelN, contour) {
		end.add(v.recentLevel[i])
	}
	return slope, over, end.mean() - v.level.mean()
}

// FeatureNames are the names of the classifier's inputs, in order. Times are in seconds, levels in
// dB, melody in semitones.
var FeatureNames = [...]string{
	"onset", "talk", "active", "run", "pause", "first_run", "longest_pause", "last_pause", "words", "phrases", "phrase",
	"longest_phrase_share", "density", "syllables", "syllable_rate",
	"pitch", "pitch_deviation", "pitch_range", "pitch_trend", "pitch_end_slope", "pitch_end_over", "voiced_share",
	"voicing_rate", "level_deviation", "level_end", "over_noise", "noise_deviation",
	"flatness", "flux", "band_0", "band_1", "band_2", "band_3", "band_4", "band_5", "band_6",
	"band_deviation_low", "band_deviation_mid", "band_deviation_high",
	"pitch_held", "purity", "purity_deviation",
}

// FeatureCount is the length of a vector.
const FeatureCount = len(FeatureNames)

// Vector is the classifier's input for a call at one moment.
type Vector [FeatureCount]float32

func (v *voice) vector(e *ear, x *Vector) {
	sec := func(frames int) float64 { return float64(frames) / 50 }
	first := v.firstRun
	if first == 0 {
		first = v.run
	}
	talk := math.Max(sec(v.talk), 0.02)
	whole := math.Max(sec(v.lastFrame-v.onset), 0.02)
	slope, over, fall := v.ending()
	n := 0
	put := func(values ...float64) {
		for _, f := range values {
			x[n] = float32(f)
			n++
		}
	}
	put(sec(v.onset), sec(v.talk), sec(v.active), sec(v.run), sec(v.pause), sec(first), sec(v.longest), sec(v.lastPause),
		float64(v.words), float64(v.phrases), sec(v.phrase))
	put(sec(first)/whole, sec(v.active)/whole, float64(v.syllables), float64(v.syllables)/talk)
	put(v.melody.mean(), v.melody.deviation(), v.high-v.low, math.Max(-20, math.Min(20, v.trend.slope())), slope, over,
		float64(v.voicedAll)/math.Max(1, float64(v.active)), float64(v.changes)/talk)
	put(v.level.deviation(), fall, v.peak-e.floor, v.noise.deviation())
	put(v.flat.mean(), v.flux.mean())
	for b := range v.bands {
		put(v.bands[b].mean())
	}
	put(v.bands[0].deviation(), v.bands[3].deviation(), v.bands[6].deviation())
	put(v.steady.mean(), v.purity.mean(), v.purity.deviation())
}
