package amd

import (
	"testing"
	"time"

	"dialler/engine"
)

// revised feeds a detector that takes any speaker for a person, and returns the revision, if any.
// ours says when our side is audible.
func revised(t *testing.T, s sound, ours ...[2]time.Duration) (got Decision, ok bool) {
	t.Helper()
	d := New(Config{Bias: -50})
	first := false
	for at := 0; at+FrameSamples <= len(s); at += FrameSamples {
		now, talks := time.Duration(at)*time.Second/rate, false
		for _, o := range ours {
			talks = talks || now >= o[0] && now < o[1]
		}
		d.Ours(talks)
		if v, decided := d.Feed(s[at : at+FrameSamples]); decided {
			if first = true; !v.Verdict.Live() {
				t.Fatalf("%s at once", v.Verdict)
			}
		}
		if v, again := d.Revised(); again {
			if ok || !first {
				t.Fatalf("revised twice, or before the verdict: %+v", v)
			}
			got, ok = v, true
		}
	}
	return got, ok
}

func TestAMonologueRevisesAVerdictForAPerson(t *testing.T) {
	long := sound{}.quiet(500 * ms).speak(12 * time.Second)
	breaths := sound{}.quiet(500 * ms).speak(3 * time.Second).quiet(200 * ms).speak(3 * time.Second).quiet(300 * ms).speak(
		4 * time.Second)
	for name, s := range map[string]sound{"long": long, "with breaths": breaths} {
		got, ok := revised(t, s)
		if !ok || got.Verdict != engine.VerdictMachine || !got.Features.Monologue || got.At < MonologueMin ||
			got.At > HeardUntil {
			t.Errorf("%s: %+v, %v", name, got, ok)
		}
	}
}

func TestWhoPausesOrBeginsLateHoldsNoMonologue(t *testing.T) {
	for name, s := range map[string]sound{
		"a pause": sound{}.quiet(200 * ms).speak(4 * time.Second).quiet(700 * ms).speak(5 * time.Second).quiet(
			3 * time.Second),
		"a long answer": sound{}.quiet(500 * ms).speak(7200 * ms).quiet(3 * time.Second),
		"a late one":    sound{}.quiet(2500 * ms).speak(12 * time.Second),
	} {
		if got, ok := revised(t, s); ok {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestAfterTakenTurnsOnlyABeepRevises(t *testing.T) {
	// "Hello?", the bot says a word, and the callee talks at length.
	turns := sound{}.quiet(100 * ms).speak(300 * ms).quiet(1200 * ms).speak(8300 * ms)
	bot := [2]time.Duration{900 * ms, 1300 * ms}
	if _, ok := revised(t, turns); !ok {
		t.Fatal("without the bot it is a monologue")
	}
	if got, ok := revised(t, turns, bot); ok {
		t.Errorf("turns were taken: %+v", got)
	}
	beep := turns[:8*rate:8*rate].quiet(400*ms).tone(400*ms, 6000, 1000).quiet(time.Second)
	if got, ok := revised(t, beep, bot); !ok || got.Verdict != engine.VerdictMachine || !got.Features.Beep ||
		got.Features.Monologue {
		t.Errorf("a beep: %+v, %v", got, ok)
	}
	tones := turns[:4*rate:4*rate].quiet(500*ms).tone(3*time.Second, 8000, 2100)
	if got, ok := revised(t, tones, bot); ok {
		t.Errorf("a fax: %+v", got)
	}
}

// Our own voice comes back from the far side as an echo.
func TestWhatIsHeardWhileTheBotSpeaksIsNoMonologue(t *testing.T) {
	s := sound{}.quiet(500 * ms).speak(12 * time.Second)
	if got, ok := revised(t, s, [2]time.Duration{2 * time.Second, 9 * time.Second}); ok {
		t.Errorf("%+v", got)
	}
}

func TestTonesOfFaxAndSITReviseUntilTenSeconds(t *testing.T) {
	fax := func(s sound) sound { return s.tone(3*time.Second, 8000, 2100) }
	sit := func(s sound) sound {
		return s.tone(330*ms, 8000, 950).tone(330*ms, 8000, 1400).tone(330*ms, 8000, 1800).quiet(time.Second)
	}
	for v, tones := range map[engine.Verdict]func(sound) sound{engine.VerdictFax: fax, engine.VerdictSIT: sit} {
		for name, before := range map[string]sound{
			"after silence":  sound{}.quiet(5 * time.Second),
			"after a person": sound{}.quiet(500 * ms).speak(600 * ms).quiet(5 * time.Second),
		} {
			if got, ok := revised(t, tones(before)); !ok || got.Verdict != v || got.Confidence < 0.9 || got.At > HeardUntil {
				t.Errorf("%s %s: %+v, %v", v, name, got, ok)
			}
		}
		if got, ok := revised(t, tones(sound{}.quiet(10*time.Second))); ok {
			t.Errorf("%s after ten seconds: %+v", v, got)
		}
	}
}
