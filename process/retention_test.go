package process

import "testing"

func TestCallsAreKeptForAsLongAsTheRulesAskForThem(t *testing.T) {
	for _, c := range []struct {
		flags Flags
		ok    bool
	}{
		{Flags{}, true}, {Flags{KeepAttempts: 90, KeepEvents: 90, KeepLadders: 1}, true}, {Flags{KeepAttempts: 89}, false},
		{Flags{KeepEvents: 89}, false}, {Flags{KeepLadders: -1}, false}, {Flags{KeepEvents: 36501}, false},
	} {
		if err := checkKeep(&c.flags); (err == nil) != c.ok {
			t.Errorf("%d, %d, %d days: %v", c.flags.KeepAttempts, c.flags.KeepEvents, c.flags.KeepLadders, err)
		}
	}
}
