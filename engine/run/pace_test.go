package run

import (
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
)

// A ledger that begins at midnight must bind the lines that may still be answered in it, even the
// slowest.
func TestTheNextLedgerBindsAsSoonAsALineMayBeAnsweredInIt(t *testing.T) {
	for _, amd := range []engine.AMDMode{engine.AMDOff, engine.AMDParallel, engine.AMDSequential} {
		s := campaign.Defaults()
		s.AMD, s.RingTimeoutSec = amd, 45
		const sendWithin = 10 * time.Second
		slowest := sendWithin + 45*time.Second + attempt.BridgeBudget
		if amd == engine.AMDSequential {
			slowest += attempt.ScreenLimit
		}
		if l := lead(&s, sendWithin); l <= slowest {
			t.Errorf("%s: %v, a line may take %v", amd, l, slowest)
		}
	}
}
