package call

import (
	"testing"
	"time"

	"dialler/engine/journal"
)

func TestTheCalleeCapOfTheNextIntentIsTheOneThatWasSetLast(t *testing.T) {
	var p Process
	now := time.Now()
	p.CalleeLimit.Set(3, time.Hour)
	if c := p.CalleeCap(now); c == nil || *c != (journal.CalleeCap{Attempts: 3, Period: time.Hour, Now: now}) {
		t.Errorf("%+v", c)
	}
	p.CalleeLimit.Set(0, 0)
	if c := p.CalleeCap(now); c != nil {
		t.Errorf("%+v, want none", c)
	}
}
