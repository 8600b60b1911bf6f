package actors_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"dialler/actors/actortest"
	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/trunk"
)

// newRestingRig is a campaign whose contacts were busy and wait an hour: no call is live, and
// nothing is due.
func newRestingRig(t *testing.T, contacts int, edit func(*campaign.Settings)) *rig {
	t.Helper()
	busy := func(engine.PhoneNumber, int) actortest.Script { return actortest.Script{Ring: time.Second, Code: 486} }
	r := newRig(t, busy, func(s *campaign.Settings) {
		s.RetryDelaySec = 3600
		if edit != nil {
			edit(s)
		}
	})
	r.add(contacts)
	r.act(campaign.ActionStart)
	r.rest(contacts)
	return r
}

func (r *rig) rest(contacts int) {
	r.t.Helper()
	r.until(time.Minute, "all were busy", func() bool { return r.detail().Counters.States[contact.Waiting] == contacts })
	r.over()
	time.Sleep(20 * time.Second) // virtual: the campaign has seen that nothing is due
}

func (r *rig) exclude(n engine.PhoneNumber, reason string) campaign.ExcludeReply {
	r.t.Helper()
	rep, err := r.tree.Exclude(context.Background(), campaign.Exclude{Campaign: r.id, Number: n, Reason: reason})
	if err != nil {
		r.t.Fatal(err)
	}
	return rep
}

// erase removes a person from the tree as an erasure does.
func (r *rig) erase(n engine.PhoneNumber) {
	r.t.Helper()
	ids := []engine.CampaignID{r.id}
	if err := r.tree.BeginErasure(context.Background(), n, ids, ids, ""); err != nil {
		r.t.Fatal(err)
	}
	if err := r.tree.EndErasure(context.Background(), n, "erased:1", ids, nil); err != nil {
		r.t.Fatal(err)
	}
}

// campaignRow returns the stored campaign without starting any actor.
func (r *rig) campaignRow() (c campaign.Campaign) {
	r.store.View(func() { c = *r.store.CampaignRow(r.id) })
	return c
}

func (r *rig) completesAtOnce() {
	r.t.Helper()
	time.Sleep(time.Second) // virtual
	synctest.Wait()
	if s := r.campaignRow().State; s != campaign.Completed {
		r.t.Fatalf("%s a second after the last open contact was settled, want completed", s)
	}
	if c := r.detail().Live.Constraint; c == engine.ConstraintRetryDelay {
		r.t.Errorf("completed, and held back by %s", c)
	}
	r.check()
}

// settled are the ways in which an operator settles a waiting contact.
var settled = []struct {
	how  string
	do   func(r *rig)
	want contact.State
}{
	{"excluded", func(r *rig) { r.exclude(number(0), "asked") }, contact.Excluded},
	{"excluded by metadata", func(r *rig) {
		if _, err := r.tree.Exclude(context.Background(), campaign.Exclude{Campaign: r.id,
			Match: map[string]string{"i": "0"}}); err != nil {
			r.t.Fatal(err)
		}
	}, contact.Excluded},
	{"suppressed", func(r *rig) { r.suppress(number(0)) }, contact.Failed},
	{"erased", func(r *rig) { r.erase(number(0)) }, contact.Excluded},
}

func TestACampaignAtRestCompletesAtOnceWhenItsLastOpenContactIsSettled(t *testing.T) {
	for _, x := range settled {
		t.Run(x.how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRestingRig(t, 1, nil)
				defer func() { r.tree.Close() }()
				x.do(r)
				r.completesAtOnce()
				if d := r.detail(); d.Counters.States[x.want] != 1 {
					t.Errorf("%v, want one %s", d.Counters.States, x.want)
				}
			})
		})
	}
}

// The same if the process was killed after the commit that settles the contact.
func TestACampaignAtRestThatIsLoadedCompletesAtOnceWhenNobodyIsOpen(t *testing.T) {
	for _, x := range settled {
		t.Run(x.how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRestingRig(t, 1, nil)
				defer func() { r.tree.Close() }()
				r.tree.Close()
				switch x.how {
				case "suppressed": // while no process ran
					r.store.View(func() { r.store.Suppress(number(0)) })
				default:
					r.store.View(func() {
						for c := range r.store.AllContacts() {
							c.State, c.DueAt, c.Version = x.want, nil, c.Version+1
							if c.State == contact.Failed {
								c.Reason = contact.ReasonExhausted
							}
							r.store.PutContact(c)
						}
					})
				}
				r.start()
				r.completesAtOnceOnLoad()
			})
		})
	}
}

func (r *rig) completesAtOnceOnLoad() {
	r.t.Helper()
	time.Sleep(time.Second) // virtual
	synctest.Wait()
	if s := r.campaignRow().State; s != campaign.Completed {
		r.t.Fatalf("%s a second after it was loaded, want completed", s)
	}
}

func TestACampaignAtRestTellsOfAChangeWithinASecond(t *testing.T) {
	for _, x := range settled {
		t.Run(x.how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRestingRig(t, 2, nil)
				defer func() { r.tree.Close() }()
				before := r.detail().Counters.RetriesLeft
				x.do(r)
				time.Sleep(time.Second) // virtual
				d := r.detail()
				if d.Campaign.State != campaign.Running || d.Counters.States[x.want] != 1 || d.Counters.RetriesLeft >= before {
					t.Errorf("%s, %v, %d retries left of %d", d.Campaign.State, d.Counters.States, d.Counters.RetriesLeft, before)
				}
				if d.Live.Constraint != engine.ConstraintRetryDelay {
					t.Errorf("held back by %s (%s)", d.Live.Constraint, d.Live.Explanation)
				}
				r.until(2*time.Hour, "the other is dialled on until its attempts are used up", r.completed)
				r.check()
				if n, m := r.world.InvitedTo(number(0)), r.world.InvitedTo(number(1)); n != 1 || m != 3 {
					t.Errorf("%d and %d INVITEs, want 1 and 3", n, m)
				}
			})
		})
	}
}

// Six wait for their last attempt: one has for ten minutes, whose change affects what is due next;
// five were dialled in the last five minutes, one a minute.
func TestTheETAOfACampaignAtRestIsRightWithinASecondOfAChange(t *testing.T) {
	const absent = time.Duration(-1) // it cannot be estimated
	type change struct {
		how  string
		do   func(r *rig)
		want time.Duration // 0 means the due time, plus a minute for each
	}
	down := []engine.TrunkSettings{{ID: "trunk", CPSCap: 50, ChannelCap: 500}}
	up := []engine.TrunkSettings{{ID: "trunk", Active: true, CPSCap: 50, ChannelCap: 500}}
	barred := func(state string) func(r *rig) {
		return func(r *rig) {
			r.tree.NumberChanged(engine.NumberSettings{Number: "+4930111111", State: state})
			r.tree.NumberChanged(engine.NumberSettings{Number: "+4930111112", State: state})
		}
	}
	changes := []change{
		{"lifted", func(r *rig) {
			r.exclude(number(0), "asked")
			time.Sleep(2 * time.Second) // virtual
			if _, err := r.tree.Lift(context.Background(), campaign.Lift{Campaign: r.id, Number: number(0)}); err != nil {
				r.t.Fatal(err)
			}
			// It is called at once, which leaves five dials, at a rate of six in five minutes.
		}, 5 * time.Minute},
		{"the trunk goes", func(r *rig) { r.trunks(down, "trunk") }, absent},
		{"the trunk comes", func(r *rig) {
			r.trunks(down, "trunk")
			time.Sleep(5 * time.Second) // virtual
			r.trunks(up, "trunk")
		}, 0},
		{"the trunk goes and comes", func(r *rig) { r.trunks(down, "trunk"); r.detail(); r.trunks(up, "trunk") }, 0},
		{"the numbers go", barred("retired"), 0},
		{"the numbers come", func(r *rig) {
			barred("retired")(r)
			time.Sleep(5 * time.Second) // virtual
			barred("active")(r)
		}, 0},
		{"edited", func(r *rig) {
			r.act(campaign.ActionPause)
			r.mustEdit(func(s *campaign.Settings) { s.MaxAttempts = 3 })
			r.act(campaign.ActionResume) // it has no rate yet
		}, absent},
	}
	for _, x := range settled {
		changes = append(changes, change{x.how, x.do, 0})
	}
	for _, x := range changes {
		t.Run(x.how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRestingRig(t, 1, func(s *campaign.Settings) { s.MaxAttempts = 2 })
				defer func() { r.tree.Close() }()
				time.Sleep(10 * time.Minute) // virtual
				cmd := campaign.AddContacts{Campaign: r.id, Source: "api"}
				for i := range 5 {
					cmd.Contacts = append(cmd.Contacts, campaign.NewContact{Number: number(i + 1)})
				}
				if _, err := r.tree.AddContacts(context.Background(), cmd); err != nil {
					t.Fatal(err)
				}
				r.rest(6)
				right := func(what string, known time.Duration) {
					t.Helper()
					var next time.Time
					wait := 0
					for i := range 6 {
						if due := r.contactOf(number(i)).DueAt; due != nil {
							if wait++; next.IsZero() || due.Before(next) {
								next = *due
							}
						}
					}
					eta := r.detail().Live.ETASeconds
					want := time.Until(next) + time.Duration(wait)*time.Minute
					if known != 0 {
						want = known
					}
					if eta == nil || want == absent {
						if eta != nil || want != absent {
							t.Errorf("%s: absent %v, want %s", what, eta == nil, want)
						}
						return
					}
					if got := time.Duration(*eta) * time.Second; got < want || got >= want+time.Minute {
						t.Errorf("%s: %s, want %s in whole minutes: %d wait, the next until %s", what, got, want, wait, next)
					}
				}
				right("before", 0)
				x.do(r)
				time.Sleep(time.Second) // virtual
				right("after", x.want)
				if c := r.detail().Live.Constraint; x.how == "the trunk goes" && c != engine.ConstraintTrunkHealth {
					t.Errorf("no trunk is there, and it is held back by %s", c)
				}
			})
		})
	}
}

func TestACampaignThatIsAlwaysOnDoesNotCompleteWhenItsLastOpenContactIsSettled(t *testing.T) {
	for _, x := range settled {
		t.Run(x.how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRestingRig(t, 1, func(s *campaign.Settings) { s.AlwaysOn = true })
				defer func() { r.tree.Close() }()
				x.do(r)
				time.Sleep(10 * time.Second) // virtual
				d := r.detail()
				if d.Campaign.State != campaign.Running || d.Counters.States[x.want] != 1 ||
					d.Live.Constraint == engine.ConstraintRetryDelay {
					t.Errorf("%s, %v, held back by %s", d.Campaign.State, d.Counters.States, d.Live.Constraint)
				}
			})
		})
	}
}

func TestAPausedCampaignWhoseLastOpenContactIsSettledStaysPausedAndHasNobodyToCall(t *testing.T) {
	for _, x := range settled {
		t.Run(x.how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRestingRig(t, 1, nil)
				defer func() { r.tree.Close() }()
				r.act(campaign.ActionPause)
				x.do(r)
				time.Sleep(2 * time.Second) // virtual
				if d := r.detail(); d.Campaign.State != campaign.Paused || d.Counters.States[x.want] != 1 {
					t.Errorf("%s, %v", d.Campaign.State, d.Counters.States)
				}
				_, err := r.tree.Act(context.Background(), campaign.Act{Campaign: r.id, Action: campaign.ActionResume})
				if engine.ErrorCode(err) != "preflight_failed" {
					t.Errorf("resumed with nobody to call: %v", err)
				}
				r.act(campaign.ActionStop)
				r.check()
			})
		})
	}
}

// A conversation goes on, but its number is suppressed nonetheless, so no redial is waited for.
func TestAConversationWhoseNumberIsSuppressedIsTheContactsLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(time.Second, 10*time.Second), func(s *campaign.Settings) {
			s.RetryDelaySec, s.RetryOnCustom = 3600, []string{"again"}
		})
		defer func() { r.tree.Close() }()
		r.resultsLike(attempt.Result{Disposition: "again"})
		r.add(1)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "it talks", func() bool { return r.detail().Live.InProgress == 1 })
		r.suppress(number(0))
		r.until(time.Minute, "completed", r.completed)
		r.check()
		if c := r.contactOf(number(0)); c.State != contact.Completed || r.world.InvitedTo(number(0)) != 1 {
			t.Errorf("%s %q after %d INVITEs", c.State, c.Reason, r.world.InvitedTo(number(0)))
		}
	})
}

// exclusions returns the campaign's exclusions in effect, in order.
func (r *rig) exclusions() []journal.Exclusion {
	r.t.Helper()
	list, err := r.store.Exclusions(context.Background(), r.id)
	if err != nil {
		r.t.Fatal(err)
	}
	return list
}

func TestASecondExclusionKeepsTheRecordedReasonUnlessItBringsOne(t *testing.T) {
	for _, by := range []string{"number", "metadata"} {
		t.Run(by, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRestingRig(t, 2, nil)
				defer func() { r.tree.Close() }()
				f := func(reason string, want campaign.ExcludeReply, kept string) {
					t.Helper()
					cmd := campaign.Exclude{Campaign: r.id, Number: number(0), Reason: reason}
					if by == "metadata" {
						cmd.Number, cmd.Match = "", map[string]string{"i": "0"}
					}
					rep, err := r.tree.Exclude(context.Background(), cmd)
					if err != nil || rep.Matched != want.Matched || rep.Excluded != want.Excluded {
						t.Errorf("%+v %v, want %+v", rep, err, want)
					}
					if list := r.exclusions(); len(list) != 1 || list[0].Reason != kept {
						t.Errorf("%+v, want the reason %q", list, kept)
					}
					if c := r.contactOf(number(0)); c.State != contact.Excluded || c.Reason != kept {
						t.Errorf("the contact: %s %q, want %q", c.State, c.Reason, kept)
					}
				}
				again := campaign.ExcludeReply{Matched: 1}
				f("court order 17", campaign.ExcludeReply{Matched: 1, Excluded: 1}, "court order 17")
				f("", again, "court order 17")
				r.tree.Close()
				r.start()
				f("", again, "court order 17")
				f("moved away", again, "moved away")
				f("", again, "moved away")
				r.threeWays()
				if d := r.detail(); d.Counters.Excluded != 1 {
					t.Errorf("%d excluded", d.Counters.Excluded)
				}
				// A lifted exclusion is forgotten with its reason.
				lift := campaign.Lift{Campaign: r.id, Number: number(0)}
				if by == "metadata" {
					lift.Number, lift.Match = "", map[string]string{"i": "0"}
				}
				if _, err := r.tree.Lift(context.Background(), lift); err != nil {
					t.Fatal(err)
				}
				f("", campaign.ExcludeReply{Matched: 1, Excluded: 1}, "")
			})
		})
	}
}

func TestAnExclusionThatWaitsForTheEndOfACallCountsOnceAndKeepsItsReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(time.Second, 30*time.Second), nil)
		defer func() { r.tree.Close() }()
		r.results()
		r.add(1)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "it talks", func() bool { return r.detail().Live.InProgress == 1 })
		if rep := r.exclude(number(0), "court order 17"); rep != (campaign.ExcludeReply{Matched: 1, Excluded: 1, InCall: 1}) {
			t.Errorf("%+v", rep)
		}
		if rep := r.exclude(number(0), ""); rep != (campaign.ExcludeReply{Matched: 1, InCall: 1}) {
			t.Errorf("once more: %+v", rep)
		}
		r.until(2*time.Minute, "completed", r.completed)
		r.check()
		if c, list := r.contactOf(number(0)), r.exclusions(); c.State != contact.Excluded || c.Reason != "court order 17" ||
			len(list) != 1 || list[0].Reason != c.Reason {
			t.Errorf("%s %q, %+v", c.State, c.Reason, list)
		}
		said := 0
		r.store.View(func() {
			for i := range r.store.AllEvents() {
				if r.store.AllEvents()[i].Type == journal.ContactExcluded {
					said++
				}
			}
		})
		if said != 1 {
			t.Errorf("%d events of the exclusion, want one", said)
		}
	})
}

func TestACampaignThatATrunkHeldBackDialsWithinASecondOfItsEdit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(engine.PhoneNumber, int) actortest.Script {
			return actortest.Script{Ring: time.Second, Code: 401}
		}, nil)
		defer r.tree.Close()
		r.add(1)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "the trunk is held", func() bool { return r.trunkStatus("trunk").Health == trunk.Held })
		r.until(time.Minute, "it holds the campaign back",
			func() bool { return r.detail().Live.Constraint == engine.ConstraintTrunkHealth })
		time.Sleep(5 * time.Second) // virtual
		n := r.world.Invited()
		r.trunks(r.store.TrunkList, "trunk") // saved unchanged: the operator says it is fixed
		time.Sleep(time.Second)              // virtual
		if s := r.trunkStatus("trunk"); r.world.Invited() == n {
			t.Errorf("nothing is dialled a second after the trunk was put again: %+v", s)
		}
	})
}

func TestACampaignThatANumberHeldBackDialsWithinASecondOfItsEdit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		capped := engine.NumberSettings{Number: "+4930111111", State: "active", HourCap: 1}
		busy := func(engine.PhoneNumber, int) actortest.Script { return actortest.Script{Ring: time.Second, Code: 486} }
		r := newRig(t, busy, func(s *campaign.Settings) { s.Numbers, s.MaxAttempts = []engine.PhoneNumber{capped.Number}, 1 })
		defer r.tree.Close()
		r.tree.NumberChanged(capped)
		r.add(2)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "its number holds it back", func() bool {
			return r.world.Invited() == 1 && r.detail().Live.Constraint == engine.ConstraintNumberPool
		})
		time.Sleep(10 * time.Second) // virtual
		if n := r.world.Invited(); n != 1 {
			t.Fatalf("%d INVITEs, the number may be used once an hour", n)
		}
		capped.HourCap = 0
		r.tree.NumberChanged(capped)
		time.Sleep(time.Second) // virtual
		if n := r.world.Invited(); n != 2 {
			t.Errorf("%d INVITEs a second after the cap was lifted, want 2", n)
		}
		r.until(time.Minute, "completed", r.completed)
		r.check()
	})
}

// The answer of a query is stale: a contact that became idle while it ran is not forgotten until
// the next query.
func TestAContactThatComesToRestDuringALookIsDialledWhenItIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script := func(n engine.PhoneNumber, nth int) actortest.Script {
			switch n {
			case number(1):
				return steady(time.Second, 12*time.Second)(n, nth)
			case number(2): // final a second before the conversation ends: triggers a new query
				return actortest.Script{Ring: 12 * time.Second, Code: 603}
			}
			return actortest.Script{Ring: time.Second, Code: 486}
		}
		r := newRig(t, script, func(s *campaign.Settings) { s.RetryDelaySec, s.CallbackDetection = 3600, true })
		defer r.tree.Close()
		r.store.View(func() { r.store.LookDelay = 4 * time.Second })
		at := time.Now().Add(40 * time.Second)
		r.resultsLike(attempt.Result{Disposition: "later", Callback: &attempt.Callback{Requested: true, At: &at}})
		r.add(3)
		r.act(campaign.ActionStart)
		time.Sleep(39 * time.Second) // virtual
		if n := r.world.InvitedTo(number(1)); n != 1 {
			t.Fatalf("%d INVITEs, it was to be called back later", n)
		}
		time.Sleep(10 * time.Second) // virtual
		if n := r.world.InvitedTo(number(1)); n != 2 {
			t.Errorf("%d INVITEs, it was to be called back 9 s ago: %+v", n, r.contactOf(number(1)))
		}
	})
}

// A campaign completes within a second after its last contact became final, however that came about.
func TestACampaignCompletesWithinASecondAfterItsLastContact(t *testing.T) {
	busy := func(engine.PhoneNumber, int) actortest.Script { return actortest.Script{Ring: time.Second, Code: 486} }
	f := func(how string, script func(engine.PhoneNumber, int) actortest.Script, results bool,
		edit func(*campaign.Settings)) {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, script, edit)
				defer func() { r.tree.Close() }()
				if results {
					r.results()
				}
				r.add(7)
				r.act(campaign.ActionStart)
				r.until(24*time.Hour, "completed", r.completed)
				r.check()
				var last time.Time
				r.store.View(func() {
					for c := range r.store.AllContacts() {
						if c.UpdatedAt.After(last) {
							last = c.UpdatedAt
						}
					}
				})
				if took := r.campaignRow().CompletedAt.Sub(last); took < 0 || took > time.Second {
					t.Errorf("completed %v after its last contact", took)
				}
			})
		})
	}
	f("engaged", busy, false, func(s *campaign.Settings) { s.MaxAttempts = 1 })
	f("engaged twice", busy, false, func(s *campaign.Settings) { s.MaxAttempts = 2 })
	f("one after the other", busy, false, func(s *campaign.Settings) { s.MaxAttempts, s.Concurrency = 1, 1 })
	f("with results", steady(time.Second, 7*time.Second), true, nil)
	f("without results", steady(time.Second, 7*time.Second), false, func(s *campaign.Settings) { s.RetryOnSystem = nil })
}
