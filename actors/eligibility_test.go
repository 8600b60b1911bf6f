package actors_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"dialler/actors/call"
	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/eligibility"
)

// oracle takes time for every answer.
type oracle struct {
	takes   time.Duration
	verdict func(eligibility.Question) eligibility.Verdict
}

func (o *oracle) Asks(eligibility.Hook) bool { return true }

func (o *oracle) Eligible(ctx context.Context, q eligibility.Question) eligibility.Verdict {
	select {
	case <-ctx.Done():
	case <-time.After(o.takes): // virtual
	}
	if o.verdict == nil {
		return eligibility.Verdict{Decision: eligibility.Allow}
	}
	return o.verdict(q)
}

// asking is a rig that checks eligibility before each dial.
func asking(t *testing.T, o call.Eligibility, contacts int, edit func(*campaign.Settings)) *rig {
	t.Helper()
	r := newRig(t, steady(2*time.Second, 10*time.Second), edit)
	r.tree.Close()
	r.hook = o
	r.store.View(func() { r.store.BotList[0].Seats = 300 })
	r.start()
	r.results()
	r.add(contacts)
	return r
}

func TestAPauseThatComesWhileSomebodyIsAskedAboutHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := asking(t, &oracle{takes: 250 * time.Millisecond}, 5, nil)
		defer func() { r.tree.Close() }()
		r.act(campaign.ActionStart)
		time.Sleep(100 * time.Millisecond) // virtual
		r.act(campaign.ActionPause)
		time.Sleep(time.Minute) // virtual
		synctest.Wait()
		if r.world.Invited() != 0 {
			t.Errorf("%d INVITEs after the pause", r.world.Invited())
		}
		if st := r.tree.Stats(); st.Trunks.Leases.Load() != 0 || st.Numbers.Leases.Load() != 0 {
			t.Errorf("leases: %d channels, %d numbers", st.Trunks.Leases.Load(), st.Numbers.Leases.Load())
		}
		r.act(campaign.ActionResume)
		r.until(10*time.Minute, "completed", r.completed)
		r.check()
		if d := r.detail(); d.Counters.Completed != 5 {
			t.Errorf("%+v", d.Counters)
		}
	})
}

func TestAnExclusionThatComesWhileSomebodyIsAskedAboutHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := asking(t, &oracle{takes: 250 * time.Millisecond}, 2, nil)
		defer func() { r.tree.Close() }()
		r.act(campaign.ActionStart)
		time.Sleep(100 * time.Millisecond) // virtual
		rep, err := r.tree.Exclude(context.Background(), campaign.Exclude{Campaign: r.id, Number: number(0)})
		if err != nil || rep.Excluded != 1 {
			t.Errorf("%+v, %v", rep, err)
		}
		r.until(10*time.Minute, "completed", r.completed)
		r.check()
		if d := r.detail(); d.Counters.Completed != 1 || d.Counters.Excluded != 1 || r.world.Invited() != 1 {
			t.Errorf("%+v, %d INVITEs", d.Counters, r.world.Invited())
		}
	})
}

func TestWhoIsDeferredIsAskedAboutAgainAndWhoIsExcludedIsNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := map[engine.ContactID]int{}
		var began time.Time
		o := &oracle{verdict: func(q eligibility.Question) eligibility.Verdict {
			asked[q.Contact]++
			switch {
			case q.To == number(0):
				return eligibility.Verdict{Decision: eligibility.Exclude, Reason: "paid"}
			case q.To == number(1) && time.Since(began) < time.Hour:
				return eligibility.Verdict{Decision: eligibility.Defer, Until: began.Add(time.Hour), Code: engine.CodeNotEligible}
			}
			return eligibility.Verdict{Decision: eligibility.Allow}
		}}
		r := asking(t, o, 3, nil)
		defer func() { r.tree.Close() }()
		began = time.Now()
		r.act(campaign.ActionStart)
		time.Sleep(10 * time.Minute) // virtual
		synctest.Wait()
		if c := r.contactOf(number(0)); c.State != contact.Excluded || c.Reason != "eligibility hook: paid" {
			t.Errorf("%+v", c)
		}
		if c := r.contactOf(number(1)); c.State != contact.Pending || c.Reason != engine.CodeNotEligible ||
			!c.DueAt.Equal(began.Add(time.Hour)) {
			t.Errorf("%+v", c)
		}
		r.until(2*time.Hour, "completed", r.completed)
		r.check()
		if d := r.detail(); d.Counters.Completed != 2 || d.Counters.Excluded != 1 || time.Since(began) < time.Hour {
			t.Errorf("%+v", d.Counters)
		}
		for id, n := range asked {
			if want := 1 + map[bool]int{true: 1}[id == r.contactOf(number(1)).ID]; n != want {
				t.Errorf("asked %d times about %s, want %d", n, id, want)
			}
		}
	})
}

func TestAHookThatTakesItsTimeDoesNotSlowThePace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lasts := func(o call.Eligibility) time.Duration {
			r := asking(t, o, 300, func(s *campaign.Settings) { s.Concurrency = 300 })
			defer func() { r.tree.Close() }()
			began := time.Now()
			r.act(campaign.ActionStart)
			r.until(10*time.Minute, "completed", r.completed)
			r.check()
			return time.Since(began)
		}
		without, with := lasts(nil), lasts(&oracle{takes: eligibility.Budget})
		if with > without+2*time.Second {
			t.Errorf("300 contacts took %v, and %v without the hook", with, without)
		}
	})
}

func TestAProcessThatDiesWhileItAsksLosesNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := asking(t, &oracle{takes: 250 * time.Millisecond}, 5, nil)
		defer func() { r.tree.Close() }()
		r.act(campaign.ActionStart)
		time.Sleep(100 * time.Millisecond) // virtual
		r.kill()
		r.start()
		r.until(10*time.Minute, "completed", r.completed)
		r.check()
		if d := r.detail(); d.Counters.Completed != 5 {
			t.Errorf("%+v", d.Counters)
		}
	})
}
