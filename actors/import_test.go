package actors_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"dialler/actors/actortest"
	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// file makes a file with the numbers from..to, and the account of each.
func file(from, to int) string {
	var b strings.Builder
	b.WriteString("phone_number,account\n")
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, "%s,%d\n", number(i).E164(), i)
	}
	return b.String()
}

func (r *rig) importFile(text string) (campaign.Import, error) {
	return r.tree.Import(context.Background(), campaign.ImportContacts{Campaign: r.id, Filename: "f.csv",
		Who: engine.Who{Name: "test"}, Wait: true},
		strings.NewReader(text))
}

// importing starts an import whose rows take that long to insert; its result comes on the channel.
func (r *rig) importing(text string, takes time.Duration) <-chan error {
	r.store.View(func() { r.store.Imports.Inserting = takes })
	ended := make(chan error, 1)
	go func() {
		_, err := r.importFile(text)
		ended <- err
	}()
	return ended
}

func (r *rig) noStall() {
	r.t.Helper()
	r.store.View(func() {
		if n := r.store.Imports.Stalls; n > 0 {
			r.t.Errorf("%d writes would have waited for the import", n)
		}
	})
	if n := r.store.Staged(); n > 0 {
		r.t.Errorf("%d rows are still staged", n)
	}
}

func TestAnImportedFileIsDialledToItsEnd(t *testing.T) {
	for _, first := range []string{"import", "start"} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, steady(2*time.Second, 10*time.Second), nil)
			defer r.tree.Close()
			r.results()
			r.add(1)
			if first == "start" {
				r.act(campaign.ActionStart)
			}
			// Two rows are not numbers, one is repeated, one is already in the campaign.
			imp, err := r.importFile(file(0, 60) + "nonsense,x\n,y\n" + number(7).E164() + ",z\n")
			if err != nil || imp.State != campaign.ImportActive || imp.Rows != 63 || imp.Added != 59 || imp.Duplicate != 2 ||
				imp.Invalid != 2 ||
				imp.FinishedAt == nil || imp.Filename != "f.csv" {
				t.Fatalf("%+v, %v", imp, err)
			}
			if d := r.detail(); d.Counters.Total != 60 {
				t.Errorf("%+v", d.Counters)
			}
			if first == "import" {
				r.act(campaign.ActionStart)
			}
			r.until(time.Hour, "campaign completed", r.completed)
			r.check()
			r.noStall()
			if r.world.Invites != 60 {
				t.Errorf("%d INVITEs for 60 contacts", r.world.Invites)
			}
			r.store.View(func() {
				for _, e := range r.store.AllEvents() {
					if e.Type == journal.ContactsAdded && e.Data.Import == imp.ID &&
						(e.Data.Count != 59 || e.Data.Who == nil || e.Data.Who.Name != "test") {
						t.Errorf("event %+v", e)
					}
				}
			})
		})
	}
}

func TestAFileIsNotReadWhenTheCampaignTakesNoContacts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(time.Second, time.Second), func(s *campaign.Settings) { s.AlwaysOn = true })
		defer r.tree.Close()
		refused := func(want string) {
			t.Helper()
			untouched := iotest.ErrReader(errors.New("the file was read"))
			_, err := r.tree.Import(context.Background(), campaign.ImportContacts{Campaign: r.id, Wait: true}, untouched)
			if engine.ErrorCode(err) != want {
				t.Errorf("%v, want %s", err, want)
			}
		}
		id := r.id
		r.id = "cmp_none"
		refused("campaign_not_found")
		r.id = id
		r.act(campaign.ActionStart)
		r.act(campaign.ActionPause)
		refused("contacts_locked")
		r.act(campaign.ActionStop)
		refused("contacts_locked")
		r.act(campaign.ActionRestart)
		refused("contacts_locked")
		if r.store.Staged() != 0 {
			t.Error("something was staged")
		}
	})
}

func TestAFileThatBreaksOffLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(time.Second, time.Second), nil)
		defer r.tree.Close()
		cut := errors.New("cut")
		imp, err := r.tree.Import(context.Background(), campaign.ImportContacts{Campaign: r.id, Wait: true},
			io.MultiReader(strings.NewReader(file(0, 2100)), iotest.ErrReader(cut)))
		if !errors.Is(err, cut) || imp.State != campaign.ImportFailed || imp.Problem == nil ||
			imp.Problem.Code != "upload_broken" {
			t.Errorf("%+v, %v", imp, err)
		}
		for text, want := range map[string]string{"": "empty_file", "phone_number\n": "empty_file",
			"name\nAda\n": "missing_column", file(0, 2100) + "\"": "malformed_csv"} {
			if want == "malformed_csv" {
				text += strings.Repeat("\n"+number(1).E164(), 3)
			}
			if _, err := r.importFile(text); engine.ErrorCode(err) != want {
				t.Errorf("%v, want %s", err, want)
			}
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := r.tree.Import(ctx, campaign.ImportContacts{Campaign: r.id, Wait: true},
			strings.NewReader(file(0, 10))); err == nil {
			t.Error("cancelled, and imported all the same")
		}
		if d := r.detail(); d.Counters.Total != 0 || r.store.Staged() != 0 {
			t.Errorf("%+v, %d staged", d.Counters, r.store.Staged())
		}
		if imp, err := r.importFile(file(0, 10)); err != nil || imp.Added != 10 {
			t.Errorf("the next file: %+v, %v", imp, err)
		}
	})
}

func TestARunThatHasNothingLeftWaitsForTheFileBeingActivated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 10*time.Second), nil)
		defer r.tree.Close()
		r.results()
		r.add(3)
		r.act(campaign.ActionStart)
		ended := r.importing(file(0, 20), 3*time.Minute)
		time.Sleep(2 * time.Minute) // virtual
		if d := r.detail(); d.Campaign.State != campaign.Running || d.Counters.Completed != 3 || d.Counters.Total != 3 {
			t.Errorf("before the switch: %s %+v", d.Campaign.State, d.Counters)
		}
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		r.until(time.Hour, "campaign completed", r.completed)
		r.check()
		if d := r.detail(); d.Counters.Completed != 20 || r.world.Invites != 20 {
			t.Errorf("%+v, %d INVITEs", d.Counters, r.world.Invites)
		}
	})
}

// Once an exclusion is confirmed, no INVITE leaves for it, whether the file is before, at or past
// its gate.
func TestAnExclusionHoldsForTheRowsOfAFileThatIsBeingActivated(t *testing.T) {
	const inserting = 10 * time.Millisecond
	for _, sticky := range []bool{true, false} {
		for _, by := range []campaign.Exclude{{Number: number(4)}, {Match: map[string]string{"account": "4"}}} {
			for after := 10 * time.Millisecond; after < 32*time.Millisecond; after += time.Millisecond {
				synctest.Test(t, func(t *testing.T) {
					r := newRig(t, steady(10*time.Second, 20*time.Second), func(s *campaign.Settings) { s.StickyExclusion = sticky })
					defer r.tree.Close()
					r.results()
					r.add(1)
					r.act(campaign.ActionStart)
					time.Sleep(time.Second) // virtual
					ended := r.importing(file(0, 9), inserting)
					time.Sleep(after) // virtual
					x := by
					x.Campaign = r.id
					rep, err := r.tree.Exclude(context.Background(), x)
					if err != nil {
						t.Fatal(err)
					}
					invited := r.world.InvitedTo(number(4))
					if err := <-ended; err != nil {
						t.Fatal(err)
					}
					r.until(time.Hour, "campaign completed", r.completed)
					r.check()
					r.noStall()
					c, stored := r.contactOf(number(4)), r.contactOf(number(4)).ID != ""
					if got := r.world.InvitedTo(number(4)); got != invited || rep.Excluded == 0 && got != 0 {
						t.Errorf("sticky %v, %+v %v after the file: %d INVITEs, %d when the exclusion was confirmed (%+v)", sticky, by,
							after, got, invited, rep)
					}
					if stored && c.State != contact.Excluded {
						t.Errorf("sticky %v, %v after the file: the contact is %s (%+v)", sticky, after, c.State, rep)
					}
				})
			}
		}
	}
}

func TestATriggerWaitsForTheFileThatHasItsNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 10*time.Second), func(s *campaign.Settings) { s.AlwaysOn = true })
		defer r.tree.Close()
		r.results()
		r.add(1)
		r.act(campaign.ActionStart)
		time.Sleep(time.Minute) // virtual: contact 0 is called
		ended := r.importing(file(0, 20), 4*time.Second)
		time.Sleep(time.Second) // virtual
		trigger := func(n int, deadline time.Duration) (campaign.TriggerReply, time.Duration, error) {
			began := time.Now()
			rep, err := r.tree.Trigger(context.Background(), campaign.Trigger{Campaign: r.id, Number: number(n),
				Deadline: began.Add(deadline)})
			return rep, time.Since(began), err
		}
		if rep, took, err := trigger(100, 10*time.Second); err != nil || took > time.Second {
			t.Errorf("another number: %+v after %v, %v", rep, took, err)
		}
		if rep, took, err := trigger(0, 10*time.Second); err != nil || took > time.Second {
			t.Errorf("a contact of the campaign: %+v after %v, %v", rep, took, err)
		}
		if rep, took, err := trigger(5, time.Second); engine.ErrorCode(err) != "import_activating" || took > time.Second {
			t.Errorf("with too little time: %+v after %v, %v", rep, took, err)
		}
		rep, took, err := trigger(6, 10*time.Second)
		if err != nil || took > 5*time.Second || rep.ContactID != r.contactOf(number(6)).ID {
			t.Errorf("%+v after %v, %v", rep, took, err)
		}
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute) // virtual
		synctest.Wait()
		r.noStall()
		if d := r.detail(); d.Counters.Total != 21 || d.Counters.Completed != 21 {
			t.Errorf("%+v", d.Counters)
		}
	})
}

// A trigger in flight when the switch began is stored before it.
func TestATriggerThatIsUnderWayIsStoredBeforeTheSwitch(t *testing.T) {
	for _, concurrency := range []int{10, 1} { // dialled at once, or queued
		for after := time.Duration(0); after < 20*time.Millisecond; after += time.Millisecond {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, steady(5*time.Second, 10*time.Second), func(s *campaign.Settings) {
					s.AlwaysOn, s.Concurrency = true, concurrency
				})
				defer r.tree.Close()
				r.results()
				r.act(campaign.ActionStart)
				time.Sleep(time.Second) // virtual
				ended := r.importing(file(0, 9), 30*time.Millisecond)
				time.Sleep(after) // virtual
				var all sync.WaitGroup
				for n := range 4 {
					all.Go(func() {
						if _, err := r.tree.Trigger(context.Background(), campaign.Trigger{Campaign: r.id,
							Number: number(n)}); err != nil {
							t.Errorf("%v after the file: %v", after, err)
						}
					})
				}
				all.Wait()
				if err := <-ended; err != nil {
					t.Errorf("%v after: %v", after, err)
				}
				r.until(10*time.Minute, "every contact is called", func() bool { return r.detail().Counters.Completed == 9 })
				time.Sleep(time.Minute) // virtual: every actor has been told
				synctest.Wait()
				r.noStall()
				if d := r.detail(); d.Counters.Total != 9 || d.Counters.Completed != 9 || r.world.Invites != 9 {
					t.Errorf("%v after the file: %+v, %d INVITEs", after, d.Counters, r.world.Invites)
				}
			})
		}
	}
}

func TestAnExclusionOvertakesATriggerThatWaitsForAFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(5*time.Second, 10*time.Second), func(s *campaign.Settings) { s.AlwaysOn = true })
		defer r.tree.Close()
		r.act(campaign.ActionStart)
		ended := r.importing(file(0, 9), 4*time.Second)
		time.Sleep(time.Second) // virtual
		triggered := make(chan error, 1)
		go func() {
			_, err := r.tree.Trigger(context.Background(), campaign.Trigger{Campaign: r.id, Number: number(3)})
			triggered <- err
		}()
		time.Sleep(time.Second) // virtual
		if _, err := r.tree.Exclude(context.Background(), campaign.Exclude{Campaign: r.id, Number: number(3)}); err != nil {
			t.Fatal(err)
		}
		if err := <-triggered; engine.ErrorCode(err) != "contact_excluded" {
			t.Errorf("trigger: %v", err)
		}
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute) // virtual
		synctest.Wait()
		if n := r.world.InvitedTo(number(3)); n != 0 {
			t.Errorf("%d INVITEs", n)
		}
	})
}

func TestAListOfContactsWaitsForTheFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(time.Second, time.Second), nil)
		defer r.tree.Close()
		ended := r.importing(file(0, 20), 4*time.Second)
		time.Sleep(time.Second) // virtual
		cmd := campaign.AddContacts{Campaign: r.id, Source: "api",
			Contacts: []campaign.NewContact{{Number: number(1)}, {Number: number(30)}}}
		rep, err := r.tree.AddContacts(context.Background(), cmd)
		if err != nil || rep != (campaign.AddReport{Added: 1, Duplicates: 1, Total: 21}) {
			t.Errorf("%+v, %v", rep, err)
		}
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		ended = r.importing(file(20, 40), 30*time.Second)
		time.Sleep(time.Second) // virtual
		began := time.Now()
		if rep, err := r.tree.AddContacts(context.Background(), cmd); engine.ErrorCode(err) != "import_activating" ||
			time.Since(began) > 9*time.Second {
			t.Errorf("%+v, %v after %v", rep, err, time.Since(began))
		}
		if _, err := r.importFile(file(50, 60)); engine.ErrorCode(err) != "import_in_progress" {
			t.Errorf("a second file: %v", err)
		}
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		if d := r.detail(); d.Counters.Total != 40 {
			t.Errorf("%+v", d.Counters)
		}
		r.noStall()
	})
}

// Stop, at any moment: either the rows are in the run before it ends, or none are.
func TestAFileMeetsTheEndOfTheRun(t *testing.T) {
	for _, action := range []campaign.Action{campaign.ActionStop, campaign.ActionPause} {
		for after := time.Duration(0); after < 40*time.Millisecond; after += time.Millisecond {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, steady(2*time.Second, 10*time.Second), nil)
				defer r.tree.Close()
				r.results()
				r.add(12)
				r.act(campaign.ActionStart)
				time.Sleep(time.Second) // virtual
				ended := r.importing(file(20, 40), 10*time.Millisecond)
				time.Sleep(after) // virtual
				r.act(action)
				err := <-ended
				if action == campaign.ActionPause {
					r.act(campaign.ActionResume)
				}
				r.until(time.Hour, "campaign completed",
					func() bool { d := r.detail(); return d.Campaign.State == campaign.Completed && !d.Draining })
				time.Sleep(time.Minute) // virtual
				r.check()
				r.noStall()
				want := 12
				if err == nil {
					want = 32
				} else if engine.ErrorCode(err) != "contacts_locked" {
					t.Errorf("%s %v after: %v", action, after, err)
				}
				if d := r.detail(); d.Counters.Total != want {
					t.Errorf("%s %v after: %v, and %+v", action, after, err, d.Counters)
				}
			})
		}
	}
}

// The run crashes at any moment of the switch: either the whole file is in or none of it, and the
// run's counters match the tables.
func TestARunThatCrashesWhileAFileIsActivated(t *testing.T) {
	active := 0
	for after := time.Duration(0); after < 40*time.Millisecond; after += time.Millisecond {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, steady(2*time.Second, 10*time.Second), nil)
			defer r.tree.Close()
			r.results()
			r.add(12)
			r.act(campaign.ActionStart)
			time.Sleep(time.Second) // virtual
			inserting := 10 * time.Millisecond
			if after > 30*time.Millisecond {
				inserting = 5 * time.Second // long enough for the new run to learn of it
			}
			ended := r.importing(file(20, 40), inserting)
			time.Sleep(after) // virtual
			r.faults.Crash("run", r.id, "")
			err := <-ended
			want := 12
			if err == nil {
				want, active = 32, active+1
			} else if engine.ErrorCode(err) != "import_unknown" {
				t.Errorf("%v after: %v", after, err)
			}
			r.until(time.Hour, "campaign completed", r.completed)
			r.check()
			r.noStall()
			if d := r.detail(); d.Counters.Total != want {
				t.Errorf("%v after: %v, and %+v", after, err, d.Counters)
			}
		})
	}
	if active == 0 {
		t.Error("no file got through")
	}
}

func TestADatabaseThatGoesAwayInTheMiddleOfAFile(t *testing.T) {
	for after := time.Duration(0); after < 30*time.Millisecond; after += time.Millisecond {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, steady(2*time.Second, 10*time.Second), nil)
			defer r.tree.Close()
			r.results()
			r.add(12)
			r.act(campaign.ActionStart)
			time.Sleep(time.Second) // virtual
			ended := r.importing(file(20, 40), 10*time.Millisecond)
			time.Sleep(after) // virtual
			r.store.SetDown(true)
			began := time.Now()
			err := <-ended
			var e *engine.Error
			if err != nil && (!errors.As(err, &e) || e.Kind != engine.KindUnavailable || time.Since(began) > 25*time.Second) {
				t.Errorf("%v after: %v after %v", after, err, time.Since(began))
			}
			time.Sleep(20 * time.Second) // virtual
			r.store.SetDown(false)
			r.until(time.Hour, "campaign completed", r.completed)
			r.check()
			want := 12
			if err == nil {
				want = 32
			}
			if d := r.detail(); d.Counters.Total != want {
				t.Errorf("%v after: %v, and %+v", after, err, d.Counters)
			}
			if imp, err := r.importFile(file(50, 51)); engine.ErrorCode(err) != "contacts_locked" {
				t.Errorf("%v after, the next file: %+v %v", after, imp, err)
			}
		})
	}
}

func TestASwitchWhoseAnswerIsLostIsFoundOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 10*time.Second), nil)
		defer r.tree.Close()
		r.results()
		r.add(2)
		r.store.View(func() { r.store.Imports.LoseAnswer = true })
		imp, err := r.importFile(file(0, 20))
		if err != nil || imp.State != campaign.ImportActive || imp.Added != 18 {
			t.Fatalf("%+v, %v", imp, err)
		}
		r.act(campaign.ActionStart)
		r.until(time.Hour, "campaign completed", r.completed)
		r.check()
		if r.world.Invites != 20 {
			t.Errorf("%d INVITEs", r.world.Invites)
		}
	})
}

func TestAFileThatNobodyWaitsForIsActivatedAllTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, actortest.Mix(1, 1, 0, time.Second), nil)
		defer r.tree.Close()
		imp, err := r.tree.Import(context.Background(), campaign.ImportContacts{Campaign: r.id},
			strings.NewReader(file(0, 20)))
		if err != nil || imp.State != campaign.ImportActivating || imp.Rows != 20 || imp.Added != 0 {
			t.Fatalf("%+v, %v", imp, err)
		}
		r.until(time.Minute, "the contacts are there", func() bool { return r.detail().Counters.Total == 20 })
		if now, err := r.store.Import(context.Background(), imp.ID); err != nil || now.State != campaign.ImportActive ||
			now.Added != 20 {
			t.Errorf("%+v, %v", now, err)
		}
	})
}

func TestATreeThatIsClosedEndsItsImports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(time.Second, time.Second), nil)
		ended := r.importing(file(0, 20), time.Hour)
		time.Sleep(time.Second) // virtual
		r.tree.Close()
		if err := <-ended; err == nil {
			t.Error("imported all the same")
		}
		if _, err := r.importFile(file(0, 20)); engine.ErrorCode(err) != "closing" {
			t.Errorf("%v", err)
		}
		if r.store.Staged() != 0 {
			t.Error("rows are still staged")
		}
	})
}

// A dry run adds and dials nobody, and reports what the file would add.
func TestADryRunAddsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 10*time.Second), func(s *campaign.Settings) {
			s.StickyExclusion, s.AlwaysOn = true, true
		})
		defer r.tree.Close()
		r.results()
		r.add(1)
		if _, err := r.tree.Exclude(context.Background(), campaign.Exclude{Campaign: r.id, Number: number(5)}); err != nil {
			t.Fatal(err)
		}
		r.act(campaign.ActionStart)
		time.Sleep(time.Minute) // virtual
		file := "Mobile,name\n" + number(0).E164() + ",a\n" + number(5).E164() + ",b\n" + number(6).E164() + ",c\n" +
			number(6).E164() + ",d\nx,e\n"
		cmd := campaign.ImportContacts{Campaign: r.id, Wait: true, DryRun: true,
			Mapping:     map[string]string{"Mobile": "phone_number"},
			Idempotency: engine.Idempotency{Key: "k", Token: "t"}}
		imp, err := r.tree.Import(context.Background(), cmd, strings.NewReader(file))
		if err != nil || imp.State != campaign.ImportChecked || imp.Rows != 5 || imp.Added != 1 || imp.Duplicate != 2 ||
			imp.Excluded != 1 || imp.Invalid != 1 {
			t.Errorf("%+v %v", imp, err)
		}
		time.Sleep(time.Minute) // virtual
		if n := r.world.Invited(); n != 1 || r.detail().Counters.Total != 1 || r.store.Staged() != 0 {
			t.Errorf("%d INVITEs, %d contacts, %d rows staged", n, r.detail().Counters.Total, r.store.Staged())
		}
		if _, err := r.tree.Import(context.Background(), cmd, strings.NewReader(file)); !errors.Is(err,
			journal.ErrImportRequest) {
			t.Errorf("the same request again: %v", err)
		}
		cmd.DryRun, cmd.Idempotency = false, engine.Idempotency{}
		imp, err = r.tree.Import(context.Background(), cmd, strings.NewReader(file))
		if err != nil || imp.State != campaign.ImportActive || imp.Added != 1 {
			t.Errorf("%+v %v", imp, err)
		}
		r.until(5*time.Minute, "the one is called", func() bool { return r.world.InvitedTo(number(6)) == 1 })
	})
}
