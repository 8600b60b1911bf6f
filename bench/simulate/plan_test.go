package simulate

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/callee"
	"dialler/engine/pacing/trial"
)

func read(text string) (Plan, error) { return Read("x.yaml", strings.NewReader(text)) }

func TestAScenarioFileSaysEveryParameter(t *testing.T) {
	p, err := read(`
name: everything
N: {steps: [{at: 0, value: 60}, {at: 20m, value: 30}]}
p: {base: 30%, sines: [{amp: 0.1, period: 2h, phase: 1.5}, {amp: 0.05, period: 600}]}
talk_factor: {base: 1, repeat: {period: 1h, pieces: [{start: 0, end: 600, value: 2}]}}
R: 10
S: 5s
timeout: 30
m: 0.1
M: 1m30s
s: 20%
a: 2.5
W: 1500ms
c: 3%
T: 2h
contacts: 5000
seeds: [3, 1]
policies: [hybrid, ratio, clairvoyant]
ratio: 2.5
`)
	if err != nil {
		t.Fatal(err)
	}
	want := Plan{
		Name: "everything", Seeds: []uint64{3, 1},
		Policies: []trial.Policy{trial.Hybrid, trial.Ratio, trial.Clairvoyant}, Ratio: 2.5,
		Scenario: callee.Scenario{
			Workers: callee.Schedule{Steps: []callee.Step{{At: 0, Value: 60}, {At: 20 * time.Minute, Value: 30}}},
			Answer: callee.Schedule{Base: 0.3, Sines: []callee.Sine{{Amplitude: 0.1, Period: 2 * time.Hour, Phase: 1.5},
				{Amplitude: 0.05, Period: 10 * time.Minute}}},
			TalkFactor: callee.Schedule{
				Base:   1,
				Period: time.Hour,
				Pieces: []callee.Piece{{Start: 0, End: 10 * time.Minute, Value: 2}},
			},
			RingMean: 10 * time.Second, RingSD: 5 * time.Second, Timeout: 30 * time.Second,
			Machines: 0.1, TalkMean: 90 * time.Second,
			Short: 0.2, Hold: 2500 * time.Millisecond, Wait: 1500 * time.Millisecond, Cap: 0.03, Length: 2 * time.Hour,
			Contacts: 5000,
		},
	}
	if !reflect.DeepEqual(p, want) {
		t.Errorf("got  %+v\nwant %+v", p, want)
	}
}

func TestWhatAScenarioFileLeavesOutIsUsual(t *testing.T) {
	p, err := read("N: 12\nseeds: 3\n")
	if err != nil {
		t.Fatal(err)
	}
	want := Standard()
	want.Name, want.Scenario.Workers, want.Seeds = "x.yaml", callee.Always(12), []uint64{1, 2, 3}
	if !reflect.DeepEqual(p, want) {
		t.Errorf("got  %+v\nwant %+v", p, want)
	}
}

func TestAWrongScenarioFileIsRefusedWithLineAndKey(t *testing.T) {
	f := func(text string, want ...string) {
		t.Helper()
		_, err := read(text)
		var e *engine.Error
		if !errors.As(err, &e) || e.Code != "invalid_scenario" {
			t.Errorf("%q: %v", text, err)
			return
		}
		for _, w := range want {
			if !strings.Contains(e.Detail, w) {
				t.Errorf("%q: %q does not say %q", text, e.Detail, w)
			}
		}
	}
	f("", "empty")
	f("# nothing\n", "empty")
	f("- 1\n", "x.yaml:1", "mapping")
	f("N: 50\nP: 0.3\n", "x.yaml:2: P:", "valid keys are", "talk_factor")
	f("N: 50\nN: 60\n", "x.yaml:2: N:", "twice")
	f("N: [1\n", "not valid YAML", "line")
	f("N: many\n", "x.yaml:1: N:", "a number")
	f("N:\n", "x.yaml:1: N:", "a number")
	f("N: .nan\n", "x.yaml:1: N:", "a number")
	f("N: -1\n", "x.yaml:1: N:", "from 0")
	f("T: 8h\np: 1.2\n", "x.yaml:2: p:", "from 0 to 1")
	f("p: {base: 0.9, sines: [{amp: 0.2, period: 60}]}\n", "x.yaml:1: p:", "1.1")
	f("p: {sines: [{amp: 0.2, period: 60}]}\n", "p:", "base")
	f("p: {base: 0.3, sines: [{amp: 0.2}]}\n", "p.sines", "period is missing")
	f("p: {base: 0.3, sines: [{amp: 0.2, period: 0}]}\n", "x.yaml:1: p.sines.period", "more than 0")
	f("p: {base: 0.3, sines: []}\n", "p.sines", "1 to")
	f(
		"p: {base: 0.3, sines: [{amp: 0.1, period: 60}], repeat: {period: 1h, pieces: [{start: 0, end: 1, value: 0}]}}\n",
		"cannot be combined",
	)
	f("p: {base: 0.3, steps: [{at: 0, value: 0.1}]}\n", "x.yaml:1: p:", "the only key")
	f("p:\n  steps:\n  - {at: 0, value: 0.1}\n  - {at: 5m, worth: 0.2}\n", "x.yaml:4: p.steps.worth", "at, value")
	f("p: {steps: [{at: 5m, value: 0.1}, {at: 1m, value: 0.2}]}\n", "p.steps", "order")
	f("N: {base: 3, repeat: {period: 1h, pieces: [{start: 30m, end: 20m, value: 1}]}}\n", "N.repeat.pieces")
	f("N: {base: 3, repeat: {period: 1h, pieces: [{start: 0, end: 2h, value: 1}]}}\n", "N.repeat.pieces")
	f("T: yesterday\n", "x.yaml:1: T:", "8h")
	f("T: 1e300\n", "x.yaml:1: T:", "8h")
	f("R: 12\nT: 1s\n", "x.yaml:2: T:", "1m")
	f("c: 80%\n", "x.yaml:1: c:", "0.5")
	f("policies: [hybrid, best]\n", "x.yaml:1: policies:", "best", "strict")
	f("policies: [hybrid, hybrid]\n", "twice")
	f("policies: []\n", "policies")
	f("seeds: 0\n", "x.yaml:1: seeds:", "1 to 1000")
	f("seeds: [1, x]\n", "x.yaml:1: seeds:", "whole number")
	f("ratio: 0\n", "x.yaml:1: ratio:", "more than 0")
	f("contacts: -1\n", "x.yaml:1: contacts:")
	f("N: 1\n---\nN: 2\n", "second document")
	f("name: "+strings.Repeat("x", 300)+"\n", "200 bytes")
	f("name: \""+strings.Repeat("x", fileMost)+"\"\n", "1 MiB")
}
