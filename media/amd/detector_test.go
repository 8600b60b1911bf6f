package amd

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dialler/engine"
)

// sound builds signals.
type sound []int16

func (s sound) quiet(d time.Duration) sound { return s.noise(d, 3) }

//go:norace
func (s sound) noise(d time.Duration, rms float64) sound {
	r := rand.New(rand.NewPCG(uint64(len(s)), 1))
	for range d * rate / time.Second {
		s = append(s, int16(r.NormFloat64()*rms))
	}
	return s
}

//go:norace
func (s sound) tone(d time.Duration, amplitude float64, hz ...float64) sound {
	r := rand.New(rand.NewPCG(uint64(len(s)), 2))
	for i := range int(d * rate / time.Second) {
		v := r.NormFloat64() * 3
		for _, f := range hz {
			v += amplitude * math.Sin(2*math.Pi*f*float64(i)/rate)
		}
		s = append(s, int16(v))
	}
	return s
}

// speak is a buzz with the harmonics of a voice whose pitch and loudness move
// in syllables.
//
//go:norace
func (s sound) speak(d time.Duration) sound {
	r := rand.New(rand.NewPCG(uint64(len(s)), 3))
	phase := 0.0
	for i := range int(d * rate / time.Second) {
		at := float64(i) / rate
		phase += 2 * math.Pi * (120 + 25*math.Sin(2*math.Pi*1.3*at)) / rate
		v := 0.0
		for h := 1; h <= 20; h++ {
			v += math.Sin(float64(h)*phase) / float64(h)
		}
		syllable := 0.15 + math.Abs(math.Sin(2*math.Pi*2.2*at))
		s = append(s, int16(3000*v*syllable+r.NormFloat64()*20))
	}
	return s
}

func TestVerdicts(t *testing.T) {
	f := func(name string, s sound, want engine.Verdict, notAfter time.Duration) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			got := classify(t, Config{}, s)
			if got.Verdict != want || got.At > notAfter || got.Confidence <= 0 || got.Confidence > 1 {
				t.Fatalf("%+v, want %s by %v", got, want, notAfter)
			}
		})
	}
	f("a word and a pause is a person", sound{}.quiet(400*ms).speak(500*ms).quiet(3000*ms), engine.VerdictHuman, 1700*ms)
	f("in noise as well", sound{}.noise(400*ms, 60).speak(500*ms).noise(3000*ms, 60), engine.VerdictHuman, 1800*ms)
	f("a second sentence is heard out", sound{}.quiet(300*ms).speak(900*ms).quiet(400*ms).speak(400*ms).quiet(3000*ms),
		engine.VerdictHuman, 2800*ms)
	f("nothing is silence", sound{}.quiet(5000*ms), engine.VerdictSilence, 3000*ms)
	f("digital nothing too", make(sound, 40000), engine.VerdictSilence, 3000*ms)
	f("steady noise too", sound{}.noise(5000*ms, 500), engine.VerdictSilence, 3000*ms)
	f("CED is a fax", sound{}.quiet(200*ms).tone(3000*ms, 8000, 2100), engine.VerdictFax, 700*ms)
	f("CNG is a fax", sound{}.quiet(300*ms).tone(500*ms, 8000, 1100).quiet(3000*ms), engine.VerdictFax, 1200*ms)
	f("SIT of E.180", sound{}.tone(330*ms, 8000, 950).tone(330*ms, 8000, 1400).tone(330*ms, 8000, 1800), engine.VerdictSIT,
		900*ms)
	f("SIT of Bellcore, short tones", sound{}.quiet(500*ms).tone(274*ms, 4000, 913.8).tone(274*ms, 4000,
		1370.6).tone(380*ms, 4000, 1776.7).quiet(time.Second), engine.VerdictSIT, 1300*ms)
	f("a beep is a machine", sound{}.quiet(500*ms).speak(700*ms).quiet(300*ms).tone(400*ms, 8000, 1000).quiet(3000*ms),
		engine.VerdictMachine, 2200*ms)
	f("a beep alone too", sound{}.quiet(700*ms).tone(300*ms, 8000, 800).quiet(3000*ms), engine.VerdictMachine, 1400*ms)
	ring := sound{}
	for range 3 {
		ring = ring.tone(2000*ms, 4000, 440, 480).quiet(4000 * ms)
	}
	f("ringback is not a person", ring, engine.VerdictUnknown, 4500*ms)
	busy := sound{}
	for range 10 {
		busy = busy.tone(480*ms, 4000, 425).quiet(480 * ms)
	}
	f("busy is not a person", busy, engine.VerdictUnknown, 4500*ms)
}

func TestTheGreetingsEndIsMeasured(t *testing.T) {
	got := classify(t, Config{}, sound{}.quiet(400*time.Millisecond).speak(600*time.Millisecond).quiet(3*time.Second))
	if end := got.GreetingEnd - time.Second; end < -60*time.Millisecond || end > 60*time.Millisecond {
		t.Fatalf("the greeting ended at %v", got.GreetingEnd)
	}
	got = classify(t, Config{}, sound{}.speak(6*time.Second))
	if got.At != 4*time.Second || got.GreetingEnd != 0 { // it goes on
		t.Fatalf("%+v", got)
	}
}

func TestTheTimeoutBoundsEveryDecision(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 150 {
		var s sound
		for len(s) < 4*rate { // the decision comes earlier
			d := time.Duration(20+r.IntN(900)) * time.Millisecond
			switch r.IntN(5) {
			case 0:
				s = s.quiet(d)
			case 1:
				s = s.speak(d)
			case 2:
				s = s.noise(d, 10*math.Exp(r.Float64()*6))
			case 3:
				s = s.tone(d, 3000, 300+2000*r.Float64())
			case 4:
				s = s.tone(d, 3000, 440, 480)
			}
		}
		cfg := Config{Timeout: 2 * time.Second, TalkTimeout: 3 * time.Second}
		if got := classify(t, cfg, s); got.At > 3*time.Second {
			t.Fatalf("decision at %v", got.At)
		}
	}
}

func TestDecidesOnce(t *testing.T) {
	d := New(Config{})
	frame := make([]int16, FrameSamples)
	n := 0
	for range 1000 {
		if _, ok := d.Feed(frame); ok {
			n++
		}
	}
	if n != 1 {
		t.Fatalf("%d decisions", n)
	}
}

func TestFeaturesAreNamed(t *testing.T) {
	heard := sound{}.quiet(400 * time.Millisecond).speak(600 * time.Millisecond).quiet(3 * time.Second)
	got := classify(t, Config{}, heard).Features.Map()
	for _, name := range []string{"onset_ms", "speech_ms", "first_run_ms", "pause_ms", "longest_pause_ms", "words",
		"tones", "tone_hz", "floor_dbfs", "peak_dbfs"} {
		if _, ok := got[name]; !ok {
			t.Fatalf("no feature %q", name)
		}
	}
}

func TestRecordings(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.wav")
	if len(files) == 0 {
		t.Fatal("no recordings")
	}
	for _, f := range files {
		want, _, _ := strings.Cut(filepath.Base(f), "_")
		got := classify(t, Config{}, readWAV(t, f))
		if want == "machine" && got.Verdict == engine.VerdictUnknown {
			continue // the bot talks to it for a while; no person is hung up on
		}
		if string(got.Verdict) != want {
			t.Errorf("%s: %+v", f, got)
		}
	}
}

func BenchmarkFeed(b *testing.B) {
	f := func(name string, s sound, after bool) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			d := New(Config{})
			d.done = after
			for i := 0; b.Loop(); i++ {
				at := i * FrameSamples % (len(s) - FrameSamples)
				d.Feed(s[at : at+FrameSamples])
				if d.done && !after {
					*d = Detector{cfg: d.cfg}
					d.ear.reset()
					d.voice.reset()
				}
			}
		})
	}
	f("speech", sound{}.speak(3*time.Second), false)
	f("quiet", sound{}.quiet(3*time.Second), false)
	f("speech after the verdict", sound{}.speak(3*time.Second), true)
	f("quiet after the verdict", sound{}.quiet(3*time.Second), true)
}

func TestFeedDoesNotAllocate(t *testing.T) {
	s := sound{}.speak(2 * time.Second)
	d := New(Config{})
	at := 0
	if n := testing.AllocsPerRun(90, func() {
		d.Feed(s[at : at+FrameSamples])
		at += FrameSamples
	}); n != 0 {
		t.Fatalf("%v allocations per frame", n)
	}
}

// FuzzDetector checks that on any input there is at most one verdict, with a plausible confidence
// and times, and never an endless wait.
func FuzzDetector(f *testing.F) {
	f.Add([]byte{0, 0, 100, 200, 255, 0, 40, 20})
	f.Add([]byte{255, 255, 255, 255, 0, 0, 0, 0, 128, 128})
	f.Fuzz(func(t *testing.T, b []byte) {
		d := New(Config{})
		verdicts, end := 0, 30*50
		var frame [160]int16
		for i := 0; i < end; i++ { // 30 s, or two after the verdict
			level, pitch := 0, 1
			if len(b) > 1 { // each pair of bytes is 200 ms
				at := i / 10 * 2 % (len(b) - 1)
				level, pitch = int(b[at])*128, int(b[at+1])+1
			}
			for j := range frame {
				frame[j] = int16(level)
				if j*pitch/64%2 == 0 {
					frame[j] = -frame[j]
				}
			}
			got, ok := d.Feed(frame[:])
			if !ok {
				continue
			}
			verdicts++
			end = min(end, i+100)
			if got.Verdict == "" || got.Confidence < 0 || got.Confidence > 1 || math.IsNaN(got.Confidence) ||
				got.At <= 0 || got.At > time.Duration(i+1)*20*time.Millisecond || got.GreetingEnd < 0 || got.GreetingEnd > got.At {
				t.Fatalf("%+v", got)
			}
			for name, v := range got.Features.Map() {
				if x := float64(v); math.IsNaN(x) || math.IsInf(x, 0) {
					t.Fatalf("%s is %v", name, v)
				}
			}
		}
		if verdicts != 1 {
			t.Fatalf("%d verdicts in 30 s", verdicts)
		}
	})
}
