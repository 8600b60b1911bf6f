package touchtone

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dialler/bench/voice"
	"dialler/media/g711"
)

// press is one press of a key as a far side sends it.
type press struct {
	key        byte
	length     time.Duration
	pause      time.Duration // before it
	low, high  float64       // dBm0
	lowOff     float64       // from its frequency, as a share
	highOff    float64
	noise      float64 // dBm0, 0: none
	cutAt, cut time.Duration
}

// sound gives what presses sound like, after a lead of samples, through G.711.
func sound(lead int, presses ...press) []int16 {
	x := make([]float64, lead)
	samples := func(d time.Duration) int { return int(d * rate / time.Second) }
	r := rand.New(rand.NewPCG(uint64(lead), 1))
	noise := 0.0
	for _, p := range presses {
		x = append(x, make([]float64, samples(p.pause))...)
		i := strings.IndexByte(keys, p.key)
		low, high := rows[i/4].hz*(1+p.lowOff), cols[i%4].hz*(1+p.highOff)
		phase := r.Float64()
		for n := range samples(p.length) {
			t := float64(n) / rate
			v := amplitude(p.low)*math.Sin(2*math.Pi*(low*t+phase)) + amplitude(p.high)*math.Sin(2*math.Pi*(high*t+3*phase))
			if at := samples(p.cutAt); n >= at && n < at+samples(p.cut) {
				v = 0
			}
			x = append(x, v)
		}
		if p.noise != 0 {
			noise = amplitude(p.noise) / math.Sqrt2
		}
	}
	x = append(x, make([]float64, 480)...)
	out := make([]int16, len(x)/FrameSamples*FrameSamples)
	for i := range out {
		v := math.Round(x[i] + noise*r.NormFloat64())
		out[i] = g711.FromUlaw(g711.ToUlaw(int16(max(-32768, min(32767, v)))))
	}
	return out
}

// amplitude is that of a sine in 16 bits.
func amplitude(dBm0 float64) float64 { return 32124 * math.Pow(10, (dBm0-3.17)/20) }

func heard(x []int16) string {
	var d Detector
	var got []byte
	for ; len(x) >= FrameSamples; x = x[FrameSamples:] {
		if key, ok := d.Feed((*[FrameSamples]int16)(x)); ok {
			got = append(got, key)
		}
	}
	return string(got)
}

// least is a press at the limits of Q.24 in time.
func least(key byte) press {
	return press{key: key, length: 40 * time.Millisecond, pause: 40 * time.Millisecond, low: -12, high: -12}
}

// pressed checks each key, wherever it begins in a frame: pressed twice it is heard as often, or
// never.
func pressed(t *testing.T, what string, often int, change func(*press)) {
	t.Helper()
	for i := range keys {
		for lead := 0; lead < hop; lead += 20 {
			p := least(keys[i])
			change(&p)
			if got, want := heard(sound(lead, p, p)), strings.Repeat(keys[i:i+1], 2*often); got != want {
				t.Errorf("%s: %c after %d samples is heard as %q, want %q", what, keys[i], lead, got, want)
				break
			}
		}
	}
}

func TestEachKeyIsHeardOnceAtTheLimitsOfQ24(t *testing.T) {
	f := func(what string, change func(*press)) {
		t.Helper()
		pressed(t, what, 1, change)
	}
	f("40 ms, 40 ms", func(*press) {})
	f("a long tone", func(p *press) { p.length = 700 * time.Millisecond })
	for _, level := range []float64{-3, -24, -26} {
		f(fmt.Sprint(level, " dBm0"), func(p *press) { p.low, p.high = level, level })
	}
	f("high tone 4 dB above", func(p *press) { p.low, p.high = -12, -8 })
	f("high tone 8 dB below", func(p *press) { p.low, p.high = -12, -20 })
	f("weak, twisted up", func(p *press) { p.low, p.high = -24, -20 })
	f("weak, twisted down", func(p *press) { p.low, p.high = -16, -24 })
	for _, off := range [][2]float64{{0.015, 0.015}, {-0.015, -0.015}, {0.015, -0.015}, {-0.015, 0.015}} {
		f(fmt.Sprint("beside by ", off), func(p *press) { p.lowOff, p.highOff = off[0], off[1] })
		f(fmt.Sprint("twisted, beside by ", off), func(p *press) {
			p.lowOff, p.highOff, p.low, p.high = off[0], off[1], -10, -18
		})
	}
	f("in noise", func(p *press) { p.noise = -27 })
	f("with a break of 10 ms", func(p *press) {
		p.length, p.cutAt, p.cut = 100*time.Millisecond, 45*time.Millisecond, 10*time.Millisecond
	})
	f("with a lost packet", func(p *press) {
		p.length, p.cutAt, p.cut = 120*time.Millisecond, 45*time.Millisecond, 20*time.Millisecond
	})
}

func TestWhatIsNoKeyIsNotHeard(t *testing.T) {
	f := func(what string, change func(*press)) {
		t.Helper()
		pressed(t, what, 0, change)
	}
	for _, off := range []float64{0.035, -0.035, 0.05, -0.05} {
		f(fmt.Sprint("low tone beside by ", off), func(p *press) { p.lowOff, p.length = off, 200*time.Millisecond })
		f(fmt.Sprint("high tone beside by ", off), func(p *press) { p.highOff, p.length = off, 200*time.Millisecond })
	}
	f("20 ms", func(p *press) { p.length = 20 * time.Millisecond })
	f("too quiet", func(p *press) { p.low, p.high = -36, -36 })
	f("one tone", func(p *press) { p.high = -60 })
	f("the other tone", func(p *press) { p.low = -60 })
}

func TestKeysThatFollowEachOtherAreHeardInOrder(t *testing.T) {
	var presses []press
	want := keys + "00112233**##"
	for i := range want {
		presses = append(presses, least(want[i]))
	}
	for lead := 0; lead < FrameSamples; lead += 11 {
		if got := heard(sound(lead, presses...)); got != want {
			t.Fatalf("%q after %d samples", got, lead)
		}
	}
}

func TestSpeechHasNoKeys(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for range 720 { // an hour
		if got := heard(voice.Utterance(r, 5*time.Second)); got != "" {
			t.Errorf("an utterance is heard as %q", got)
		}
	}
}

// TestRecordedSpeechHasNoKeys hears a folder of recordings, 16-bit samples of 8 kHz without a header.
// TOUCHTONE_SPEECH=folder runs it.
func TestRecordedSpeechHasNoKeys(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(os.Getenv("TOUCHTONE_SPEECH"), "*.raw"))
	if len(files) == 0 {
		t.Skip("TOUCHTONE_SPEECH names no folder of recordings, *.raw")
	}
	total := 0
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		x := make([]int16, len(b)/2)
		for i := range x {
			x[i] = g711.FromUlaw(g711.ToUlaw(int16(b[2*i]) | int16(b[2*i+1])<<8))
		}
		total += len(x)
		if got := heard(x); got != "" {
			t.Errorf("%s is heard as %q", filepath.Base(name), got)
		}
	}
	t.Logf("%v of speech", time.Duration(total)*time.Second/rate)
}

func BenchmarkFeed(b *testing.B) {
	f := func(name string, x []int16) {
		b.Run(name, func(b *testing.B) {
			var d Detector
			b.ReportAllocs()
			at := 0
			for b.Loop() {
				if at += FrameSamples; at+FrameSamples > len(x) {
					at = 0
				}
				d.Feed((*[FrameSamples]int16)(x[at:]))
			}
		})
	}
	r := rand.New(rand.NewPCG(7, 7))
	f("silence", voice.Quiet(r))
	f("speech", voice.Utterance(r, 20*time.Second))
	f("key", sound(0, press{key: '5', length: 20 * time.Second, low: -12, high: -12}))
}
