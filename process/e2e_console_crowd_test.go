package process

import (
	"fmt"
	"strconv"
	"testing"

	"dialler/bench/carrier"
	"dialler/engine"
)

// Fifty-one campaigns, of which twenty-six dial: the list shows those first, the wall all of them, and a phone what
// matters of one, without scrolling.
func TestManyCampaignsFitTheListAndTheWallOfTheConsole(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{carrier.Busy()}})
	const operator, drafts, dialling = "olga@example.org", 25, 26
	w.consoleUser(operator, "operator")
	var one engine.CampaignID
	for i := range dialling {
		one = w.running(map[string]any{"name": fmt.Sprintf("Renewals of spring, region %d", i+1), "always_on": true})
	}
	for i := range drafts { // the newest
		w.campaign(map[string]any{"name": fmt.Sprintf("Draft %d", i+1)})
	}
	w.browse("crowd.mjs", "EMAIL", operator, "PASSWORD", browserPassword, "CAMPAIGN", string(one),
		"DIALLING", strconv.Itoa(dialling))
}
