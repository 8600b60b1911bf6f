package callee

import (
	"math"
	"time"
)

// Draws of one dial.
const (
	drawAnswered = iota + 1
	drawMachine
	drawRing
	drawFails
	drawFailTime
	drawShort
	drawTalk
	drawTook
)

// Callees determine the fate of dials.
type Callees struct {
	sc              *Scenario
	seed            uint64
	person, machine lognormal // s from the dial to the answer
	talk            lognormal // s of a long talk
}

// Fate is the fate of one dial.
type Fate struct {
	Answered bool
	Machine  bool
	Ring     time.Duration // from the dial to the answer, or to the end of the line
	// Talk is how long the callee stays once there is a worker; for measured people, from the
	// answer on.
	Talk time.Duration

	// The rest is known only for measured people.

	Refused bool          // the far side refused, by Kind
	Took    time.Duration // from the answer to the verdict of Kind
	Kind    *Kind
}

// FateOf returns the fate of dial number i, from 1, placed at t.
func FateOf(sc *Scenario, seed, i uint64, t time.Duration) Fate {
	c := New(sc, seed)
	return c.Dial(i, t)
}

// New returns the callees of a scenario.
func New(sc *Scenario, seed uint64) Callees {
	r, s := sc.RingMean.Seconds(), sc.RingSD.Seconds()
	c := Callees{sc: sc, seed: seed, person: lognormalOf(r, s), machine: lognormalOf(machineR*r, machineS*s)}
	if sc.Short < 1 {
		long := sc.longTalk()
		c.talk = lognormalOf(long, talkSpread*long)
	}
	return c
}

// Dial returns the fate of dial number i, placed at t.
func (c *Callees) Dial(i uint64, t time.Duration) Fate {
	u := ChanceOf(c.seed, i)
	var f Fate
	if u.At(drawAnswered) < c.sc.Answer.At(t) {
		f.Machine = u.At(drawMachine) < c.sc.Machines
		if f.Machine {
			f.Ring = c.machine.of(u.At(drawRing))
		} else {
			f.Ring = c.person.of(u.At(drawRing))
		}
		f.Answered = f.Ring < c.sc.Timeout
	}
	switch {
	case !f.Answered:
		f.Ring = c.sc.Timeout
		if u.At(drawFails) < failFast {
			f.Ring = min(failLeast+time.Duration(u.At(drawFailTime)*float64(FastFailMost-failLeast)), c.sc.Timeout)
		}
	case f.Machine:
		f.Talk = c.sc.Hold
	default:
		talk := seconds(-shortTalk * math.Log(u.At(drawTalk)))
		if u.At(drawShort) >= c.sc.Short {
			talk = c.talk.of(u.At(drawTalk))
		}
		f.Talk = time.Duration(float64(talk) * c.sc.TalkFactor.At(t))
	}
	return f
}
