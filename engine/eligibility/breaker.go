package eligibility

import "time"

// A hook that fails so often in a row is not asked for so long; then one question
// tries it.
const (
	failureCap = 5
	pause      = 5 * time.Second
)

// Breaker counts what became of questions. The zero value lets them through.
type Breaker struct {
	failures int
	until    time.Time // nobody asks before; zero: everybody may
	trying   bool      // the one question is under way
}

// Admit says whether the hook is asked now. Note follows each admission.
func (b *Breaker) Admit(now time.Time) bool {
	switch {
	case b.until.IsZero():
		return true
	case b.trying || now.Before(b.until):
		return false
	}
	b.trying = true
	return true
}

// Note takes what became of an admitted question.
func (b *Breaker) Note(answered bool, now time.Time) {
	b.trying = false
	if answered {
		b.failures, b.until = 0, time.Time{}
		return
	}
	if b.failures++; b.failures >= failureCap {
		b.until = now.Add(pause)
	}
}

// Open says whether the hook is left alone.
func (b *Breaker) Open() bool { return !b.until.IsZero() }
