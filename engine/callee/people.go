package callee

import (
	"math"
	"time"

	"dialler/engine/campaign"
)

// People are the callees of a campaign, as they were measured or are assumed.
type People struct {
	Answer   float64 `json:"answer_rate"`   // of dials, before the ring timeout; machines among them
	Machines float64 `json:"machine_share"` // of the answers
	Ring     float64 `json:"ring_s"`        // mean time to the answer
	RingSD   float64 `json:"ring_sd_s"`     // its standard deviation
	Talk     float64 `json:"talk_s"`        // mean talk of persons
	Short    float64 `json:"short_share"`   // of the talks, of people who hang up after 8 s in the mean
}

// Assumed are the people of the standard scenario.
func Assumed() People {
	s := Standard()
	return People{Answer: s.Answer.Base, Machines: s.Machines, Ring: s.RingMean.Seconds(), RingSD: s.RingSD.Seconds(), Talk: s.TalkMean.Seconds(), Short: s.Short}
}

const (
	measuredLeast = 50 // dials, for a rate of answers
	answersLeast  = 20 // answers or talks, for how long and of whom
)

// Measured takes what was measured where that says something, and the rest of those
// that are assumed; ok is false when that is all of it. Without detection nobody
// knows of machines.
func Measured(p *campaign.Behaviour, detects bool) (m People, ok bool) {
	m = Assumed()
	if !detects {
		m.Machines = 0
	}
	if p.Dials < measuredLeast {
		return m, false
	}
	m.Answer = float64(p.Answered) / float64(p.Dials)
	if p.Answered >= answersLeast {
		m.Ring, m.RingSD = p.Ring, p.RingSD
		if detects {
			m.Machines = float64(p.Machines) / float64(p.Answered)
		}
	}
	if p.Talks >= answersLeast {
		// Of exponential talks, 1 - 1/e are shorter than their mean.
		m.Talk, m.Short = p.Talk, float64(p.Short)/float64(p.Talks)/(1-1/math.E)
	}
	return m.within(), true
}

// within moves what no scenario can have to its next limit, and rounds.
func (m People) within() People {
	clamp := func(v *float64, least, most, step float64) {
		*v = math.Round(min(max(*v, least), most)/step) * step
		*v = math.Round(*v*1e6) / 1e6
	}
	clamp(&m.Answer, 0, 1, 0.001)
	clamp(&m.Machines, 0, 0.99, 0.001)
	clamp(&m.Ring, 1, 120, 0.1)
	clamp(&m.RingSD, 0, 120, 0.1)
	clamp(&m.Talk, 1, 4*3600, 0.1)
	clamp(&m.Short, 0, 1, 0.001)
	return m
}

// Scenario gives the laws by which so many of them answer before the ring
// timeout, and ring and talk for so long.
func (m People) Scenario(timeout time.Duration) Scenario {
	m = m.within()
	s := Standard()
	s.Timeout, s.Machines = timeout, m.Machines
	s.RingMean = max(seconds(m.Ring/(1+(machineR-1)*m.Machines)), time.Second)
	s.RingSD = seconds(m.RingSD)
	s.TalkMean, s.Short = seconds(m.Talk), m.Short
	// The long talks must last a second in the mean at least.
	s.Short = min(s.Short, max(0, (m.Talk-1)/(shortTalk-1)*0.999))
	if m.Talk < shortTalk && s.Short < 1 && s.longTalk() < 1 {
		s.Short = 0
	}
	before := (1-m.Machines)*lognormalOf(s.RingMean.Seconds(), s.RingSD.Seconds()).below(timeout) +
		m.Machines*lognormalOf(machineR*s.RingMean.Seconds(), machineS*s.RingSD.Seconds()).below(timeout)
	s.Answer = Always(min(1, m.Answer/max(before, 0.01)))
	return s
}

// below is the probability of less than t.
func (d lognormal) below(t time.Duration) float64 {
	z := math.Log(t.Seconds()) - d.mu
	if d.sigma == 0 {
		if z > 0 {
			return 1
		}
		return 0
	}
	return 0.5 * math.Erfc(-z/d.sigma/math.Sqrt2)
}
