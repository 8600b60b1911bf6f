package chaos

import (
	"fmt"
	"math/rand/v2"
	"time"

	"dialler/bench/carrier"
)

// how says what a kill waits for.
type how string

const (
	// atRandom: at any moment of the life.
	atRandom how = "at random"
	// atStart: right after the restart, while the life before is being cleared up.
	atStart how = "right after the restart"
	// atStep: the moment a call reaches a step at the carrier.
	atStep how = "at a step of a call"
	// settled: after the life has been judged by the carrier.
	settled how = "after five seconds"
)

// step is a moment of a call as the carrier sees it.
type step string

const (
	stepInvited  step = "INVITE"
	stepRinging  step = "180"
	stepAnswered step = "200"
	stepAcked    step = "ACK"
	stepTalking  step = "first audio of the bot"
	stepEnded    step = "end"
)

var steps = []step{stepInvited, stepRinging, stepAnswered, stepAcked, stepTalking, stepEnded}

// at is when the call reached the step, zero while it has not.
func (s step) at(c *carrier.Call) time.Time {
	switch s {
	case stepInvited:
		return c.InviteAt
	case stepRinging:
		return c.RingingAt
	case stepAnswered:
		return c.AnsweredAt
	case stepAcked:
		if c.AnsweredAt.IsZero() {
			return time.Time{}
		}
		return c.AckAt
	case stepTalking:
		return c.RTP.AudioAt
	case stepEnded:
		return c.EndedAt
	}
	return time.Time{}
}

// kill is one planned kill.
type kill struct {
	how   how
	after time.Duration // from the start of the life, or of the campaign
	step  step          // for atStep: the first one after that time
	delay time.Duration // from the step to the kill
	down  time.Duration // from the kill to the restart
}

func (k kill) String() string {
	down := k.down.Round(time.Millisecond)
	if k.how == atStep {
		return fmt.Sprintf("%v after a call's %s; down for %v", k.delay.Round(time.Millisecond), k.step, down)
	}
	return fmt.Sprintf("%s, %v; down for %v", k.how, k.after.Round(time.Millisecond), down)
}

// settleTime is how long after a restart the carrier has no call left that the
// dialler does not own.
const settleTime = 5 * time.Second

// draw makes the plan of a campaign: of every four kills one of each kind, in
// any order.
func drawPlan(r *rand.Rand, n int) []kill {
	span := func(lo, hi time.Duration) time.Duration { return lo + time.Duration(r.Int64N(int64(hi-lo))) }
	kinds := []how{atRandom, atStart, atStep, settled}
	var plan []kill
	for len(plan) < n {
		r.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
		if len(plan) == 0 && kinds[0] == atStart { // there was no restart yet
			kinds[0], kinds[1] = kinds[1], kinds[0]
		}
		for _, kind := range kinds[:min(len(kinds), n-len(plan))] {
			k := kill{how: kind}
			switch kind {
			case atRandom:
				k.after = span(200*time.Millisecond, 6*time.Second)
			case atStart:
				k.after = span(0, 1500*time.Millisecond)
			case atStep:
				k.after, k.step, k.delay = span(500*time.Millisecond, 2*time.Second), steps[r.IntN(len(steps))], span(0, 40*time.Millisecond)
			case settled:
				k.after = settleTime + span(200*time.Millisecond, 1500*time.Millisecond)
			}
			if r.IntN(2) == 0 { // the world goes on: callees hang up, bots report
				k.down = span(0, 2*time.Second)
			}
			plan = append(plan, k)
		}
	}
	return plan
}
