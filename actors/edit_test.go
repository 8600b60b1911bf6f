package actors_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"dialler/actors/actortest"
	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/tally"
)

// edit changes the current settings.
func (r *rig) edit(f func(*campaign.Settings)) (campaign.Detail, error) {
	r.t.Helper()
	d := r.detail()
	s := d.Campaign.Settings
	f(&s)
	return r.tree.Act(context.Background(), campaign.Act{Campaign: r.id, Action: campaign.ActionEdit, Settings: &s,
		Version: d.Campaign.Version,
		Who:     engine.Who{Name: "test"}})
}

func (r *rig) mustEdit(f func(*campaign.Settings)) campaign.Detail {
	r.t.Helper()
	d, err := r.edit(f)
	if err != nil {
		r.t.Fatal(err)
	}
	return d
}

func TestAnEditTakesEffectOnResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 60*time.Second), func(s *campaign.Settings) { s.Concurrency = 2 })
		defer r.tree.Close()
		r.results()
		r.add(40)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "two conversations", func() bool { return r.detail().Live.InProgress == 2 })
		if _, err := r.edit(func(s *campaign.Settings) { s.Concurrency = 8 }); engine.ErrorCode(err) != "illegal_state" {
			t.Errorf("while running: %v", err)
		}
		r.act(campaign.ActionPause)
		if _, err := r.edit(func(s *campaign.Settings) { s.Name = "other" }); engine.ErrorCode(err) != "field_locked" {
			t.Errorf("of the name: %v", err)
		}
		d := r.mustEdit(func(s *campaign.Settings) {
			s.Concurrency, s.Numbers = 8, []engine.PhoneNumber{"+4930222222"}
		})
		if d.Campaign.Version != 2 || d.Campaign.Settings.Concurrency != 8 {
			t.Errorf("%+v", d.Campaign)
		}
		edited := time.Now()
		r.act(campaign.ActionResume)
		r.until(2*time.Minute, "eight conversations", func() bool { return r.detail().Live.InProgress == 8 })
		r.store.View(func() {
			for a := range r.store.AllAttempts() {
				if a.ReservedAt.After(edited) && a.From != "+4930222222" {
					t.Errorf("dialled from %s", a.From)
				}
			}
			last := r.store.CampaignRow(r.id)
			if last.Settings.Concurrency != 8 || last.Version != 2 {
				t.Errorf("stored %+v", last.Settings)
			}
			n := 0
			for _, e := range r.store.AllEvents() {
				if e.Type == journal.CampaignEdited {
					n++
					if len(e.Data.Changes) != 2 || e.Data.Changes[0].Field != "concurrency" || e.Data.Who == nil ||
						e.Data.Who.Name != "test" {
						t.Errorf("recorded %+v", e.Data)
					}
				}
			}
			if n != 1 {
				t.Errorf("%d edits are recorded", n)
			}
		})
		r.until(time.Hour, "campaign completed", r.completed)
		r.check()
	})
}

func TestFewerAttemptsHoldForContactsThatWaitAndForThoseOnTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Nobody answers.
		r := newRig(t, func(engine.PhoneNumber, int) actortest.Script {
			return actortest.Script{Ring: 20 * time.Second, Code: 486}
		}, nil)
		defer r.tree.Close()
		r.add(30)
		r.act(campaign.ActionStart)
		used := func() (most int) {
			r.store.View(func() {
				for c := range r.store.AllContacts() {
					most = max(most, c.Used)
				}
			})
			return most
		}
		r.until(5*time.Minute, "some had their second attempt", func() bool { return used() == 2 })
		r.act(campaign.ActionPause)
		r.mustEdit(func(s *campaign.Settings) { s.MaxAttempts = 2 })
		time.Sleep(time.Second) // virtual: the tables are counted
		synctest.Wait()
		d := r.detail()
		r.store.View(func() {
			left := 0
			for c := range r.store.AllContacts() {
				if c.Open() {
					f := c.Facts()
					left += max(0, 2-f.Used)
					if f.Live {
						left--
					}
				}
				if c.Attempt == "" && c.Open() && (c.Max != 2 || c.DueAt == nil || c.Used >= 2) {
					t.Errorf("%s waits after %d of %d attempts", c.State, c.Used, c.Max)
				}
			}
			if d.Counters.RetriesLeft != left {
				t.Errorf("%d retries left, want %d", d.Counters.RetriesLeft, left)
			}
		})
		r.act(campaign.ActionResume)
		r.until(2*time.Hour, "campaign completed", r.completed)
		r.store.View(func() {
			for c := range r.store.AllContacts() {
				if c.Used != 2 || c.State != contact.Failed || c.Reason != contact.ReasonExhausted || c.Max != 2 {
					t.Errorf("%s %s after %d of %d attempts", c.State, c.Reason, c.Used, c.Max)
				}
			}
		})
		r.check()
	})
}

// The day of a paused single-day campaign follows its window.
func TestALongerWindowOfAPausedSingleDayKeepsTheRunOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(time.Second, 5*time.Second), func(s *campaign.Settings) {
			s.SingleDay = true
			s.Window.Start, s.Window.End = 0, 60 // the bubble begins at midnight
		})
		defer r.tree.Close()
		r.add(20)
		r.act(campaign.ActionStart)
		r.act(campaign.ActionPause)
		d := r.mustEdit(func(s *campaign.Settings) { s.Window.End = 120 })
		if end := d.Campaign.WindowEndsAt; end == nil || end.UTC().Hour() != 2 {
			t.Fatalf("ends at %v", end)
		}
		time.Sleep(61 * time.Minute) // virtual
		r.act(campaign.ActionResume)
		r.until(20*time.Minute, "it dials", func() bool { return r.detail().Live.LastDialAt != nil })
	})
}

func TestARestartForTheUnreachedDialsOnlyThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Every third person answers, in the first run only.
		first := true
		r := newRig(t, func(n engine.PhoneNumber, _ int) actortest.Script {
			if first && n[len(n)-1]%3 == 0 {
				return steady(2*time.Second, 10*time.Second)(n, 1)
			}
			return actortest.Script{Ring: 2 * time.Second, Code: 603}
		}, nil)
		defer r.tree.Close()
		r.results()
		r.add(30)
		r.act(campaign.ActionStart)
		r.until(time.Hour, "campaign completed", r.completed)
		r.check()
		before := r.detail()
		if before.Counters.Connected == 0 || before.Counters.Connected == 30 {
			t.Fatalf("%d of 30 were connected", before.Counters.Connected)
		}
		restart := func(unreached bool) campaign.Detail {
			t.Helper()
			d, err := r.tree.Act(context.Background(), campaign.Act{Campaign: r.id, Action: campaign.ActionRestart,
				Unreached: unreached, Who: engine.Who{Name: "test"}})
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		d := restart(false)
		if d.Counters.Pending != 30 || d.Campaign.Run != 2 {
			t.Errorf("all: %d pending of run %d", d.Counters.Pending, d.Campaign.Run)
		}
		d = r.act(campaign.ActionCancelRestart)
		if diff := tally.Compare(d.Counters, before.Counters); d.Campaign.Run != 1 ||
			d.Campaign.State != campaign.Completed || len(diff) > 0 {
			t.Errorf("cancelled: run %d %s, %+v", d.Campaign.Run, d.Campaign.State, diff)
		}
		d = restart(true)
		left := 30 - before.Counters.Connected
		if d.Counters.Pending != left || d.Counters.Total != 30 || d.Counters.Connected != before.Counters.Connected ||
			d.Counters.Attempts != 0 {
			t.Errorf("only unreached: %+v", d.Counters)
		}
		first = false
		dials := r.world.Invited()
		r.act(campaign.ActionStart)
		r.until(time.Hour, "second run completed", r.completed)
		if n := r.world.Invited() - dials; n != left {
			t.Errorf("%d dials, want %d", n, left)
		}
		r.check()
	})
}

// If the database goes away, or the process crashes, after the campaign's step into another run and
// before its contacts' step, the contacts still get that step later.
func TestContactsAreBroughtIntoTheCampaignsRunAfterTheDatabaseOrTheProcessWentAway(t *testing.T) {
	for _, killed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, steady(2*time.Second, 10*time.Second), nil)
			defer func() { r.tree.Close() }()
			r.results()
			r.add(12)
			r.act(campaign.ActionStart)
			r.until(time.Hour, "campaign completed", r.completed)
			before := r.detail()
			for _, a := range []campaign.Action{campaign.ActionRestart, campaign.ActionCancelRestart} {
				r.store.View(func() {
					r.store.OnWrite = func(w *journal.Write) {
						if w.CampaignRow != nil {
							go r.store.SetDown(true) // it holds the lock
						}
					}
				})
				if _, err := r.tree.Act(context.Background(), campaign.Act{Campaign: r.id, Action: a}); err == nil {
					t.Fatalf("%s was answered before it was done", a)
				}
				if killed {
					r.kill()
				} else if _, err := r.tree.Act(context.Background(), campaign.Act{Campaign: r.id,
					Action: campaign.ActionStart}); err == nil {
					t.Error("started before the contacts are prepared")
				}
				r.store.View(func() { r.store.OnWrite = nil })
				r.store.SetDown(false)
				if killed {
					r.start()
				}
				want := before.Counters.Completed
				if a == campaign.ActionRestart {
					want = 0
				}
				r.until(2*time.Minute, string(a)+" is done", func() bool {
					c := r.detail().Counters
					return c.Total == 12 && c.Completed == want && c.Pending == 12-want
				})
			}
			r.until(time.Minute, "it can be restarted", func() bool {
				_, err := r.tree.Act(context.Background(), campaign.Act{Campaign: r.id, Action: campaign.ActionRestart})
				return err == nil
			})
			r.results()
			r.act(campaign.ActionStart)
			r.until(time.Hour, "second run completed", r.completed)
			r.threeWays()
		})
	}
}
