package training

import (
	"math"
	"math/rand/v2"
	"time"

	"dialler/engine"
	"dialler/media/amd"
)

// scored is a trace of a person or of a machine with the scores of a
// classifier that has not seen it.
type scored struct {
	t      *trace
	scores []float64
	human  bool
	weight float64
}

// timeout is when a verdict is due while somebody is speaking.
const timeout = 4 * time.Second

// play runs a rule over a trace.
func (s *scored) play(r *amd.Rule) (engine.Verdict, amd.Moment) {
	var m amd.Moment
	for i := range s.t.moments {
		m = s.t.moments[i].Moment
		m.Score, m.Before = s.scores[i], s.scores[max(0, i-1)]
		m.Late = m.At >= timeout
		if v, _ := r.Decide(m); v != "" {
			return v, m
		}
	}
	m.At, m.Pause = s.t.endedAt, 0
	return s.t.ended, m
}

// cost is the cost of a rule: hanging up on people costs most, then keeping them waiting, then
// giving machines to bots.
func cost(set []scored, r *amd.Rule) float64 {
	var people, machines, hungUp, lostPeople, passed, unsure, slow, wait, waited float64
	for i := range set {
		s := &set[i]
		v, m := s.play(r)
		if s.human {
			people += s.weight
			switch v {
			case engine.VerdictMachine:
				hungUp += s.weight
			case engine.VerdictHuman:
				if m.Pause > 960*time.Millisecond {
					slow += s.weight
				}
			default:
				lostPeople += s.weight
			}
		} else {
			machines += s.weight
			switch v {
			case engine.VerdictHuman:
				passed += s.weight
			case engine.VerdictMachine:
			default:
				unsure += s.weight
			}
		}
		wait += s.weight * m.At.Seconds()
		waited += s.weight
	}
	people, machines = math.Max(people, 1e-9), math.Max(machines, 1e-9)
	hungUp, lostPeople, slow = hungUp/people, lostPeople/people, slow/people
	passed, unsure = passed/machines, unsure/machines
	return 14*hungUp + lostPeople + 0.5*slow + passed + unsure + 0.03*wait/waited
}

// tune finds the rule by a random walk from a cautious one.
func tune(set []scored, seed uint64) amd.Rule {
	r := rand.New(rand.NewPCG(seed, 13)) //nolint:gosec // reproducible, no secret
	best := amd.Rule{
		PauseMin: 500 * time.Millisecond, PauseMax: 800 * time.Millisecond, PauseSure: -2, MachinePause: 1.5,
		MachineEarly: 3.5, MachineLate: 2.5, Long: 2500 * time.Millisecond, MachineEnd: 1, HumanEarly: 6,
	}
	least := cost(set, &best)
	for n := range 300 {
		c, size := best, 1.0
		if n > 150 {
			size = 0.4
		}
		shift := func(v *float64, by, low, high float64) {
			if r.IntN(3) == 0 {
				*v = math.Round(100*math.Max(low, math.Min(high, *v+size*by*r.NormFloat64()))) / 100
			}
		}
		pause := func(v *time.Duration, low, high int) {
			if r.IntN(4) == 0 {
				ms := int(v.Milliseconds()) + int(size*200*r.NormFloat64())
				*v = time.Duration(min(high, max(low, ms/20*20))) * time.Millisecond
			}
		}
		pause(&c.PauseMin, 380, 700)
		pause(&c.PauseMax, 500, 920)
		c.PauseMin = min(c.PauseMin, c.PauseMax)
		pause(&c.Long, 1000, 3600)
		shift(&c.PauseSure, 1, -5, 1)
		shift(&c.MachinePause, 0.7, 0, 5)
		shift(&c.MachineEarly, 0.8, 2, 6)
		shift(&c.MachineLate, 0.8, 1, 6)
		shift(&c.MachineEnd, 0.6, 0, 4)
		shift(&c.HumanEarly, 0.8, 2, 7)
		c.MachineEarly = math.Max(c.MachineEarly, c.MachineLate)
		if l := cost(set, &c); l < least-1e-6 {
			best, least = c, l
		}
	}
	return best
}
