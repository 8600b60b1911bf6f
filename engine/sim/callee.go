package sim

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
)

// callees say what becomes of a dial.
type callees struct {
	sc              *Scenario
	seed            uint64
	person, machine lognormal // s from the dial to the answer
	talk            lognormal // s of a long talk
}

// Fate is what becomes of one dial.
type Fate struct {
	Answered bool
	Machine  bool
	Ring     time.Duration // from the dial to the answer, or to the end of the line
	Talk     time.Duration // for how long the callee stays once there is a worker
}

// FateOf says what becomes of dial number i, from 1, placed at t.
func FateOf(sc *Scenario, seed, i uint64, t time.Duration) Fate {
	c := newCallees(sc, seed)
	return c.dial(i, t)
}

func newCallees(sc *Scenario, seed uint64) callees {
	r, s := sc.RingMean.Seconds(), sc.RingSD.Seconds()
	c := callees{sc: sc, seed: seed, person: lognormalOf(r, s), machine: lognormalOf(machineR*r, machineS*s)}
	if sc.Short < 1 {
		long := sc.longTalk()
		c.talk = lognormalOf(long, talkSpread*long)
	}
	return c
}

// dial number i is placed at t.
func (c *callees) dial(i uint64, t time.Duration) Fate {
	u := chanceOf(c.seed, i)
	var f Fate
	if u.at(drawAnswered) < c.sc.Answer.At(t) {
		f.Machine = u.at(drawMachine) < c.sc.Machines
		if f.Machine {
			f.Ring = c.machine.of(u.at(drawRing))
		} else {
			f.Ring = c.person.of(u.at(drawRing))
		}
		f.Answered = f.Ring < c.sc.Timeout
	}
	switch {
	case !f.Answered:
		f.Ring = c.sc.Timeout
		if u.at(drawFails) < failFast {
			f.Ring = min(failLeast+time.Duration(u.at(drawFailTime)*float64(failMost-failLeast)), c.sc.Timeout)
		}
	case f.Machine:
		f.Talk = c.sc.Hold
	default:
		talk := seconds(-shortTalk * math.Log(u.at(drawTalk)))
		if u.at(drawShort) >= c.sc.Short {
			talk = c.talk.of(u.at(drawTalk))
		}
		f.Talk = time.Duration(float64(talk) * c.sc.TalkFactor.At(t))
	}
	return f
}
