package amd

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	speech "dialler/bench/voice"
)

// part is a tone of a signal, of one frequency or two; 0 is silence.
type part struct {
	hz, and float64
	ms      int
}

// announced says whether an Announcement hears a signal of these parts, played for a while.
func announced(length time.Duration, parts ...part) bool {
	var a Announcement
	var x []int16
	for len(x) < int(length*rate/time.Second) {
		for _, p := range parts {
			for n := range p.ms * rate / 1000 {
				v := 0.0
				for _, hz := range []float64{p.hz, p.and} {
					v += 5000 * math.Sin(2*math.Pi*hz*float64(n)/rate)
				}
				x = append(x, int16(v))
			}
		}
	}
	return hears(&a, x)
}

func hears(a *Announcement, x []int16) (heard bool) {
	for ; len(x) >= FrameSamples; x = x[FrameSamples:] {
		heard = a.Feed(x[:FrameSamples]) || heard
	}
	return heard
}

func TestAnnouncementsOfANumberOutOfServiceAreHeard(t *testing.T) {
	f := func(what string, parts ...part) {
		t.Helper()
		if !announced(8*time.Second, append(parts, part{ms: 1000})...) {
			t.Errorf("%s is not heard", what)
		}
	}
	f("SIT of ITU-T E.180", part{950, 0, 330}, part{1400, 0, 330}, part{1800, 0, 330})
	f("vacant code", part{985.2, 0, 380}, part{1370.6, 0, 276}, part{1776.7, 0, 380})
	f("intercept", part{913.8, 0, 276}, part{1370.6, 0, 276}, part{1776.7, 0, 380})
	if !announced(8*time.Second, part{400, 0, 8000}) {
		t.Error("a number unobtainable tone without end is not heard")
	}
	if !announced(8*time.Second, part{425, 0, 2500}, part{0, 0, 500}) {
		t.Error("a number unobtainable tone with pauses is not heard")
	}
	if !hears(new(Announcement), speech.SIT(rand.New(rand.NewPCG(1, 1)))) {
		t.Error("SIT before a notice is not heard")
	}
}

func TestWhatElseIsHeardBeforeTheAnswerIsNoAnnouncement(t *testing.T) {
	f := func(what string, parts ...part) {
		t.Helper()
		if announced(12*time.Second, parts...) {
			t.Errorf("%s is taken for an announcement", what)
		}
	}
	f("no circuit", part{985.2, 0, 380}, part{1428.5, 0, 380}, part{1776.7, 0, 380}, part{ms: 2000})
	f("no circuit, another network's", part{913.8, 0, 380}, part{1370.6, 0, 380}, part{1776.7, 0, 380}, part{ms: 2000})
	f("reorder", part{913.8, 0, 276}, part{1428.5, 0, 380}, part{1776.7, 0, 380}, part{ms: 2000})
	f("ringing", part{425, 0, 1000}, part{ms: 4000})
	f("long ringing", part{400, 0, 2500}, part{ms: 3000})
	f("ringing of North America", part{440, 480, 2000}, part{ms: 4000})
	f("ringing of the United Kingdom", part{400, 450, 400}, part{ms: 200}, part{400, 450, 400}, part{ms: 2000})
	f("busy", part{425, 0, 500}, part{ms: 500})
	f("congestion", part{425, 0, 250}, part{ms: 250})
	f("dial tone", part{350, 440, 12000})
	f("fax", part{1100, 0, 500}, part{ms: 3000})
	r := rand.New(rand.NewPCG(2, 2))
	for range 10 {
		if hears(new(Announcement), speech.Greeting(r)) || hears(new(Announcement), speech.Utterance(r, 10*time.Second)) {
			t.Error("speech is taken for an announcement")
		}
	}
}

func BenchmarkAnnouncement(b *testing.B) {
	f := func(name string, x []int16) {
		b.Run(name, func(b *testing.B) {
			var a Announcement
			b.ReportAllocs()
			at := 0
			for b.Loop() {
				if at += FrameSamples; at+FrameSamples > len(x) {
					at = 0
				}
				a.Feed(x[at : at+FrameSamples])
			}
		})
	}
	f("ringing", speech.Ringback())
	f("speech", speech.Utterance(rand.New(rand.NewPCG(1, 1)), 5*time.Second))
}
