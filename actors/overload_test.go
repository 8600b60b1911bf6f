package actors_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
)

func TestACommandIsRefusedWhereTooMuchWaitsAlready(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 10*time.Second), func(s *campaign.Settings) { s.AlwaysOn = true })
		defer r.tree.Close()
		r.results()
		r.act(campaign.ActionStart)
		synctest.Wait()
		trigger := func(i int) error {
			_, err := r.tree.Trigger(context.Background(), campaign.Trigger{Campaign: r.id, Number: number(i)})
			return err
		}
		wait := r.tree.Waits(r.id, 10_000)
		if err := trigger(1); engine.ErrorCode(err) != "overloaded" {
			t.Errorf("a trigger behind 10,000 messages: %v", err)
		}
		if _, err := r.tree.Dialout(context.Background(), campaign.Dialout{Bot: "no such bot", To: number(2)}); engine.ErrorCode(err) == "overloaded" {
			t.Error("dialout suffers with a campaign")
		}
		if n := r.tree.Stats().Overloads.Load(); n != 1 {
			t.Errorf("%d refusals are counted", n)
		}
		wait()
		if err := trigger(1); err != nil {
			t.Errorf("once they are gone: %v", err)
		}
		r.until(time.Minute, "it is dialled", func() bool { return r.world.Invites == 1 })
	})
}
