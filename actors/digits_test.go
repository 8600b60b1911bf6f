package actors_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
)

func TestKeysOfALiveCallGoByTheMediaPathOrByINFO(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 30*time.Second), nil)
		defer r.tree.Close()
		r.store.View(func() { r.store.Nums = []engine.NumberSettings{{Number: "+4930111111", State: "active"}} })
		r.tree.NumberChanged(r.store.Nums[0])
		time.Sleep(time.Second) // virtual
		ctx := context.Background()
		rep, err := r.tree.Dialout(ctx, campaign.Dialout{Bot: "bot", To: number(1)})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.tree.SendDigits(ctx, rep.CallID, "1"); engine.ErrorCode(err) != "call_not_answered" {
			t.Errorf("while it rings: %v", err)
		}
		time.Sleep(10 * time.Second) // virtual
		if err := r.tree.SendDigits(ctx, rep.CallID, "12"); err != nil {
			t.Fatal(err)
		}
		r.world.View(func() { r.world.KeysByINFO = true })
		if err := r.tree.SendDigits(ctx, rep.CallID, "3#"); err != nil {
			t.Fatal(err)
		}
		var got []string
		r.world.View(func() { got = slices.Clone(r.world.Keys) })
		if !slices.Equal(got, []string{"12", "INFO 3", "INFO #"}) {
			t.Errorf("%q", got)
		}
		time.Sleep(time.Minute) // virtual
		if err := r.tree.SendDigits(ctx, rep.CallID, "1"); engine.ErrorCode(err) != "call_ended" {
			t.Errorf("after its end: %v", err)
		}
	})
}
