package media

import (
	"bytes"
	"context"
	"errors"
	"math"
	"path/filepath"
	"testing"
	"time"

	"dialler/engine"
	"dialler/media/codec"
	"dialler/media/g711"
	"dialler/media/wav"
)

// answering is what a phone says: a recording, then parts one after another.
type answering struct {
	t *testing.T
	x []int16
}

func answers(t *testing.T, recording string) *answering {
	a := &answering{t: t}
	if recording != "" {
		x, err := wav.Read(filepath.Join("amd", "testdata", recording+".wav"))
		if err != nil {
			t.Fatal(err)
		}
		a.x = x
	}
	return a
}

func (a *answering) quiet(d time.Duration) *answering {
	a.x = append(a.x, make([]int16, int(d.Seconds()*wav.Rate))...)
	return a
}

func (a *answering) beep(hz float64, d time.Duration) *answering {
	for i := range int(d.Seconds() * wav.Rate) {
		a.x = append(a.x, int16(9000*math.Sin(2*math.Pi*hz*float64(i)/wav.Rate)))
	}
	return a
}

// into sends all of it at once, as fast as the engine takes it: the classifier's clock is the
// audio.
func (a *answering) into(e *Engine, p *phone) {
	said := p.paced(e)
	for at := 0; at+codec.FrameBytes <= len(a.x); at += codec.FrameBytes {
		b := make([]byte, codec.FrameBytes)
		for i := range b {
			b[i] = g711.ToUlaw(a.x[at+i])
		}
		p.say(0, b)
		said()
	}
}

// listening returns a call that is classified by the given rules.
func listening(t *testing.T, rules engine.AMDRules, voicemail func(context.Context, engine.VoicemailID) ([]byte,
	error)) (*Engine, *phone, *events) {
	e, p, ev := start(t, func(c *Config) { c.Voicemail = voicemail }), newPhone(t, 1), record(t)
	offer, err := e.Open(engine.OpenMedia{Attempt: attempt(1), AMD: engine.AMDParallel, Listen: rules}, ev.sink)
	if err != nil {
		t.Fatal(err)
	}
	e.Answer(attempt(1), p.called(offer, "0"), time.Now())
	return e, p, ev
}

func TestALaterBeepRevisesAVerdict(t *testing.T) {
	for _, recording := range []string{"human_short_de", ""} { // a person's timing, and nothing at all
		e, p, ev := listening(t, engine.AMDRules{Revise: 20 * time.Second}, nil)
		answers(t, recording).quiet(4*time.Second).beep(1000, 400*time.Millisecond).quiet(2*time.Second).into(e, p)
		if first := ev.next(engine.MediaVerdict); !first.Verdict.Live() {
			t.Fatalf("%q: %s at once", recording, first.Verdict)
		}
		if got := ev.next(engine.MediaVerdict); got.Verdict != engine.VerdictMachine || got.Features["beep"] != 1 {
			t.Fatalf("%q: then %+v", recording, got)
		}
	}
}

func TestABeepThatComesTooLateOrIsNotListenedForRevisesNothing(t *testing.T) {
	for _, revise := range []time.Duration{0, 12 * time.Second} {
		e, p, ev := listening(t, engine.AMDRules{Revise: revise}, nil)
		answers(t, "human_short_de").quiet(14*time.Second).beep(1000, 400*time.Millisecond).quiet(2*time.Second).into(e, p)
		if got := ev.next(engine.MediaVerdict); got.Verdict != engine.VerdictHuman {
			t.Fatal(got.Verdict)
		}
		if e.CloseMedia(attempt(1)).PacketsReceived < 600 {
			t.Fatal("the beep was not heard at all")
		}
		ev.none()
	}
}

func tone(n int) []byte { return bytes.Repeat([]byte{0x20, 0xA0}, n/2) }

func TestTheMessageFollowsTheBeepOfTheMachine(t *testing.T) {
	message := tone(160 * 10)
	e, p, ev := listening(t, engine.AMDRules{Voicemail: "vm1"},
		func(_ context.Context, id engine.VoicemailID) ([]byte, error) {
			if id != "vm1" {
				t.Error(id)
			}
			return message, nil
		})
	answers(t, "machine_unavailable_de").into(e, p)
	if got := ev.next(engine.MediaVerdict); got.Verdict != engine.VerdictMachine {
		t.Fatal(got.Verdict)
	}
	e.LeaveVoicemail(engine.LeaveVoicemail{Attempt: attempt(1), Message: "vm1"})
	e.LeaveVoicemail(engine.LeaveVoicemail{Attempt: attempt(1), Message: "vm1"}) // said twice
	answers(t, "").quiet(time.Second).beep(1400, 300*time.Millisecond).into(e, p)
	if p.hear().Payload[0] == message[0] {
		t.Fatal("it is played into the greeting")
	}
	answers(t, "").quiet(time.Second).into(e, p)
	for n := 0; !bytes.Equal(p.hear().Payload, message[:codec.FrameBytes]); n++ {
		if n > 500 {
			t.Fatal("no message was heard")
		}
	}
	if got := ev.next(engine.MediaPlayed); got.Error != "" {
		t.Fatalf("%+v", got)
	}
	ev.none()
}

// The far side plays what it has buffered before the call ends.
func TestAMessageIsFollowedBySilenceBeforeItsEndIsTold(t *testing.T) {
	e, ev := start(t, nil), record(t)
	if _, err := e.Open(engine.OpenMedia{Attempt: attempt(1)}, ev.sink); err != nil {
		t.Fatal(err)
	}
	c, dst := e.call(attempt(1)), make([]byte, codec.FrameBytes)
	turn := func() {
		c.mu.Lock() // it is not answered: no ticks but these
		defer c.unlock()
		c.next(dst)
	}
	c.mu.Lock()
	c.message, c.playing, c.tsKnown = tone(2*codec.FrameBytes+40), true, true
	c.mu.Unlock()
	for i := range 13 {
		turn()
		if loud := bytes.Count(dst, []byte{codec.UlawSilence}) < codec.FrameBytes; loud != (i < 3) {
			t.Errorf("frame %d is heard: %v", i, loud)
		}
		if i < 12 {
			ev.none()
		}
	}
	ev.next(engine.MediaPlayed)
}

func TestWithoutABeepTheMessageFollowsTheQuiet(t *testing.T) {
	e, p, ev := listening(t, engine.AMDRules{Voicemail: "vm1"},
		func(context.Context, engine.VoicemailID) ([]byte, error) { return tone(320), nil })
	answers(t, "machine_unavailable_de").into(e, p)
	ev.next(engine.MediaVerdict)
	e.LeaveVoicemail(engine.LeaveVoicemail{Attempt: attempt(1), Message: "vm1"})
	answers(t, "").quiet(5*time.Second).into(e, p)
	if got := ev.next(engine.MediaPlayed); got.Error != "" {
		t.Fatalf("%+v", got)
	}
}

func TestAMessageThatCannotBeReadIsNotLeft(t *testing.T) {
	e, p, ev := listening(t, engine.AMDRules{Voicemail: "vm1"},
		func(context.Context, engine.VoicemailID) ([]byte, error) { return nil, errors.New("gone") })
	answers(t, "machine_unavailable_de").into(e, p)
	ev.next(engine.MediaVerdict)
	e.LeaveVoicemail(engine.LeaveVoicemail{Attempt: attempt(1), Message: "vm1"})
	answers(t, "").quiet(5*time.Second).into(e, p)
	if got := ev.next(engine.MediaPlayed); got.Error == "" {
		t.Fatal("it says that it was played")
	}
}

func TestAGreetingThatNeverEndsGetsNoMessage(t *testing.T) {
	e, p, ev := listening(t, engine.AMDRules{Voicemail: "vm1"},
		func(context.Context, engine.VoicemailID) ([]byte, error) { return tone(320), nil })
	answers(t, "machine_unavailable_de").into(e, p)
	ev.next(engine.MediaVerdict)
	e.LeaveVoicemail(engine.LeaveVoicemail{Attempt: attempt(1), Message: "vm1"})
	long := answers(t, "")
	for len(long.x) < 70*wav.Rate {
		long.x = append(long.x, answers(t, "machine_unavailable_de").x[wav.Rate:3*wav.Rate]...)
	}
	long.into(e, p)
	if got := ev.next(engine.MediaPlayed); got.Error == "" {
		t.Fatal("it says that it was played")
	}
}

func TestTheSensitivityMovesTheVerdictOfAMachine(t *testing.T) {
	verdict := func(bias float64) engine.Verdict {
		e, p, ev := listening(t, engine.AMDRules{Bias: bias}, nil)
		answers(t, "machine_unavailable_de").quiet(2*time.Second).into(e, p)
		return ev.next(engine.MediaVerdict).Verdict
	}
	if got := verdict(0); got != engine.VerdictMachine {
		t.Errorf("in the middle: %s", got)
	}
	if got := verdict(-50); got == engine.VerdictMachine {
		t.Error("a machine without any evidence that would do")
	}
}

func TestALongerTimeOfListeningIsTheCampaigns(t *testing.T) {
	e, p, ev := listening(t, engine.AMDRules{Timeout: 1500 * time.Millisecond}, nil)
	answers(t, "").quiet(1600*time.Millisecond).into(e, p)
	if got := ev.next(engine.MediaVerdict); got.Verdict != engine.VerdictSilence {
		t.Error(got.Verdict)
	}
}
