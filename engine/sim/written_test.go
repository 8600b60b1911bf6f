package sim

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"dialler/engine/callee"
	"dialler/engine/flight"
	"dialler/engine/run"
)

// writtenDown is how a drawn installation is played: from one input on, every n-th time, and
// whenever a field of its state holds something rare, the run of a campaign is serialised and
// replaced by the restored copy.
type writtenDown struct {
	from, every, most int            // every 0: never
	held              map[string]int // inputs before which a field held something
	show              int            // the input to show
}

// outcome is the result of the inputs of a play.
type outcome struct {
	effects [][sha256.Size]byte // of each input
	shown   string
	end     CampaignsResult
	writes  int
}

func (d *writtenDown) play(t *testing.T, in Installation, seed uint64) (o outcome) {
	t.Helper()
	w := newCampaignWorld(in.WithDefaults(), seed)
	w.applied = func(r *runner, in run.Input) ([]run.Effect, error) {
		if d.due(len(o.effects)) || d.every > 0 && d.holdsMore(r.state) {
			*r.state = *readBack(t, r.state) // the world refers to a run's state by its address
			o.writes++
		}
		out, err := applied(r, in)
		text := flight.Text(out)
		if len(o.effects) == d.show {
			o.shown = fmt.Sprintf("%T of %s at %s:\n%s", in.Event, r.c.id, w.now, text)
		}
		o.effects = append(o.effects, sha256.Sum256(text))
		return out, err
	}
	w.play()
	o.end = w.result()
	return o
}

func (d *writtenDown) due(input int) bool {
	n := input - d.from
	return d.every > 0 && n >= 0 && n%d.every == 0 && n/d.every < d.most
}

// holdsMore says whether a field holds something that has seldom been serialised.
func (d *writtenDown) holdsMore(s *run.State) (more bool) {
	v := reflect.ValueOf(s).Elem()
	for _, f := range stateFields {
		if held := v.FieldByIndex(f.Index); held.IsZero() || held.Kind() == reflect.Map && held.Len() == 0 {
			continue
		}
		if d.held[f.Name]++; d.held[f.Name] <= 5 {
			more = true
		}
	}
	return more
}

var stateFields = slices.DeleteFunc(reflect.VisibleFields(reflect.TypeFor[run.State]()),
	func(f reflect.StructField) bool { return !f.IsExported() || f.Anonymous })

// readBack returns a serialised run after reading it back, and checks that it serialises to the
// same bytes.
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

// Times are serialised by the wall clock: the runs of this test have no other, so that a step of it
// changes durations in both plays.
func TestARunThatIsWrittenDownGoesOnTheSame(t *testing.T) {
	held, inputs, writes := map[string]int{}, 0, 0
	for i := range (*campaigns + 2) / 3 {
		seed := *seedFrom + uint64(i)
		in, dice := DrawInstallation(seed), &dice{c: callee.ChanceOf(seed, 98)}
		in.EventsMost = 15_000
		for range 5 * (seed % 4) {
			in.Faults = append(
				in.Faults,
				Fault{Kind: pick(dice, FaultRunCrash, FaultContactCrash, FaultHandOver, FaultDatabase),
					At: time.Duration(
						dice.in(0, 600),
					) * time.Second, Length: dice.span(100*time.Millisecond, 20*time.Second)},
			)
		}
		never := writtenDown{show: -1}
		want := never.play(t, in, seed)
		down := writtenDown{from: dice.in(0, len(want.effects)/2), every: []int{1, 7, 50, 333}[seed%4], most: 100,
			held: map[string]int{}, show: -1}
		got := down.play(t, in, seed)
		for name := range down.held {
			held[name]++
		}
		inputs, writes = inputs+len(want.effects), writes+got.writes
		if slices.Equal(want.effects, got.effects) && reflect.DeepEqual(want.end, got.end) {
			continue
		}
		n := 0
		for n < min(len(want.effects), len(got.effects)) && want.effects[n] == got.effects[n] {
			n++
		}
		never.show, down.show, down.held = n, n, map[string]int{}
		t.Fatalf("seed %d, written down %d times: input %d is %s\nunwritten it is %s\nthe ends are\n%+v\n%+v", seed,
			got.writes, n, down.play(t, in, seed).shown, never.play(t, in, seed).shown, got.end, want.end)
	}
	t.Logf("%d inputs, written down %d times", inputs, writes)
	for _, f := range stateFields {
		if held[f.Name] == 0 {
			t.Logf("%s held nothing", f.Name)
		}
	}
	for _, name := range []string{"Queue", "Lines", "Waiting", "Round", "Pace", "Pending", "Later", "Excluded"} {
		if held[name] == 0 {
			t.Errorf("%s held nothing in any campaign", name)
		}
	}
}
