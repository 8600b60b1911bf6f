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

func codesOf(list []engine.FieldError) (codes []string) {
	for _, f := range list {
		codes = append(codes, f.Code)
	}
	return codes
}

func (r *rig) preflight() campaign.Readiness {
	r.t.Helper()
	p, err := r.tree.Preflight(context.Background(), r.id)
	if err != nil {
		r.t.Fatal(err)
	}
	return p
}

func TestPreflightSaysWhatIsAheadAndStartsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 20*time.Second), nil)
		defer r.tree.Close()
		r.add(5)
		r.store.View(func() { r.store.Suppress(number(0)) })
		for _, n := range []engine.PhoneNumber{"+4930111111", "+4930111112"} {
			r.tree.NumberChanged(engine.NumberSettings{Number: n, State: "active"})
		}
		synctest.Wait()
		p := r.preflight()
		if !p.Ready || len(p.Blockers) != 0 || len(p.Warnings) != 0 || p.Contacts.Total != 5 || p.Contacts.ToDial != 4 ||
			p.Estimate == nil {
			t.Errorf("%+v", p)
		}
		if len(p.Contacts.Skipped) != 1 || p.Contacts.Skipped[0] != (campaign.SkipReason{Reason: "suppressed", Count: 1}) {
			t.Errorf("%+v", p.Contacts)
		}
		time.Sleep(time.Minute) // virtual
		if d := r.detail(); d.Campaign.State != campaign.Draft || r.world.Invited() != 0 {
			t.Errorf("%+v, %d INVITEs", d.Campaign.State, r.world.Invited())
		}
		if _, err := r.tree.Preflight(context.Background(), "cmp_none"); engine.ErrorCode(err) != "campaign_not_found" {
			t.Error(err)
		}
	})
}

func TestACampaignInWhichNobodyCanBeCalledIsNotStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 20*time.Second), nil)
		defer r.tree.Close()
		r.add(2)
		if _, err := r.tree.Exclude(context.Background(), campaign.Exclude{Campaign: r.id, Number: number(0)}); err != nil {
			t.Fatal(err)
		}
		r.store.View(func() { r.store.Suppress(number(1)) })
		if p := r.preflight(); p.Ready || codesOf(p.Blockers)[0] != "no_callable_contact" {
			t.Errorf("%+v", p)
		}
		_, err := r.tree.Act(context.Background(), campaign.Act{Campaign: r.id, Action: campaign.ActionStart})
		if engine.ErrorCode(err) != "preflight_failed" || r.detail().Campaign.State != campaign.Draft {
			t.Errorf("%v, %s", err, r.detail().Campaign.State)
		}
	})
}

func TestPreflightKnowsDownTrunksTakenSeatsAndBarredNumbers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 20*time.Second), nil)
		defer r.tree.Close()
		r.add(5)
		r.tree.TrunkHealth(engine.TrunkHealth{Trunk: "trunk", Life: engine.TrunkLost})
		r.tree.NumberChanged(engine.NumberSettings{Number: "+4930111111", State: "quarantined"})
		r.store.View(func() { r.store.BotList[0].Active = false })
		if err := r.tree.BotsChanged(context.Background()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		p := r.preflight()
		want := []string{"bot_inactive", "trunk_down", "numbers_barred", "number_not_configured"}
		if got := codesOf(p.Warnings); !p.Ready || !slices.Equal(got, want) {
			t.Errorf("%+v", p)
		}
		r.tree.NumberChanged(engine.NumberSettings{Number: "+4930111112", State: "retired"})
		synctest.Wait()
		if p := r.preflight(); p.Ready || codesOf(p.Blockers)[0] != "no_usable_number" {
			t.Errorf("%+v", p)
		}
		_, err := r.tree.Act(context.Background(), campaign.Act{Campaign: r.id, Action: campaign.ActionStart})
		if engine.ErrorCode(err) != "preflight_failed" {
			t.Errorf("started with no usable number: %v", err)
		}
	})
}
