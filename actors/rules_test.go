package actors_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
)

// Where calls may go changes without a restart: it counts for the next call.
func TestACountryThatIsAllowedLaterIsCalledFromThenOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 10*time.Second), nil)
		defer r.tree.Close()
		ask := campaign.Dialout{Bot: "bot", To: vienna}
		if _, err := r.tree.Dialout(context.Background(), ask); engine.ErrorCode(err) != engine.CodeDestination {
			t.Fatalf("before: %v", err)
		}
		r.tree.SetRules([]string{"DE", "AT"}, 1, time.Hour)
		if _, err := r.tree.Dialout(context.Background(), ask); err != nil {
			t.Fatalf("allowed: %v", err)
		}
		time.Sleep(time.Minute) // virtual: that call is over
		if _, err := r.tree.Dialout(context.Background(), ask); engine.ErrorCode(err) != engine.CodeCalleeCap {
			t.Errorf("a second call within the hour: %v", err)
		}
		r.tree.SetRules(nil, 0, 0)
		if _, err := r.tree.Dialout(context.Background(), ask); engine.ErrorCode(err) != engine.CodeDestination {
			t.Errorf("afterwards: %v", err)
		}
	})
}
