package call

import (
	"fmt"
	"testing"
	"time"

	"dialler/engine"
)

func TestASocketThatHangsAloneIsNoSignOfBeingLate(t *testing.T) {
	var c Connects
	b, now := c.bot("bot"), engine.BootTime(time.Hour)
	for n := 1; n <= connectsLeast; n++ {
		b.begin(engine.AttemptID(fmt.Sprint(n)), now)
		at := now.Add(time.Second + time.Duration(n)*connectLook)
		if late := c.Late("bot", at); (late > 0) != (n == connectsLeast) {
			t.Errorf("%d hang: %s late", n, late)
		}
	}
	b.end("1", now, true) // one that began as early succeeds
	if late := c.Late("bot", now.Add(1500*time.Millisecond)); late != 0 {
		t.Errorf("others hang beside one that stands: %s late", late)
	}
}
