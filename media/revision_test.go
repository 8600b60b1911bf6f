package media

import (
	"bytes"
	"testing"
	"time"

	"dialler/engine"
	"dialler/media/wav"
)

// speaks appends speech of the given length without a pause.
func (a *answering) speaks(d time.Duration) *answering {
	x := answers(a.t, "machine_unavailable_de").x[wav.Rate : 3*wav.Rate]
	for n := int(d.Seconds() * wav.Rate); n > 0; n -= len(x) {
		a.x = append(a.x, x[:min(n, len(x))]...)
	}
	return a
}

// lenient takes anything that speaks for a person.
var lenient = engine.AMDRules{Bias: -50, Revise: 20 * time.Second}

func TestAMonologueRevisesAVerdict(t *testing.T) {
	e, p, ev := listening(t, lenient, nil)
	answers(t, "").quiet(300*time.Millisecond).speaks(10*time.Second).into(e, p)
	if first := ev.next(engine.MediaVerdict); !first.Verdict.Live() {
		t.Fatal(first.Verdict)
	}
	if got := ev.next(engine.MediaVerdict); got.Verdict != engine.VerdictMachine || got.Features["monologue"] != 1 {
		t.Fatalf("%+v", got)
	}
}

func TestTonesOfAFaxReviseAVerdict(t *testing.T) {
	e, p, ev := listening(t, lenient, nil)
	answers(t, "").quiet(5*time.Second).beep(2100, 3*time.Second).into(e, p)
	if first := ev.next(engine.MediaVerdict); first.Verdict != engine.VerdictSilence {
		t.Fatal(first.Verdict)
	}
	if got := ev.next(engine.MediaVerdict); got.Verdict != engine.VerdictFax {
		t.Fatalf("%+v", got)
	}
}

// Speech while the bot is heard may be the bot's echo and does not count as a monologue. A bot that
// sends silence is not heard.
func TestNobodyHoldsAMonologueWhileTheBotIsHeard(t *testing.T) {
	for name, c := range map[string]struct {
		sample  byte
		revised bool
	}{"speaks": {0x20, false}, "sends silence": {0xFF, true}} {
		e, p, ev := listening(t, lenient, nil)
		b := newBot(t)
		e.AttachBot(attach(attempt(1), b.url()))
		s := b.session()
		ev.next(engine.MediaBotConnected)
		for range 30 {
			s.say(bytes.Repeat([]byte{c.sample}, wav.Rate))
		}
		ev.next(engine.MediaBotFirstAudio)
		answers(t, "").quiet(300*time.Millisecond).speaks(10*time.Second).into(e, p)
		ev.next(engine.MediaVerdict)
		if c.revised {
			if got := ev.next(engine.MediaVerdict); got.Verdict != engine.VerdictMachine {
				t.Errorf("%s: %+v", name, got)
			}
		}
		if e.CloseMedia(attempt(1)).PacketsReceived < 500 {
			t.Fatal("it was not heard at all")
		}
		ev.none()
	}
}
