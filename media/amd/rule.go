package amd

import (
	"math"
	"time"

	"dialler/engine"
)

// Rule turns the classifier's scores into a verdict during the call. It is not symmetric: a person
// taken for a machine is hung up on, a machine taken for a person costs some seconds of a bot.
// Scores are log-odds of a machine.
type Rule struct {
	// PauseMin is how long a sure person must have been quiet, PauseMax any other speaker;
	// PauseSure is the score below which a person is sure.
	PauseMin  time.Duration `json:"pause_min_ns"`
	PauseMax  time.Duration `json:"pause_max_ns"`
	PauseSure float64       `json:"pause_sure"`
	// MachinePause is the score above which a quiet speaker is a machine; below it, a person.
	MachinePause float64 `json:"machine_pause"`
	// MachineEarly is the required score of a machine while it speaks and has not spoken for Long,
	// MachineLate after that, both twice in a row.
	MachineEarly float64       `json:"machine_early"`
	MachineLate  float64       `json:"machine_late"`
	Long         time.Duration `json:"long_ns"`
	// MachineEnd is the required score of a machine when time is up; below it, the call is a
	// person's.
	MachineEnd float64 `json:"machine_end"`
	// HumanEarly is the required score of a person (with the sign reversed) while they still speak
	// and have spoken for HumanTalk, twice in a row; 0 means never.
	HumanEarly float64 `json:"human_early"`
}

// HumanTalk is how long someone must have spoken to be classified as a person before the end of a
// sentence.
const HumanTalk = time.Second

// Moment is the rule's input, every 80 ms of a call with speech.
type Moment struct {
	At, Talk, Pause time.Duration
	Score, Before   float64 // at this moment and at the one before
	Late            bool    // time is up
}

// Decide returns a verdict and its confidence once the evidence is sufficient.
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

// sides returns which of the two it is; in doubt, nobody is hung up on.
func (r *Rule) sides(machine bool, p float64) (engine.Verdict, float64) {
	if machine {
		return engine.VerdictMachine, math.Max(noneConfidence, p)
	}
	return engine.VerdictHuman, math.Max(noneConfidence, 1-p)
}
