package media

import (
	"bytes"
	"errors"
	"time"

	"dialler/engine"
	"dialler/media/sdp"
)

// Reoffer answers an offer by which the far side changes the call: hold, another address, other
// codecs (RFC 3264 §8). The audio follows at once. An error says why the offer cannot be accepted;
// then nothing has changed. A call that is not answered yet only gets the SDP answer: Answer starts
// it.
func (e *Engine) Reoffer(a engine.AttemptID, leg engine.LegID, offer []byte) (text []byte, err error) {
	c := e.path(a, leg)
	if c == nil {
		return nil, errNoCall
	}
	ans, err := sdp.Parse(offer)
	if errors.Is(err, sdp.ErrRefused) {
		return c.switchedOff(offer)
	}
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, errLeftover
	}
	if err := c.sock.fits(&ans); err != nil {
		c.mu.Unlock()
		return nil, err
	}
	if err := c.protect(&ans, false); err != nil {
		c.mu.Unlock()
		return nil, err
	}
	text = c.described.appendAnswer(make([]byte, 0, 384), offer, &ans, c.secure)
	answered := c.answered
	if answered {
		c.move(&ans)
	}
	c.mu.Unlock()
	if answered {
		c.sock.answer(c, &ans)
	}
	return text, nil
}

// Reanswer applies the far side's answer to a later offer of ours.
func (e *Engine) Reanswer(a engine.AttemptID, leg engine.LegID, text []byte) {
	if c := e.path(a, leg); c != nil {
		c.mu.Lock()
		answered := c.answered
		c.mu.Unlock()
		if answered {
			c.answer(text, time.Now())
		}
	}
}

// Offer repeats the first offer of a leg for a far side that asks for one (RFC 3261 §14.2).
func (e *Engine) Offer(a engine.AttemptID, leg engine.LegID, first []byte) ([]byte, error) {
	c := e.path(a, leg)
	if c == nil {
		return nil, errNoCall
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errLeftover
	}
	_, rest, _ := bytes.Cut(first, []byte("s=-\r\n"))
	if c.described.sum == 0 { // only the first offer has been sent so far
		c.described.sum, c.described.version = sumOf(rest), 1
	}
	return c.described.appendBody(make([]byte, 0, len(first)+8), rest), nil
}

// switchedOff answers an offer with port 0: the far side wants no audio for now, and the call goes
// on.
func (c *call) switchedOff(offer []byte) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errLeftover
	}
	c.hold()
	return c.described.appendAnswer(make([]byte, 0, 256), offer, nil, nil), nil
}
