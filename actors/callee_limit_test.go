package actors

import (
	"testing"
	"time"

	"dialler/engine/journal"
)

func TestTheCalleeCapOfTheNextIntentIsTheOneThatWasSetLast(t *testing.T) {
	tree := &Tree{d: &deps{}}
	now := time.Now()
	tree.SetRules(nil, 3, time.Hour)
	if c := tree.d.CalleeCap(now); c == nil || *c != (journal.CalleeCap{Attempts: 3, Period: time.Hour, Now: now}) {
		t.Errorf("%+v", c)
	}
	tree.SetRules(nil, 0, 0)
	if c := tree.d.CalleeCap(now); c != nil {
		t.Errorf("%+v, want none", c)
	}
}
