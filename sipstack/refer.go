package sipstack

import "dialler/engine"

// AnswerRefer answers the REFER that LegReferred told of: 202 with the NOTIFY
// that RFC 3515 §2.4.4 wants at once, or 603. It is false when none waits for
// an answer: it was answered before, or declined because nobody answered in
// 16*T1.
func (s *Stack) AnswerRefer(id engine.LegID, accept bool) bool {
	return false
}

// NotifyRefer tells the far side how the transfer goes that it asked for: the
// status code of the transferred call and its reason phrase (RFC 3515 §2.4.5).
// A final one (200 and above) ends the implicit subscription.
func (s *Stack) NotifyRefer(id engine.LegID, code int, reason string) {}
