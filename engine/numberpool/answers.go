package numberpool

import "math/bits"

// The watch of a number's answer rate (SEMANTICS §7). Callees and carriers label
// numbers as spam without telling: what shows is that fewer people take its
// calls. The alarm is for people; nothing is done by itself, since a poor list
// looks the same.

const (
	answerWindow = 64 // the calls that are judged
	pastWords    = 3  // those before them that they are held against, 64 a word
	// CallsKept is how many ended calls a slot knows of.
	CallsKept = answerWindow * (1 + pastWords)
	// Chance alone makes a share fall by so many standard errors once in 700
	// looks at calls of its own; half the share is what is worth an alarm.
	alarmErrors = 3
)

// Alarm says what is wrong with a number's answer rate.
type Alarm string

const (
	AlarmNone    Alarm = "none"
	AlarmFloor   Alarm = "below_floor" // of the share that its operator expects
	AlarmFalling Alarm = "falling"     // below half of what it was in the 192 calls before
)

// history is the last calls, answered or not, newest first.
type history [1 + pastWords]uint64

func (h *history) push(answered bool) {
	for i := len(h) - 1; i > 0; i-- {
		h[i] = h[i]<<1 | h[i-1]>>63
	}
	h[0] <<= 1
	if answered {
		h[0] |= 1
	}
}

// AnswerRate is the share of answered calls among the last ended ones, at most
// 64; of is how many that are.
func (s *Slot) AnswerRate() (answered, of int) {
	return bits.OnesCount64(s.answers[0]), min(s.endedCount, answerWindow)
}

// Alarm judges the last 64 calls, once there are as many: by the floor of the
// number, and by its own 192 calls before them.
func (s *Slot) Alarm() Alarm {
	answered, of := s.AnswerRate()
	switch {
	case of < answerWindow:
	case answered*100 < s.caps.AnswerFloor*of:
		return AlarmFloor
	case s.endedCount >= CallsKept && s.fell(answered):
		return AlarmFalling
	}
	return AlarmNone
}

// fell: the share is below half of what it was, and by more than chance makes
// it (both shares are of samples).
func (s *Slot) fell(answered int) bool {
	past := 0
	for _, w := range s.answers[1:] {
		past += bits.OnesCount64(w)
	}
	const n, m = float64(answerWindow), float64(answerWindow * pastWords)
	p := float64(past) / m
	short := n*p - float64(answered)
	return float64(answered) < n*p/2 && short*short > alarmErrors*alarmErrors*n*p*(1-p)*(1+n/m)
}
