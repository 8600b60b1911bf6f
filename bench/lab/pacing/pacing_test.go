package pacing

import (
	"context"
	"io/fs"
	"strings"
	"testing"
	"time"

	"dialler/bench/simulate"
	"dialler/engine/pacing/trial"
)

func TestEveryScenarioOfTheFolderIsPlayedAndCanBeMeant(t *testing.T) {
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, k := range append(append([]kase(nil), benchmark...), general...) {
		known[k.file+".yaml"] = true
		p, err := plan(&k, 500)
		if err != nil {
			t.Errorf("%s: %v", k.file, err)
			continue
		}
		if p.Seeds[0] != 500 || len(p.Policies) != 3 || p.Name == k.file+".yaml" {
			t.Errorf("%s: %+v", k.file, p)
		}
	}
	for _, n := range names {
		if !known[n] {
			t.Errorf("%s is not played", n)
		}
	}
	if len(names) != len(known) {
		t.Errorf("%d files, %d cases", len(names), len(known))
	}
}

// The benchmark in small: short days, one seed, no large fleets. The cap must hold as in the long
// ones, and the forecast must be worth its cost.
func TestASmallBenchmarkKeepsTheCapAndBeatsProgressive(t *testing.T) {
	var small []kase
	for _, k := range append(append([]kase(nil), benchmark...), general...) {
		k.hybrid, k.strict = 0, 0 // too short to reach them
		if p, err := plan(&k, 0); err != nil {
			t.Fatal(err)
		} else if _, most := p.Scenario.Workers.Range(); most <= 60 {
			small = append(small, k)
		}
	}
	rows, err := measure(context.Background(), small, 77, func(p *simulate.Plan) {
		p.Scenario.Length, p.Seeds = 40*time.Minute, p.Seeds[:1]
	}, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		m := &rows[i]
		for _, miss := range m.misses {
			t.Errorf("%s: %s", m.name, miss)
		}
		if p, h, s := m.by[trial.Progressive], m.by[trial.Hybrid], m.by[trial.Strict]; !m.none &&
			(h.Clairvoyant < p.Clairvoyant-0.01 || s.Clairvoyant < p.Clairvoyant-0.01) {
			t.Errorf(
				"%s: progressive %.3f, hybrid %.3f, strict %.3f",
				m.name,
				p.Clairvoyant,
				h.Clairvoyant,
				s.Clairvoyant,
			)
		}
	}
}

func TestAMissedTargetIsSaid(t *testing.T) {
	f := func(want string, m measured) {
		t.Helper()
		m.judge()
		if got := strings.Join(m.misses, "; "); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	with := func(k kase, hybrid, strict, progressive trial.Summary, abandoned int) measured {
		return measured{
			kase: k,
			by: map[trial.Policy]trial.Summary{
				trial.Hybrid:      hybrid,
				trial.Strict:      strict,
				trial.Progressive: progressive,
			},
			abandon: map[trial.Policy]int{
				trial.Progressive: abandoned,
				trial.Hybrid:      abandoned,
				trial.Strict:      abandoned,
			},
		}
	}
	good, ask := trial.Summary{Clairvoyant: 0.9}, kase{hybrid: 88, strict: 86}
	f("", with(ask, good, good, trial.Summary{}, 0))
	f("hybrid reaches 80.0, not 88.0", with(ask, trial.Summary{Clairvoyant: 0.8}, good, trial.Summary{}, 0))
	f("strict reaches 80.0", with(ask, good, trial.Summary{Clairvoyant: 0.8}, trial.Summary{}, 0))
	f("", with(ask, trial.Summary{Clairvoyant: 0.9, OverEver: 1}, good, trial.Summary{}, 0))
	f(
		"hybrid is over the cap at the end",
		with(ask, trial.Summary{Clairvoyant: 0.9, OverEnd: 1}, good, trial.Summary{}, 0),
	)
	f(
		"strict is over the cap at some moment",
		with(ask, good, trial.Summary{Clairvoyant: 0.9, OverEver: 1}, trial.Summary{}, 0),
	)
	f("", with(kase{cuts: true}, good, trial.Summary{OverEver: 1}, trial.Summary{}, 3))
	f(
		"strict is over the cap at the end",
		with(kase{cuts: true}, good, trial.Summary{OverEver: 1, OverEnd: 1}, trial.Summary{}, 0),
	)
	f("progressive abandons 1", with(ask, good, good, trial.Summary{}, 1))
	f("not as progressive", with(kase{none: true}, good, trial.Summary{}, trial.Summary{}, 0))
}
