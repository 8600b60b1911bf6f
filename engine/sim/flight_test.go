package sim

import (
	"testing"

	"dialler/engine/enginetest/replay"
	"dialler/engine/run"
)

// Whatever is drawn (crashes, hand-overs, steps of the wall clock, a database that is away), what is
// recorded of a run leads to the same effects again.
func TestTheRecordingsOfDrawnCampaignsReplay(t *testing.T) {
	inputs, lives, calls, size := 0, 0, 0, 0
	for i := range (*campaigns + 3) / 4 {
		seed := *seedFrom + uint64(i)
		in := drawn(seed)
		in.EventsMost = 15_000
		of := map[*run.State]*replay.Recorder{}
		w := newCampaignWorld(in.WithDefaults(), seed, func(w *campaignWorld) {
			w.applied = func(r *runner, in run.Input) ([]run.Effect, error) {
				rec := of[r.state]
				if rec == nil {
					rec = replay.New(r.c.id, r.state.Config, in.Now)
					of[r.state] = rec
				}
				out, err := applied(r, rec.Before(in))
				rec.After(out)
				return out, err
			}
		})
		w.play()
		for _, c := range w.result().Campaigns {
			calls += c.Dials
		}
		for _, rec := range of {
			n, err := rec.Verify()
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			inputs, lives, size = inputs+n, lives+1, size+rec.Size()
		}
	}
	t.Logf("%d inputs of %d lives, %d calls, %d bytes", inputs, lives, calls, size)
	if inputs < 10_000 || lives < 2 {
		t.Errorf("only %d inputs of %d lives", inputs, lives)
	}
}
