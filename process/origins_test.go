package process

import (
	"testing"

	"dialler/engine"
)

func TestATrunkTellsHowManyOfItsLastCallsSentRTPFromElsewhere(t *testing.T) {
	var o origins
	call := func(n int, q engine.MediaQuality) {
		for range n {
			o.heard("t", &q)
		}
	}
	f := func(calls, of, unheard int) {
		t.Helper()
		got := o.of("t")
		if calls == 0 {
			if got != nil {
				t.Fatalf("%+v", got)
			}
			return
		}
		if got == nil || got.Calls != calls || got.Of != of || got.Unheard != unheard {
			t.Fatalf("%+v", got)
		}
	}
	right := engine.MediaQuality{Codec: "PCMU", PacketsReceived: 9, DroppedElsewhere: 3} // another call's early media
	call(30, right)
	call(5, engine.MediaQuality{DroppedElsewhere: 9}) // not answered
	f(0, 20, 0)
	call(9, engine.MediaQuality{Codec: "PCMU", PacketsReceived: 9, HeardFrom: "203.0.113.1:7"})
	call(5, engine.MediaQuality{Codec: "PCMU", DroppedElsewhere: 9})
	f(14, 20, 5)
	call(18, right)
	f(2, 20, 2)
	call(2, right)
	f(0, 20, 0)
	o.heard("u", &engine.MediaQuality{Codec: "PCMU", PacketsReceived: 9, HeardFrom: "203.0.113.1:7"})
	if got := o.of("u"); got == nil || got.Of != 1 || got.Calls != 1 {
		t.Fatalf("%+v", got)
	}
}
