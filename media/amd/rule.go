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
	// MachinePause is the score above which it is a machine that is quiet.
	MachinePause float64 `json:"machine_pause"`
	// HumanPause is the score above which nobody knows who is quiet.
	HumanPause float64 `json:"human_pause"`
	// MachineEarly is asked for while it speaks and has not spoken for Long,
	// MachineLate afterwards, and twice in a row.
	MachineEarly float64       `json:"machine_early"`
	MachineLate  float64       `json:"machine_late"`
	Long         time.Duration `json:"long_ns"`
	// MachineEnd is asked for when time is up.
	MachineEnd float64 `json:"machine_end"`
	// HumanEarly are the odds on a person, the score with its sign turned, that
	// suffice while it still speaks, and has spoken for HumanTalk, twice in a
	// row; 0 is never.
	HumanEarly float64 `json:"human_early"`
}

// HumanTalk is how long a person has spoken who may be taken for one before the
// end of a sentence.
const HumanTalk = time.Second

// humanEnd is the score below which it is a person who still speaks when time is
// up; between it and MachineEnd nobody knows.
const humanEnd = -1

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
		switch {
		case m.Pause < need || m.Score > r.HumanPause && m.Pause < r.PauseMax:
		case m.Score > r.MachinePause:
			return engine.VerdictMachine, p
		case m.Score > r.HumanPause:
			return engine.VerdictUnknown, noneConfidence
		default:
			return engine.VerdictHuman, math.Max(0.5, 1-p)
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
	if !m.Late {
		return "", 0
	}
	switch {
	case m.Score > r.MachineEnd:
		return engine.VerdictMachine, p
	case m.Score < humanEnd:
		return engine.VerdictHuman, 1 - p
	}
	return engine.VerdictUnknown, noneConfidence
}
