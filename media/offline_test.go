package media

import (
	"maps"
	"path/filepath"
	"testing"
	"time"

	"dialler/engine"
	"dialler/media/amd"
	"dialler/media/amd/corpus"
	"dialler/media/g711"
)

// TestTheVerdictOfACallIsThatOfItsRecording: what `dialler amd eval` says of a
// recording is what a call says on which it is played.
func TestTheVerdictOfACallIsThatOfItsRecording(t *testing.T) {
	for _, name := range []string{"human_short_de", "human_name_en", "machine_unavailable_de", "sit_nc2", "fax_ansam"} {
		t.Run(name, func(t *testing.T) {
			x, err := corpus.ReadWAV(filepath.Join("amd", "testdata", name+".wav"))
			if err != nil {
				t.Fatal(err)
			}
			x = append(x, make([]int16, 2*corpus.Rate)...)
			e, p, ev := start(t, nil), newPhone(t, 1), record(t)
			offer, _ := e.Open(engine.OpenMedia{Attempt: attempt(1), AMD: engine.AMDParallel}, ev.sink)
			e.Answer(attempt(1), p.called(offer, "0"), time.Now())
			d, said := amd.New(amd.Config{}), p.paced(e)
			var want amd.Decision
			for at := 0; at+frameBytes <= len(x); at += frameBytes {
				b := make([]byte, frameBytes)
				var heard [frameBytes]int16
				for i := range b {
					b[i] = g711.ToUlaw(x[at+i])
					heard[i] = ulawToPCM[b[i]]
				}
				p.say(0, b)
				said()
				if dec, ok := d.Feed(heard[:]); ok {
					want = dec
				}
			}
			got := ev.next(engine.MediaVerdict)
			if got.Verdict != want.Verdict || got.Confidence != want.Confidence || !maps.Equal(got.Features, want.Features.Map()) {
				t.Fatalf("the call: %s %.3f %v\nthe recording: %s %.3f %v", got.Verdict, got.Confidence, got.Features, want.Verdict, want.Confidence, want.Features.Map())
			}
		})
	}
}
