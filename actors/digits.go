package actors

import (
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
)

var (
	errNotAnswered = engine.Conflict("call_not_answered", "keys can be sent to an answered call only; wait until the call is answered")
	errDigitsFull  = engine.Conflict("digits_not_sent", "the keys were not sent: too many are waiting, or the call is being ended; try again with fewer")
)

// carryOut does what a bot or an operator asks of a live call and answers
// who asked; c is nil when the call is not there any more.
func (d *deps) carryOut(c *call, m *tellCall, now time.Time) {
	switch {
	case c == nil || c.m.A.ID != m.Attempt || !c.m.A.Live():
		reply(d, m.ReplyTo, nil, errCallEnded)
	case m.Digits == "":
		c.apply(attempt.Event{Kind: attempt.HangUpRequested, At: now})
		reply(d, m.ReplyTo, nil, nil)
	case c.m.A.AnsweredAt == nil || c.m.A.Ending != nil:
		reply(d, m.ReplyTo, nil, errNotAnswered)
	case d.elsewhere(m.Attempt):
		d.away.SendDigitsThen(m.Attempt, c.m.A.Legs[len(c.m.A.Legs)-1].ID, m.Digits, func(err error) {
			if err != nil {
				err = errDigitsFull
			}
			reply(d, m.ReplyTo, nil, err)
		})
	default:
		reply(d, m.ReplyTo, nil, c.sendDigits(m.Digits))
	}
}

// sendDigits sends keys on the media path, or by signalling where the far side
// wants that.
func (c *call) sendDigits(digits string) error {
	a := &c.m.A
	bySIP, err := c.d.media.SendDigits(a.ID, digits)
	if err != nil {
		return errDigitsFull
	}
	for i := 0; bySIP && i < len(digits); i++ {
		if !c.d.phone.SendDigit(a.Legs[len(a.Legs)-1].ID, digits[i], engine.KeyDuration) {
			return errDigitsFull
		}
	}
	return nil
}
