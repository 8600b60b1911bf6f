package load

import (
	"context"
	"errors"
)

// Search contains the highest rate that succeeded, and every run of the search.
type Search struct {
	Max    int        `json:"max"` // calls/s; 0: even the first rate failed
	Best   *Figures   `json:"best,omitempty"`
	Probes []*Figures `json:"probes"`
}

// FindMax searches for the highest rate at which a run is good: first by half more each time, then
// by bisection down to Config.Step.
func FindMax(ctx context.Context, cfg Config) (*Search, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if cfg.calls() > 0 && cfg.Duration.Seconds() < 10 {
		return nil, errors.New("load: --find-max needs a --duration of at least 10s")
	}
	s := &Search{}
	err = search(cfg.Rate, cfg.MaxRate, cfg.Step, func(rate int) (bool, error) {
		c := cfg
		c.Rate = rate
		f, err := Run(ctx, c)
		if err != nil {
			return false, err
		}
		s.Probes = append(s.Probes, f)
		good, why := f.Good()
		if good {
			cfg.Log("%d/s: good (engine %.3f ms per call, reached %.1f/s)", rate, f.CPU.Engine, f.Reached)
			if rate > s.Max {
				s.Max, s.Best = rate, f
			}
		} else {
			cfg.Log("%d/s: %s", rate, why)
		}
		return good, nil
	})
	return s, err
}

// search probes rates from low upwards and closes in on the highest good one.
// A rate that failed once is tried again: one hiccup of a shared machine is
// not the engine's limit.
func search(low, most, step int, probe func(rate int) (bool, error)) error {
	try := func(rate int) (bool, error) {
		ok, err := probe(rate)
		if err != nil || ok {
			return ok, err
		}
		return probe(rate)
	}
	good, bad := 0, 0
	for rate := low; bad == 0; {
		ok, err := try(rate)
		if err != nil {
			return err
		}
		switch {
		case ok && rate >= most:
			return nil
		case ok:
			good, rate = rate, min(rate+max(rate/2, step), most)
		default:
			bad = rate
		}
	}
	for bad-good > step {
		mid := (good + bad) / 2
		ok, err := try(mid)
		if err != nil {
			return err
		}
		if ok {
			good = mid
		} else {
			bad = mid
		}
	}
	return nil
}
