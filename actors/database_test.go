package actors_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
)

func TestWhatIsUnderWayWhenTheDatabaseGoesAwayIsAnsweredAndWholeAfterwards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 20*time.Second), func(s *campaign.Settings) { s.AlwaysOn = true })
		defer r.tree.Close()
		r.results()
		r.act(campaign.ActionStart)
		time.Sleep(1200 * time.Millisecond) // virtual: out of step with the probe
		trigger := func(n engine.PhoneNumber) error {
			_, err := r.tree.Trigger(context.Background(), campaign.Trigger{Campaign: r.id, Number: n,
				Idempotency: engine.Idempotency{Key: "key", Route: "trigger", Token: string(n)}})
			return err
		}
		r.store.SetDown(true)
		begun := time.Now()
		if err := trigger(number(1)); engine.ErrorCode(err) != "database_unavailable" {
			t.Errorf("a trigger that was under way: %v", err)
		}
		if took := time.Since(begun); took > 4*time.Second {
			t.Errorf("answered after %v", took)
		}
		if s := r.tree.Database(); s.Up || s.Detail == "" || s.Since.IsZero() || s.Outages != 1 {
			t.Errorf("it says %+v", s)
		}
		begun = time.Now()
		for what, err := range map[string]error{
			"trigger": trigger(number(2)),
			"exclude": second(r.tree.Exclude(context.Background(), campaign.Exclude{Campaign: r.id, Number: number(3)})),
			"add": second(r.tree.AddContacts(context.Background(),
				campaign.AddContacts{Campaign: r.id, Contacts: []campaign.NewContact{{Number: number(4)}}})),
			"pause":   second(r.tree.Act(context.Background(), campaign.Act{Campaign: r.id, Action: campaign.ActionPause})),
			"dialout": second(r.tree.Dialout(context.Background(), campaign.Dialout{Bot: "bot", To: number(5)})),
			"result":  r.tree.SubmitResult(context.Background(), campaign.SubmitResult{Call: "CA00"}),
		} {
			if engine.ErrorCode(err) != "database_unavailable" {
				t.Errorf("%s: %v", what, err)
			}
		}
		if took := time.Since(begun); took > 0 {
			t.Errorf("refused after %v, want at once", took)
		}
		if _, err := r.tree.Detail(context.Background(), "cmp_none"); engine.ErrorCode(err) != "database_unavailable" {
			t.Errorf("a campaign that has to be loaded: %v", err)
		}
		if d := r.detail(); d.Live.Constraint != engine.ConstraintDatabase {
			t.Errorf("the campaign says %q", d.Live.Constraint)
		}
		r.store.SetDown(false)
		r.until(3*time.Second, "it is back", func() bool { return r.tree.Database().Up })
		r.until(time.Minute, "the first one is there, whole",
			func() bool { return r.contactOf(number(1)).State == contact.Completed })
		r.store.View(func() {
			if contacts, exclusions, _ := r.store.Counts(); contacts != 1 || len(r.store.Replies) != 1 || exclusions != 0 {
				t.Errorf("%d contacts, %d replies, %d exclusions", contacts, len(r.store.Replies), exclusions)
			}
		})
		if err := trigger(number(2)); err != nil {
			t.Errorf("the repeat of one that was refused: %v", err)
		}
		r.act(campaign.ActionStop)
		time.Sleep(time.Minute) // virtual
		r.check()
	})
}

func second[T any](_ T, err error) error { return err }

func TestALostConnectionIsNotADatabaseThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 10*time.Second), nil)
		defer r.tree.Close()
		r.results()
		r.add(5)
		r.store.View(func() { r.store.FailNext = 1 })
		r.act(campaign.ActionStart)
		r.until(time.Hour, "campaign completed", r.completed)
		r.check()
		if s := r.tree.Database(); !s.Up || s.Outages != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// A stored exclusion is carried out: the look-up of its contacts is retried until the database
// answers.
func TestAnExclusionIsWholeThoughALookUpFails(t *testing.T) {
	for name, cmd := range map[string]campaign.Exclude{"number": {Number: number(1)},
		"metadata": {Match: map[string]string{"i": "1"}}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, steady(2*time.Second, 10*time.Second), func(s *campaign.Settings) { s.Concurrency = 1 })
				defer r.tree.Close()
				r.results()
				r.add(2)
				r.act(campaign.ActionStart)
				time.Sleep(time.Second) // virtual: the first is being called
				r.store.View(func() { r.store.FailLookUps = 2 })
				cmd.Campaign = r.id
				rep, err := r.tree.Exclude(context.Background(), cmd)
				if err != nil || rep.Matched != 1 || rep.Excluded != 1 {
					t.Errorf("%+v %v", rep, err)
				}
				r.until(time.Hour, "campaign completed", r.completed)
				r.check()
				if c := r.contactOf(number(1)); c.State != contact.Excluded || r.world.Invited() != 1 {
					t.Errorf("the contact is %s, %d INVITEs", c.State, r.world.Invited())
				}
			})
		})
	}
}

// Slower commits delay a call's INVITE and its ACK; the 2 s rule still counts from the answer.
func TestSlowCommitsSlowDiallingDownAndAbandonNobodyBeyondTheCap(t *testing.T) {
	run := func(delay time.Duration) (took time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, steady(4*time.Second, 30*time.Second), nil)
			defer r.tree.Close()
			r.results()
			r.store.View(func() { r.store.Delay = delay })
			r.add(100)
			begun := time.Now()
			r.act(campaign.ActionStart)
			r.until(3*time.Hour, "campaign completed", r.completed)
			took = time.Since(begun)
			r.check() // which includes the cap
			if s := r.tree.Database(); s.Outages != 0 {
				t.Errorf("%v a commit is taken for an outage", delay)
			}
			if c := r.detail().Counters; c.Abandoned > 3 || c.Completed+c.Abandoned != 100 || c.Attempts != 100 {
				t.Errorf("with commits of %v: %+v", delay, c)
			}
		})
		return took
	}
	fast, slow := run(2*time.Millisecond), run(200*time.Millisecond)
	// A conversation of 36 s may wait for its intent and its answer, each behind a commit in
	// progress.
	if limit := fast + fast/10; slow > limit {
		t.Errorf("a campaign of %v takes %v, want at most %v", fast, slow, limit)
	}
}
