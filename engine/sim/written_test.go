package sim

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"reflect"
	"testing"

	"dialler/engine/enginetest/replay"
	"dialler/engine/run"
)

// written plays an installation. Before every n-th input of a run, 0: never, it is written
// down, and goes on as what is read back. show is an input of which the effects are told.
func written(t *testing.T, in Installation, seed uint64, every, show int) (effects [][sha256.Size]byte, end CampaignsResult, shown string) {
	t.Helper()
	w := newCampaignWorld(in.WithDefaults(), seed)
	w.applied = func(r *runner, in run.Input) ([]run.Effect, error) {
		if every > 0 && len(effects)%every == 0 {
			r.state = readBack(t, r.state)
		}
		out, err := applied(r, in)
		text := replay.Text(out)
		if len(effects) == show {
			shown = fmt.Sprintf("%T of %s at %s:\n%s", in.Event, r.c.id, w.now, text)
		}
		effects = append(effects, sha256.Sum256(text))
		return out, err
	}
	w.play()
	if w.check.broken != nil {
		t.Fatal(w.check.broken)
	}
	return effects, w.result(), shown
}

// readBack gives what is read of a run that is written down, which leads to the same bytes.
func readBack(t *testing.T, s *run.State) *run.State {
	t.Helper()
	b, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var read run.State
	if err := read.UnmarshalBinary(b); err != nil {
		t.Fatal(err)
	}
	if again, err := read.MarshalBinary(); err != nil || !bytes.Equal(again, b) {
		t.Fatalf("%d bytes become %d, %v", len(b), len(again), err)
	}
	return &read
}

// Times are written by the wall clock: here a run has no other, so that a step of it lets
// the durations of both plays change.
func TestARunThatIsWrittenDownGoesOnTheSame(t *testing.T) {
	inputs := 0
	for i := range *campaigns {
		seed := *seedFrom + uint64(i)
		in := DrawInstallation(seed)
		every := []int{1, 7, 50, 333}[i%4]
		in.EventsMost = 1500 * every
		want, wantEnd, _ := written(t, in, seed, 0, -1)
		got, end, _ := written(t, in, seed, every, -1)
		for n := range min(len(want), len(got)) {
			if want[n] != got[n] {
				_, _, whole := written(t, in, seed, 0, n)
				_, _, read := written(t, in, seed, every, n)
				t.Fatalf("seed %d, written before every %dth input: input %d is %s\nwithout it is %s", seed, every, n, read, whole)
			}
		}
		if len(want) != len(got) || !reflect.DeepEqual(end, wantEnd) {
			t.Fatalf("seed %d, written before every %dth of %d inputs, ended\n%+v\nwithout, after %d inputs,\n%+v", seed, every,
				len(got), end, len(want), wantEnd)
		}
		inputs += len(want)
	}
	t.Logf("%d inputs", inputs)
}
