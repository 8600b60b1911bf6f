package voice

import (
	"math"
	"testing"
	"time"

	"dialler/bench/draw"
)

func TestG711KnownValues(t *testing.T) {
	f := func(c Codec, sample int16, want byte) {
		t.Helper()
		if got := c.Encode(nil, []int16{sample})[0]; got != want {
			t.Fatalf("codec %d: %d becomes %#02x, want %#02x", c, sample, got, want)
		}
	}
	// G.711 tables 1a and 2a: zero, the ends of the range, the sign.
	f(PCMU, 0, 0xff)
	f(PCMU, 32767, 0x80)
	f(PCMU, -32768, 0x00)
	f(PCMA, 0, 0xd5)
	f(PCMA, -1, 0x55)
	f(PCMA, 32767, 0xaa)
	f(PCMA, -32768, 0x2a)
}

func TestG711EveryCodeSurvivesARoundTrip(t *testing.T) {
	for _, c := range []Codec{PCMU, PCMA} {
		for i := range 256 {
			code := byte(i)
			sample := c.Decode(nil, []byte{code})[0]
			back := c.Encode(nil, []int16{sample})[0]
			if back != code && !(c == PCMU && sample == 0) { // μ-law has two zeros
				t.Fatalf("codec %d: %#02x is %d and comes back as %#02x", c, code, sample, back)
			}
		}
		// The error stays below a step: 1/16 of the value plus the smallest step.
		for s := -32000; s <= 32000; s += 7 {
			got := int(c.Decode(nil, c.Encode(nil, []int16{int16(s)}))[0])
			if diff := math.Abs(float64(got - s)); diff > math.Abs(float64(s))/16+8 {
				t.Fatalf("codec %d: %d comes back as %d", c, s, got)
			}
		}
	}
}

// level is the mean magnitude of a stretch of the signal.
func level(pcm []int16) float64 {
	sum := 0.0
	for _, s := range pcm {
		sum += math.Abs(float64(s))
	}
	return sum / float64(max(1, len(pcm)))
}

// power is the share of a stretch's energy at a frequency (Goertzel).
func power(pcm []int16, hz float64) float64 {
	w := 2 * math.Pi * hz / Rate
	var s1, s2, energy float64
	for _, x := range pcm {
		s1, s2 = float64(x)+2*math.Cos(w)*s1-s2, s1
		energy += float64(x) * float64(x)
	}
	p := s1*s1 + s2*s2 - 2*math.Cos(w)*s1*s2
	return 2 * p / (energy * float64(len(pcm)))
}

// spurts returns the loud stretches in ms, bridging gaps below 250 ms.
func spurts(pcm []int16) (out [][2]int) {
	const frame = FrameSamples
	for i := 0; i+frame <= len(pcm); i += frame {
		if level(pcm[i:i+frame]) < 180 {
			continue
		}
		ms := i * 1000 / Rate
		if n := len(out); n > 0 && ms-out[n-1][1] < 250 {
			out[n-1][1] = ms + 20
			continue
		}
		out = append(out, [2]int{ms, ms + 20})
	}
	return out
}

func TestHelloIsOneShortWord(t *testing.T) {
	for seed := range 50 {
		pcm := Hello(draw.Rand(uint64(seed), "", 0))
		s := spurts(pcm)
		if len(s) != 1 || s[0][1]-s[0][0] < 520 || s[0][1]-s[0][0] > 1240 || s[0][0] > 560 {
			t.Fatalf("seed %d: %v", seed, s)
		}
		if len(pcm)%FrameSamples != 0 {
			t.Fatalf("seed %d: %d samples", seed, len(pcm))
		}
	}
}

func TestGreetingIsLongAndEndsWithABeep(t *testing.T) {
	for seed := range 30 {
		pcm := Greeting(draw.Rand(uint64(seed), "", 0))
		start := len(pcm) - samples(BeepFromEnd)
		beep := pcm[start+Rate/20 : start+Rate*7/20]
		if p := power(beep, 1000); p < 0.95 {
			t.Fatalf("seed %d: %.2f of the beep is at 1000 Hz", seed, p)
		}
		s := spurts(pcm[:start])
		talked := 0
		for _, one := range s {
			talked += one[1] - one[0]
		}
		if talked < 3600 || talked > 8100 || len(s) > 2 {
			t.Fatalf("seed %d: %v", seed, s)
		}
		if quiet := level(pcm[start-Rate/5 : start]); quiet > 60 {
			t.Fatalf("seed %d: no pause before the beep, level %.0f", seed, quiet)
		}
	}
}

func TestSpeechIsNotATone(t *testing.T) {
	pcm := Utterance(draw.Rand(1, "", 0), 2*time.Second)
	for hz := 200.0; hz < 3500; hz += 50 {
		if p := power(pcm[Rate/2:Rate], hz); p > 0.6 {
			t.Fatalf("%.2f of the energy is at %.0f Hz", p, hz)
		}
	}
}

func TestTones(t *testing.T) {
	f := func(pcm []int16, from, until time.Duration, hz float64) {
		t.Helper()
		if p := power(pcm[samples(from):samples(until)], hz); p < 0.95 {
			t.Fatalf("%.2f of the energy is at %v Hz", p, hz)
		}
	}
	r := draw.Rand(1, "", 0)
	f(FaxAnswer(r), 300*time.Millisecond, 3*time.Second, 2100)
	sit := SIT(r)
	f(sit, 130*time.Millisecond, 450*time.Millisecond, 985.2)
	f(sit, 500*time.Millisecond, 730*time.Millisecond, 1428.5)
	f(sit, 780*time.Millisecond, 1100*time.Millisecond, 1776.7)
	f(Ringback(), 20*time.Millisecond, 980*time.Millisecond, 425)
	if l := level(Ringback()[Rate:]); l != 0 {
		t.Fatalf("the pause of the ringback tone has level %.1f", l)
	}
	if l := level(Quiet(r)); l < 4 || l > 30 {
		t.Fatalf("line noise at %.1f", l)
	}
}
