package media

import (
	"maps"
	"path/filepath"
	"testing"
	"time"

	"dialler/engine"
	"dialler/media/amd"
	"dialler/media/codec"
	"dialler/media/g711"
	"dialler/media/wav"
)

// TestTheVerdictOfACallIsThatOfItsRecording checks that a call on which a recording is played gets
// the same verdict as the recording in `lab amd eval`, in either law, and also when some of it is
// late.
func TestTheVerdictOfACallIsThatOfItsRecording(t *testing.T) {
	for _, name := range []string{"human_short_de", "human_name_en", "machine_unavailable_de", "sit_nc2", "fax_ansam"} {
		f := func(how string, law codec.Codec, late time.Duration) {
			t.Run(name+" "+how, func(t *testing.T) { sameVerdict(t, name, law, late) })
		}
		f("in μ-law", codec.Ulaw, 0)
		f("in A-law", codec.Alaw, 0)
		f("late", codec.Ulaw, 350*time.Millisecond)
	}
}

func sameVerdict(t *testing.T, name string, law codec.Codec, late time.Duration) {
	x, err := wav.Read(filepath.Join("amd", "testdata", name+".wav"))
	if err != nil {
		t.Fatal(err)
	}
	x = append(x, make([]int16, 2*wav.Rate)...)
	e, p, ev := start(t, nil), newPhone(t, 1), record(t)
	offer, _ := e.Open(engine.OpenMedia{Attempt: attempt(1), AMD: engine.AMDParallel}, ev.sink)
	formats, encode, table := "0", g711.ToUlaw, &codec.UlawToPCM
	if law == codec.Alaw {
		formats, encode, table = "8", g711.ToAlaw, &codec.AlawToPCM
	}
	e.Answer(attempt(1), p.called(offer, formats), time.Now())
	d, said := amd.New(amd.Config{}), p.paced(e)
	var want amd.Decision
	for at := 0; at+codec.FrameBytes <= len(x); at += codec.FrameBytes {
		b := make([]byte, codec.FrameBytes)
		var heard [codec.FrameBytes]int16
		for i := range b {
			b[i] = encode(x[at+i])
			heard[i] = table[b[i]]
		}
		p.say(law.PayloadType(), b)
		said()
		if at/codec.FrameBytes%32 == 31 && late > 0 {
			c := e.call(attempt(1))
			c.mu.Lock()
			passes(c, late)
			c.unlock()
		}
		if dec, ok := d.Feed(heard[:]); ok {
			want = dec
		}
	}
	got := ev.next(engine.MediaVerdict)
	if got.Verdict != want.Verdict || got.Confidence != want.Confidence || !maps.Equal(got.Features, want.Features.Map()) {
		t.Fatalf("the call: %s %.3f %v\nthe recording: %s %.3f %v", got.Verdict, got.Confidence, got.Features, want.Verdict,
			want.Confidence, want.Features.Map())
	}
}

// passes lets time go by without audio, as ticks do; mu is held.
func passes(c *call, d time.Duration) {
	for at := int64(0); at <= int64(d); at += int64(frameTime) {
		c.fill(c.lastAudio + at)
		c.ticks++
		c.wait(c.lastAudio + at)
	}
}

// Missing audio counts as silence, up to the present, and audio that the far side left out is not
// heard twice.
func TestTimeWithoutAudioIsSilenceToTheClassifier(t *testing.T) {
	e, p, ev := start(t, nil), newPhone(t, 1), record(t)
	offer, _ := e.Open(engine.OpenMedia{Attempt: attempt(1), AMD: engine.AMDParallel}, ev.sink)
	e.Answer(attempt(1), p.called(offer, "0"), time.Now())
	c := e.call(attempt(1))
	c.mu.Lock() // no packets arrive, and only the test's ticks pass
	defer c.mu.Unlock()
	says := func(ts uint32) {
		c.clock = e.now()
		c.deliver(ts, 0, speech(codec.FrameBytes, 1))
	}
	says(0)
	begun := c.det.Heard()
	heard := func(want int) {
		t.Helper()
		if n := int((c.det.Heard() - begun) / frameTime); n != want {
			t.Errorf("%d frames more are heard, want %d", n, want)
		}
	}
	passes(c, 400*time.Millisecond)
	heard(0)
	passes(c, 460*time.Millisecond)
	heard(20)
	says(26 * codec.FrameBytes) // it left out half a second
	heard(26)
	says(27 * codec.FrameBytes)
	heard(27)
	c.wait(c.lastAudio + int64(time.Second)) // the whole process stalled: packets wait to be read
	heard(27)
}
