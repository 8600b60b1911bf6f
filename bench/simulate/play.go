package simulate

import (
	"context"
	"runtime"
	"sync"

	"dialler/engine/sim"
)

// Outcome is what a policy came to: its summary, and its runs in the order of
// the seeds (none of the clairvoyant one, which is worked out).
type Outcome struct {
	Summary sim.Summary
	Runs    []sim.Result
}

// Play plays every policy with every seed, as many runs at a time as there are
// cores. The outcomes stand in the order of the policies, whichever run is done
// first. A cancelled context ends it between two runs.
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
		by   sim.Policy
		seed uint64
		into *sim.Result
	}
	var jobs []job
	all := make([][]Outcome, len(plans))
	for i := range plans {
		p := &plans[i]
		all[i] = make([]Outcome, len(p.Policies))
		for j, by := range p.Policies {
			if by == sim.Clairvoyant {
				all[i][j].Summary = sim.Bound(&p.Scenario)
				continue
			}
			all[i][j].Runs = make([]sim.Result, len(p.Seeds))
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
				*j.into = sim.Run(&j.plan.Scenario, j.by, j.plan.Ratio, j.seed)
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
				o.Summary = sim.Summarise(&p.Scenario, o.Runs)
				if o.Summary.Policy == sim.Ratio {
					o.Summary.Ratio = p.Ratio
				}
			}
		}
	}
	return all, nil
}
