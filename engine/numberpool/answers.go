package numberpool

import "math/bits"

// Monitoring of a number's answer rate (SEMANTICS §7). Callees and carriers label numbers as spam
// without notice: the only sign is that fewer people take its calls. The alarm is for people; there
// is no automatic action, since a poor list looks the same.

const (
	answerWindow = 64 // the calls that are judged
	pastWords    = 3  // the earlier calls for comparison, 64 a word
	// CallsKept is how many ended calls a slot remembers.
	CallsKept = answerWindow * (1 + pastWords)
	// alarmErrors is a number of standard errors by which a share falls by chance only once in 700
	// independent checks; below half the share an alarm is justified.
	alarmErrors = 3
)

// Alarm says what is wrong with a number's answer rate.
type Alarm string

const (
	AlarmNone    Alarm = "none"
	AlarmFloor   Alarm = "below_floor" // below the share that its operator expects
	AlarmFalling Alarm = "falling"     // below half of the share in the 192 calls before
)

// history records whether the last calls were answered, newest first.
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

// AnswerRate is the share of answered calls among the last ended ones; of is how many of these
// there are, at most 64.
func (s *Slot) AnswerRate() (answered, of int) {
	return bits.OnesCount64(s.answers[0]), min(s.endedCount, answerWindow)
}

// Alarm judges the last 64 calls, once there are that many: against the number's floor, and against
// its own 192 calls before them.
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

// fell says that the share is below half of its former value, and by more than chance allows (both
// shares are samples).
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
