package sipstack

import (
	"time"

	"dialler/engine"
)

// SendDigit sends one key (0-9, *, #, A-D) of an answered leg in an INFO
// (application/dtmf-relay), after those that were given before it. It is false
// when the leg is not answered or too many keys wait.
func (s *Stack) SendDigit(id engine.LegID, key byte, duration time.Duration) bool {
	return false
}
