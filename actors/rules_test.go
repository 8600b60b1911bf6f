package actors_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/frequency"
)

// The allowed countries change without a restart: the next call follows them.
func TestACountryThatIsAllowedLaterIsCalledFromThenOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 10*time.Second), nil)
		defer r.tree.Close()
		r.tree.NumberChanged(engine.NumberSettings{Number: "+4930111111", State: "active"})
		time.Sleep(time.Second) // virtual
		ask := campaign.Dialout{Bot: "bot", To: vienna}
		refused := func() bool {
			_, err := r.tree.Dialout(context.Background(), ask)
			return engine.ErrorCode(err) == engine.CodeDestination
		}
		if !refused() {
			t.Error("a country is called that is not allowed")
		}
		r.tree.SetRules([]string{"DE", "AT"}, frequency.Rules{})
		if _, err := r.tree.Dialout(context.Background(), ask); err != nil {
			t.Errorf("allowed: %v", err)
		}
		time.Sleep(5 * time.Minute) // virtual: that call is over
		r.tree.SetRules(nil, frequency.Rules{})
		if !refused() {
			t.Error("a country is called that is allowed no more")
		}
	})
}
