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

// Sticky: later adds are refused. Not sticky: adding again makes the contact callable.
func TestAddingSomebodyAgainUndoesAnExclusionThatIsNotSticky(t *testing.T) {
	for _, sticky := range []bool{true, false} {
		for _, by := range []string{"list", "file", "trigger"} {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, steady(2*time.Second, 10*time.Second), func(s *campaign.Settings) {
					s.StickyExclusion, s.AlwaysOn = sticky, true
				})
				defer r.tree.Close()
				r.results()
				r.add(3) // 0, 1, 2
				exclude := func(x campaign.Exclude) {
					x.Campaign = r.id
					if _, err := r.tree.Exclude(context.Background(), x); err != nil {
						t.Fatal(err)
					}
				}
				exclude(campaign.Exclude{Number: number(0)})                  // in the campaign
				exclude(campaign.Exclude{Match: map[string]string{"i": "1"}}) // in the campaign, by metadata
				exclude(campaign.Exclude{Number: number(7)})                  // in advance
				r.act(campaign.ActionStart)
				time.Sleep(time.Minute) // virtual
				if n := r.world.Invited(); n != 1 {
					t.Fatalf("%d INVITEs, want the one to who is not excluded", n)
				}
				switch by {
				case "list":
					cmd := campaign.AddContacts{Campaign: r.id, Source: "api"}
					for _, i := range []int{0, 1, 2, 7} {
						cmd.Contacts = append(cmd.Contacts, campaign.NewContact{Number: number(i),
							Variables: map[string]string{"again": "yes"}})
					}
					rep, err := r.tree.AddContacts(context.Background(), cmd)
					want := campaign.AddReport{Added: 1, Duplicates: 3, Readmitted: 2, Total: 4}
					if sticky {
						// By number the contact is known as excluded; by metadata only once the
						// exclusion is repeated.
						want = campaign.AddReport{Duplicates: 2, Excluded: 2, Total: 3}
					}
					if rep != want || err != nil {
						t.Errorf("sticky %v: %+v, want %+v, %v", sticky, rep, want, err)
					}
				case "file":
					if _, err := r.importFile("phone_number,again\n" + number(0).E164() + ",yes\n" + number(1).E164() + ",yes\n" +
						number(2).E164() + ",yes\n" + number(7).E164() + ",yes\n"); err != nil {
						t.Error(err)
					}
				case "trigger":
					for _, i := range []int{0, 1, 7} {
						_, err := r.tree.Trigger(context.Background(), campaign.Trigger{Campaign: r.id, Number: number(i),
							Variables: map[string]string{"again": "yes"}})
						if sticky != (engine.ErrorCode(err) == "contact_excluded") {
							t.Errorf("sticky %v, number %d: %v", sticky, i, err)
						}
					}
				}
				time.Sleep(time.Minute) // virtual
				synctest.Wait()
				for i, was := range map[int]bool{0: true, 1: true, 7: false} {
					c, calls := r.contactOf(number(i)), r.world.InvitedTo(number(i))
					switch {
					case sticky && (calls > 0 || was && c.State != contact.Excluded || !was && c.ID != ""):
						t.Errorf("sticky, by %s: contact %d is %s, %d calls", by, i, c.State, calls)
					case !sticky && (calls != 1 || c.State != contact.Completed || c.Variables["again"] != "yes"):
						t.Errorf("not sticky, by %s: contact %d is %s, %d calls, %v", by, i, c.State, calls, c.Variables)
					}
				}
				if n := r.world.InvitedTo(number(2)); n != 1 && by != "trigger" {
					t.Errorf("by %s: a final contact that is added again was dialled %d times, want once: it is a duplicate", by, n)
				}
				if n := r.tree.Stats().Calls.Illegal.Load(); n > 0 {
					t.Errorf("%d events were refused by machines", n)
				}
				r.threeWays()
				r.act(campaign.ActionStop)
			})
		}
	}
}

func TestAnExclusionThatComesWhileSomebodyIsAddedAgainStands(t *testing.T) {
	for _, after := range []time.Duration{time.Millisecond, 3 * time.Millisecond, 5 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, steady(10*time.Second, 10*time.Second), func(s *campaign.Settings) { s.AlwaysOn = true })
			defer r.tree.Close()
			r.results()
			r.add(1)
			x := campaign.Exclude{Campaign: r.id, Number: number(0)}
			if _, err := r.tree.Exclude(context.Background(), x); err != nil {
				t.Fatal(err)
			}
			r.act(campaign.ActionStart)
			time.Sleep(10 * time.Second) // virtual
			done := make(chan error, 1)
			go func() {
				_, err := r.tree.AddContacts(context.Background(), campaign.AddContacts{Campaign: r.id, Source: "api",
					Contacts: []campaign.NewContact{{Number: number(0)}}})
				done <- err
			}()
			time.Sleep(after) // virtual
			if _, err := r.tree.Exclude(context.Background(), x); err != nil {
				t.Fatal(err)
			}
			invites := r.world.Invited()
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute) // virtual
			synctest.Wait()
			if n := r.world.Invited(); n != invites {
				t.Errorf("%v after the addition: an INVITE left after the exclusion was confirmed", after)
			}
			if c := r.contactOf(number(0)); c.State != contact.Excluded {
				t.Errorf("%v after the addition: %s", after, c.State)
			}
			r.act(campaign.ActionStop)
		})
	}
}
