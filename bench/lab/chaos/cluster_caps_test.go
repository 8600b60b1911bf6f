package chaos

import (
	"testing"
	"time"
)

func TestWhatIsSharedIsCountedOverAllNodes(t *testing.T) {
	t.Parallel()
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	spans := []span{{at(1), at(5)}, {at(2), at(3)}, {at(3), at(6)}, {at(5), at(7)}}
	if n, _ := mostAtOnce(spans, 0); n != 2 {
		t.Errorf("%d at once, not 2: what ends when the next begins is not there with it", n)
	}
	if n, when := mostAtOnce(append(spans, span{at(4), at(9)}), 0); n != 3 || !when.Equal(at(4)) {
		t.Errorf("%d at once at %v", n, when)
	}
	if n, _ := mostAtOnce([]span{{at(1), at(4)}, {at(3), at(6)}}, 2*time.Second); n != 1 {
		t.Errorf("%d at once, not 1 with two seconds to let go", n)
	}
	if n := mostWithin([]time.Time{at(1), at(2), at(2), at(3), at(9)}, 2*time.Second); n != 3 {
		t.Errorf("%d within two seconds, not 3", n)
	}
}
