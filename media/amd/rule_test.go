package amd

import (
	"testing"
	"time"

	"dialler/engine"
)

func TestAMachineNeedsMoreEvidenceThanAPerson(t *testing.T) {
	r := Rule{
		PauseMin: 400 * time.Millisecond, PauseMax: 800 * time.Millisecond, PauseSure: -2, MachinePause: 2,
		MachineEarly: 4, MachineLate: 3, Long: 2500 * time.Millisecond, MachineEnd: 2,
	}
	f := func(name string, m Moment, want engine.Verdict) {
		t.Helper()
		if got, confidence := r.Decide(m); got != want || got != "" && (confidence < 0.5 || confidence > 1) {
			t.Errorf("%s: %s %.2f, want %q", name, got, confidence, want)
		}
	}
	const ms = time.Millisecond
	f("sure and quiet", Moment{Talk: 500 * ms, Pause: 400 * ms, Score: -3, Before: -3}, engine.VerdictHuman)
	f("not so sure, quiet for as long", Moment{Talk: 500 * ms, Pause: 400 * ms, Score: -1, Before: -1}, "")
	f("not so sure, quiet for longer", Moment{Talk: 500 * ms, Pause: 800 * ms, Score: -1, Before: -1}, engine.VerdictHuman)
	f("it is quiet and doubtful", Moment{Talk: 900 * ms, Pause: 800 * ms, Score: 1, Before: 1}, engine.VerdictHuman)
	f("a machine that is quiet", Moment{Talk: 900 * ms, Pause: 800 * ms, Score: 2.5, Before: 2}, engine.VerdictMachine)
	f("it speaks, the odds are 20 to 1", Moment{Talk: 1500 * ms, Score: 3.5, Before: 3.5}, "")
	f("the same, and it has spoken long", Moment{Talk: 2500 * ms, Score: 3.5, Before: 3.5}, engine.VerdictMachine)
	f("once is not enough", Moment{Talk: 2500 * ms, Score: 3.5, Before: 1}, "")
	f("time is up", Moment{Talk: 2500 * ms, Score: 2.5, Before: 1, Late: true}, engine.VerdictMachine)
	f("time is up and it is doubtful", Moment{Talk: 2500 * ms, Score: 1, Before: 1, Late: true}, engine.VerdictHuman)
	f("time is up, a person rather", Moment{Talk: 2500 * ms, Score: -1.5, Before: 1, Late: true}, engine.VerdictHuman)
	f("a sure person speaks on", Moment{Talk: 1500 * ms, Score: -5, Before: -5}, "")
	r.HumanEarly = 4
	f("the same, and that suffices", Moment{Talk: 1500 * ms, Score: -5, Before: -5}, engine.VerdictHuman)
	f("once is not enough for that either", Moment{Talk: 1500 * ms, Score: -5, Before: -3}, "")
	f("it has hardly spoken", Moment{Talk: 800 * ms, Score: -5, Before: -5}, "")
}

func TestTheShippedRuleIsCareful(t *testing.T) {
	r := Shipped().Rule
	if r.PauseMin < 380*time.Millisecond || r.PauseMax > 950*time.Millisecond || r.MachineEarly < r.MachineLate ||
		r.MachineLate < 1 || r.HumanEarly > 0 && r.HumanEarly < 2 {
		t.Fatalf("%+v", r)
	}
}

func TestAModelOfOtherFeaturesIsRefused(t *testing.T) {
	m := *Shipped()
	m.Features = append([]string{"shoe_size"}, m.Features[1:]...)
	if err := m.Check(); err == nil {
		t.Fatal("accepted")
	}
	m.Features = m.Features[1:]
	if err := m.Check(); err == nil {
		t.Fatal("accepted")
	}
	if _, err := ReadModel([]byte("{")); err == nil {
		t.Fatal("accepted")
	}
}
