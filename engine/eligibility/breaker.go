package eligibility

import "time"

// After failureCap failures in a row a hook is not asked for the pause; then one question probes
// it.
const (
	failureCap = 5
	pause      = 5 * time.Second
)

// Breaker counts the results of questions. The zero value admits them.
type Breaker struct {
	failures int
	until    time.Time // nobody asks before then; zero means that everybody may
	trying   bool      // the probe is in progress
}

// Admit says whether the hook may be asked now. Note must follow each admission.
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

// Note takes the result of an admitted question.
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

// Open says whether the breaker is open, so that the hook is not asked.
func (b *Breaker) Open() bool { return !b.until.IsZero() }
