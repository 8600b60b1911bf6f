package amd

import (
	"math"
	"time"

	"dialler/engine"
)

// Rule turns the classifier's scores into a verdict while the call goes on.
// It is not symmetric: a person taken for a machine is hung up on, a machine
// taken for a person costs some seconds of a bot. Scores are log-odds of a
// machine.
type Rule struct {
	// PauseMin is how long a person who is surely one must have been quiet,
	// PauseMax whoever is not; PauseSure is the score below which a person is
	// sure.
	PauseMin  time.Duration `json:"pause_min_ns"`
	PauseMax  time.Duration `json:"pause_max_ns"`
	PauseSure float64       `json:"pause_sure"`
	// MachinePause is the score above which it is a machine that is quiet; whoever
	// is no machine is a person.
	MachinePause float64 `json:"machine_pause"`
	// MachineEarly is asked for while it speaks and has not spoken for Long,
	// MachineLate afterwards, and twice in a row.
	MachineEarly float64       `json:"machine_early"`
	MachineLate  float64       `json:"machine_late"`
	Long         time.Duration `json:"long_ns"`
	// MachineEnd is asked for when time is up; whoever has less is a person.
	MachineEnd float64 `json:"machine_end"`
	// HumanEarly are the odds on a person, the score with its sign turned, that
	// suffice while it still speaks, and has spoken for HumanTalk, twice in a
	// row; 0 is never.
	HumanEarly float64 `json:"human_early"`
}

// HumanTalk is how long a person has spoken who may be taken for one before the
// end of a sentence.
const HumanTalk = time.Second

// Moment is what the rule sees, every 80 ms of a call on which speech was
// heard.
type Moment struct {
	At, Talk, Pause time.Duration
	Score, Before   float64 // of this moment and of the one before
	Late            bool    // time is up
}

// Decide gives a verdict and its confidence when the evidence suffices.
func (r *Rule) Decide(m Moment) (engine.Verdict, float64) {
	p := probability(m.Score)
	if m.Pause > 0 {
		need := r.PauseMax
		if m.Score < r.PauseSure {
			need = r.PauseMin
		}
		if m.Pause >= need {
			return r.sides(m.Score > r.MachinePause, p)
		}
	}
	least := math.Min(m.Score, m.Before)
	bar := r.MachineEarly
	if m.Talk >= r.Long {
		bar = r.MachineLate
	}
	if m.Pause < 200*time.Millisecond && least > bar {
		return engine.VerdictMachine, p
	}
	if r.HumanEarly > 0 && m.Pause == 0 && m.Talk >= HumanTalk && math.Max(m.Score, m.Before) < -r.HumanEarly {
		return engine.VerdictHuman, 1 - p
	}
	if m.Late {
		return r.sides(m.Score > r.MachineEnd, p)
	}
	return "", 0
}

// sides says which of the two it is: nobody is hung up on in doubt.
func (r *Rule) sides(machine bool, p float64) (engine.Verdict, float64) {
	if machine {
		return engine.VerdictMachine, math.Max(noneConfidence, p)
	}
	return engine.VerdictHuman, math.Max(noneConfidence, 1-p)
}
