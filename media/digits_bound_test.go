package media

import (
	"testing"

	"dialler/engine"
)

func TestEndlessDigitsDoNotFillTheMemory(t *testing.T) {
	c := &call{id: "a"}
	for range 10 * maxDigits {
		c.emit(engine.MediaEvent{Kind: engine.MediaDigit, Digit: '1'})
	}
	c.emit(engine.MediaEvent{Kind: engine.MediaBotClosed})
	if n := len(c.history); n != maxDigits+1 || c.history[n-1].Kind != engine.MediaBotClosed || c.history[n-1].Seq != n {
		t.Errorf("%d events are kept, the last %+v", n, c.history[n-1])
	}
}
