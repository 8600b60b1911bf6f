package main

import "testing"

func TestCallsAreKeptForAsLongAsTheRulesAskForThem(t *testing.T) {
	for _, c := range []struct {
		flags engineFlags
		ok    bool
	}{
		{engineFlags{}, true}, {engineFlags{KeepAttempts: 90, KeepEvents: 90, KeepLadders: 1}, true}, {engineFlags{KeepAttempts: 89}, false},
		{engineFlags{KeepEvents: 89}, false}, {engineFlags{KeepLadders: -1}, false}, {engineFlags{KeepEvents: 36501}, false},
	} {
		if err := checkKeep(&c.flags); (err == nil) != c.ok {
			t.Errorf("%d, %d, %d days: %v", c.flags.KeepAttempts, c.flags.KeepEvents, c.flags.KeepLadders, err)
		}
	}
}
