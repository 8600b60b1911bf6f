package simulate

import (
	"context"
	"runtime"
	"sync"

	"dialler/engine/pacing/trial"
)

// Outcome is the result of a policy: its summary, and its runs in the order of the seeds (none for
// the clairvoyant one, which is calculated).
type Outcome struct {
	Summary trial.Summary
	Runs    []trial.Result
}

// Play plays every policy with every seed, as many runs at a time as there are cores. The outcomes
// are in the order of the policies, whichever run finishes first. A cancelled context stops it
// between two runs.
func Play(ctx context.Context, p *Plan) ([]Outcome, error) {
	all, err := PlayAll(ctx, []Plan{*p})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// PlayAll plays several plans together; the outcomes are in their order.
func PlayAll(ctx context.Context, plans []Plan) ([][]Outcome, error) {
	type job struct {
		plan *Plan
		by   trial.Policy
		seed uint64
		into *trial.Result
	}
	var jobs []job
	all := make([][]Outcome, len(plans))
	for i := range plans {
		p := &plans[i]
		all[i] = make([]Outcome, len(p.Policies))
		for j, by := range p.Policies {
			if by == trial.Clairvoyant {
				all[i][j].Summary = trial.Bound(&p.Scenario)
				continue
			}
			all[i][j].Runs = make([]trial.Result, len(p.Seeds))
			for k, seed := range p.Seeds {
				jobs = append(jobs, job{p, by, seed, &all[i][j].Runs[k]})
			}
		}
	}
	next := make(chan job)
	var players sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(jobs)) {
		players.Go(func() {
			for j := range next {
				*j.into = trial.Run(&j.plan.Scenario, j.by, j.plan.Ratio, j.seed)
			}
		})
	}
	for _, j := range jobs {
		if ctx.Err() != nil {
			break
		}
		next <- j
	}
	close(next)
	players.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for i := range plans {
		p := &plans[i]
		for j := range all[i] {
			if o := &all[i][j]; len(o.Runs) > 0 {
				o.Summary = trial.Summarise(&p.Scenario, o.Runs)
				if o.Summary.Policy == trial.Ratio {
					o.Summary.Ratio = p.Ratio
				}
			}
		}
	}
	return all, nil
}
