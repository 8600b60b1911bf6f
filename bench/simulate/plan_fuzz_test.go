package simulate

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"dialler/engine"
)

// FuzzScenarioFile checks that whatever a scenario contains, it can be played or is refused by
// name.
func FuzzScenarioFile(f *testing.F) {
	for _, s := range []string{
		"N: {steps: [{at: 0, value: 60}, {at: 20m, value: 30}]}\np: {base: 30%, sines: [{amp: 0.1, period: 2h, phase: " +
			"1.5}]}\ncontacts: 5000\nseeds: [3, 1]\npolicies: [hybrid, ratio]\nratio: 2.5\n",
		"talk_factor: {base: 1, repeat: {period: 1h, pieces: [{start: 0, end: 600, value: 2}]}}\nM: 1m30s\ns: 20%\nT: 2h\n",
		"N: .nan\n", "p: 1e400\n", "R: -1\nT: 1e9h\n", "a: &a {b: *a}\n", "N: [1]\n", "seeds: 18446744073709551616\n",
		"---\n---\n", "campaign: {contacts: 3}\n", "N: 1\nN: 2\n", "T: 31d\n", "c: 3%%\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 8192 {
			return
		}
		p, err := Read("fuzz.yaml", strings.NewReader(text))
		if err != nil {
			var e *engine.Error
			if !errors.As(err, &e) || e.Code != "invalid_scenario" || !strings.Contains(err.Error(), "fuzz.yaml") {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		for at := time.Duration(0); at < p.Scenario.Length; at += p.Scenario.Length/7 + 1 {
			n, share, talk := p.Scenario.Workers.At(at), p.Scenario.Answer.At(at), p.Scenario.TalkFactor.At(at)
			if !(n >= 0) || math.IsInf(n, 0) || !(share >= 0 && share <= 1) || !(talk > 0) || math.IsInf(talk, 0) {
				t.Fatalf("%q: at %v %v workers, %v answered, talk times %v", text, at, n, share, talk)
			}
		}
		if len(p.Seeds) == 0 || len(p.Policies) == 0 {
			t.Fatalf("%q plays nothing: %+v", text, p)
		}
	})
}
