package actors_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
)

func TestADialoutThatIsRefusedGivesItsSeatBackAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 10*time.Second), nil)
		defer r.tree.Close()
		time.Sleep(time.Second) // virtual
		_, err := r.tree.Dialout(context.Background(), campaign.Dialout{Bot: "bot", To: number(1), From: "+4930999999"})
		if engine.ErrorCode(err) != "from_number_unknown" {
			t.Fatal(err)
		}
		synctest.Wait()
		st := r.tree.Stats()
		if st.SeatsHeld.Load() != 0 || st.TrunkLeases.Load() != 0 || st.SlotLeases.Load() != 0 {
			t.Errorf("held: %d seats, %d channels, %d numbers", st.SeatsHeld.Load(), st.TrunkLeases.Load(), st.SlotLeases.Load())
		}
	})
}
