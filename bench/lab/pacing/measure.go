package pacing

import (
	"context"
	"embed"
	"fmt"
	"time"

	"dialler/bench/simulate"
	"dialler/engine/callee"
	"dialler/engine/pacing/trial"
)

//go:embed *.yaml
var files embed.FS

// measured is a case with its results, by policy.
type measured struct {
	kase
	name    string
	by      map[trial.Policy]trial.Summary
	dials   int
	misses  []string
	abandon map[trial.Policy]int
}

// plan reads a case. fresh, when not 0, is the first of a set of other seeds.
func plan(k *kase, fresh uint64) (simulate.Plan, error) {
	f, err := files.Open(k.file + ".yaml")
	if err != nil {
		return simulate.Plan{}, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	p, err := simulate.Read(k.file+".yaml", f)
	if fresh > 0 {
		for i := range p.Seeds {
			p.Seeds[i] = fresh + uint64(i)
		}
	}
	return p, err
}

// measure plays cases; tell reports progress.
func measure(ctx context.Context, cases []kase, fresh uint64, change func(*simulate.Plan),
	tell func(string)) ([]measured, error) {
	all := make([]measured, 0, len(cases))
	for _, k := range cases {
		p, err := plan(&k, fresh)
		if err != nil {
			return nil, err
		}
		if change != nil {
			change(&p)
		}
		outcomes, err := simulate.Play(ctx, &p)
		if err != nil {
			return nil, err
		}
		m := measured{kase: k, name: p.Name, by: map[trial.Policy]trial.Summary{}, abandon: map[trial.Policy]int{}}
		for i := range outcomes {
			by := outcomes[i].Summary.Policy
			m.by[by] = outcomes[i].Summary
			for j := range outcomes[i].Runs {
				m.dials += outcomes[i].Runs[j].Dials
				m.abandon[by] += outcomes[i].Runs[j].Counts.Abandoned
			}
		}
		m.judge()
		tell(
			fmt.Sprintf(
				"%-22s hybrid %5.1f  strict %5.1f  %v",
				m.name,
				100*m.by[trial.Hybrid].Clairvoyant,
				100*m.by[trial.Strict].Clairvoyant,
				m.misses,
			),
		)
		all = append(all, m)
	}
	return all, nil
}

func (m *measured) miss(format string, args ...any) {
	m.misses = append(m.misses, fmt.Sprintf(format, args...))
}

// judge compares the results with the targets.
func (m *measured) judge() {
	for _, t := range []struct {
		by    trial.Policy
		least float64
	}{{trial.Hybrid, m.hybrid}, {trial.Strict, m.strict}} {
		s := m.by[t.by]
		if 100*s.Clairvoyant < t.least {
			m.miss("%s reaches %.1f, not %.1f", t.by, 100*s.Clairvoyant, t.least)
		}
		if s.OverEnd > 0 {
			m.miss("%s is over the cap at the end of %d runs", t.by, s.OverEnd)
		}
		if m.none && (m.abandon[t.by] > 0 || s.Clairvoyant != m.by[trial.Progressive].Clairvoyant) {
			m.miss("%s is not as progressive at cap 0", t.by)
		}
	}
	if s := m.by[trial.Strict]; s.OverEver > 0 && !m.cuts {
		m.miss("strict is over the cap at some moment of %d runs", s.OverEver)
	}
	if n := m.abandon[trial.Progressive]; n > 0 && !m.cuts {
		m.miss("progressive abandons %d", n)
	}
}

// means computes the means over the first rows, and whether they reach the prototype's.
func means(all []measured) (hybrid, strict float64, misses []string) {
	for i := range all[:meanOf] {
		hybrid += 100 * all[i].by[trial.Hybrid].Clairvoyant / meanOf
		strict += 100 * all[i].by[trial.Strict].Clairvoyant / meanOf
	}
	if hybrid < meanHybrid {
		misses = append(misses, fmt.Sprintf("the mean of hybrid is %.1f, not %.1f", hybrid, meanHybrid))
	}
	if strict < meanStrict {
		misses = append(misses, fmt.Sprintf("the mean of strict is %.1f, not %.1f", strict, meanStrict))
	}
	return hybrid, strict, misses
}

// speed is how many attempts one core simulates in a minute.
func speed(by trial.Policy, now func() time.Time) float64 {
	sc := callee.Standard()
	dials := 0
	begin := now()
	for seed := range uint64(3) {
		r := trial.Run(&sc, by, 0, seed)
		dials += r.Dials
	}
	return float64(dials) / now().Sub(begin).Minutes()
}
