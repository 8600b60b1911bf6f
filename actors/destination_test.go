package actors_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	e164 "dialler/engine/number"
)

const vienna = engine.PhoneNumber("+43676123456")

// A contact already in the list is not dialled if the installation does not call its country: no
// INVITE leaves, and the contact says why.
func TestAContactAbroadIsFailedWithoutACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 10*time.Second), nil)
		defer r.tree.Close()
		r.results()
		r.add(2)
		add := campaign.AddContacts{Campaign: r.id, Contacts: []campaign.NewContact{{Number: vienna}}}
		if _, err := r.tree.AddContacts(context.Background(), add); err != nil {
			t.Fatal(err)
		}
		p := r.preflight()
		if p.Contacts.ToDial != 2 || len(p.Contacts.Skipped) != 1 ||
			p.Contacts.Skipped[0] != (campaign.SkipReason{Reason: "destination_not_allowed", Count: 1}) {
			t.Errorf("%+v", p.Contacts)
		}
		r.act(campaign.ActionStart)
		r.until(5*time.Minute, "completed", r.completed)
		r.check()
		c := r.contactOf(vienna)
		if c.State != contact.Failed || c.Reason != "destination_not_allowed" || c.LastOutcome != engine.OutcomeBlocked ||
			c.Used != 0 {
			t.Errorf("%s %q %s, %d used", c.State, c.Reason, c.LastOutcome, c.Used)
		}
		if n := r.world.InvitedTo(vienna); n != 0 {
			t.Errorf("%d INVITEs", n)
		}
		r.store.View(func() {
			for a := range r.store.AllAttempts() {
				if a.To == vienna && (a.State != attempt.Ended || a.Consumed || a.Friendly == "") {
					t.Errorf("%+v", a)
				}
			}
			if len(r.store.Holds) != 0 {
				t.Errorf("%d numbers are still held", len(r.store.Holds))
			}
		})
	})
}

func TestTheCountriesOfConfiguredNumbersMayBeCalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 10*time.Second), nil)
		defer r.tree.Close()
		if err := r.tree.Destination(e164.CalleeOf(vienna)); err != nil {
			t.Errorf("nothing is configured, and yet: %v", err)
		}
		r.tree.NumberChanged(engine.NumberSettings{Number: "+4930111111", State: "active"})
		if err := r.tree.Destination(e164.CalleeOf(vienna)); engine.ErrorCode(err) != "destination_not_allowed" {
			t.Errorf("%v", err)
		}
		r.tree.NumberChanged(engine.NumberSettings{Number: "+4312345678", State: "active"})
		if err := r.tree.Destination(e164.CalleeOf(vienna)); err != nil {
			t.Error(err)
		}
		if err := r.tree.Destination(e164.CalleeOf("+49900123456")); engine.ErrorCode(err) != "destination_not_allowed" {
			t.Errorf("premium rate: %v", err)
		}
	})
}

func TestADialoutAbroadIsRefusedAtTheIntent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 10*time.Second), nil)
		defer r.tree.Close()
		r.tree.NumberChanged(engine.NumberSettings{Number: "+4930111111", State: "active"})
		time.Sleep(time.Second) // virtual
		_, err := r.tree.Dialout(context.Background(), campaign.Dialout{Bot: "bot", To: vienna})
		if engine.ErrorCode(err) != "destination_not_allowed" || r.world.Invited() != 0 {
			t.Errorf("%v, %d INVITEs", err, r.world.Invited())
		}
		time.Sleep(5 * time.Second) // virtual
		st := r.tree.Stats()
		if st.Fleet.SeatsHeld.Load() != 0 || st.Trunks.Leases.Load() != 0 || st.Numbers.Leases.Load() != 0 ||
			r.tree.LiveCalls() != 0 {
			t.Errorf(
				"held: %d seats, %d channels, %d numbers",
				st.Fleet.SeatsHeld.Load(),
				st.Trunks.Leases.Load(),
				st.Numbers.Leases.Load(),
			)
		}
	})
}

func TestRowsOfAFileThatMayNotBeCalledAreListedAsRejected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, 10*time.Second), nil)
		defer r.tree.Close()
		r.tree.NumberChanged(engine.NumberSettings{Number: "+4930111111", State: "active"})
		imp, err := r.importFile(file(0, 2) + vienna.E164() + ",9\n")
		if err != nil || imp.Rows != 3 || imp.Added != 2 || imp.Invalid != 1 {
			t.Fatalf("%+v %v", imp, err)
		}
		r.store.View(func() {
			if list := r.store.Imports.Rejected; len(list) != 1 || list[0].Reason != "destination_not_allowed" ||
				list[0].Line != 4 || list[0].Message == "" {
				t.Errorf("%+v", list)
			}
		})
	})
}
