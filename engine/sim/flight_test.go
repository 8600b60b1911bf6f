package sim

import (
	"testing"

	"dialler/engine/call"
	"dialler/engine/enginetest/replay"
	"dialler/engine/journal"
	"dialler/engine/run"
	"dialler/engine/snapshot"
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

// A recording leaves the rest of a contact's write out.
func TestARunChangesOnlyTheEventsOfAContactsWrite(t *testing.T) {
	before, after, rows := snapshot.NewDigest(), snapshot.NewDigest(), 0
	rest := func(d *snapshot.Digest, w journal.Write) uint64 {
		w.Campaign, w.Epoch, w.Events, w.Bulk, w.Retune = "", 0, nil, nil, nil
		d.Begin(0)
		d.Add(w)
		return d.Sum()
	}
	for seed := *seedFrom; seed < *seedFrom+5; seed++ {
		in := drawn(seed)
		in.EventsMost = 15_000
		w := newCampaignWorld(in.WithDefaults(), seed)
		w.applied = func(r *runner, in run.Input) ([]run.Effect, error) {
			p, ok := in.Event.(*call.Persist)
			if !ok {
				return applied(r, in)
			}
			was := rest(before, *p.Write)
			out, err := applied(r, in)
			if rows += len(p.Write.Attempts); rest(after, *p.Write) != was {
				t.Fatalf("seed %d: %+v", seed, p.Write)
			}
			return out, err
		}
		w.play()
	}
	if rows < 1000 {
		t.Errorf("only %d rows", rows)
	}
}
