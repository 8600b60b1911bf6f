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

// A long list of waiting contacts is closed in parts, so that the answers of live calls are stored
// in between; the campaign is draining until that is done, even across a crash.
func TestTheEndOfALongListIsDoneInPartsAndNobodyIsLeftWaiting(t *testing.T) {
	for name, crash := range map[string]bool{"at a stretch": false, "with a crash in between": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, steady(2*time.Second, 10*time.Minute), nil)
				defer func() { r.tree.Close() }()
				const contacts = 13_000
				r.add(contacts)
				r.act(campaign.ActionStart)
				r.until(time.Minute, "ten conversations", func() bool { return r.detail().Live.InProgress == 10 })
				// A store that takes as long as one that closes five thousand rows.
				r.store.View(func() { r.store.Delay = 200 * time.Millisecond })
				d := r.act(campaign.ActionStop)
				if d.Campaign.State != campaign.Completed || !d.Draining {
					t.Fatalf("%s, draining %v", d.Campaign.State, d.Draining)
				}
				if n := d.Counters.ManuallyStopped; n == 0 || n > contacts/2 {
					t.Fatalf("%d are put away with the answer", n)
				}
				if _, err := r.tree.Act(context.Background(),
					campaign.Act{Campaign: r.id, Action: campaign.ActionRestart}); engine.ErrorCode(err) != "calls_in_progress" {
					t.Errorf("a restart in the middle: %v", err)
				}
				if crash {
					r.kill()
					r.start()
				}
				r.until(time.Hour, "everybody is put away", func() bool {
					d := r.detail()
					return !d.Draining && d.Counters.States[contact.Connected] == 0 && len(r.openAttempts()) == 0
				})
				time.Sleep(time.Second) // virtual: the last write
				r.store.View(func() {
					for c := range r.store.AllContacts() {
						if c.DueAt != nil || c.State == contact.Pending {
							t.Fatalf("%s still waits: %+v", c.ID, c)
						}
					}
				})
				d = r.detail()
				if c := d.Counters; c.ManuallyStopped < contacts-20 || c.Total != contacts || c.Pending != 0 {
					t.Errorf("%+v", c)
				}
				if !crash { // a crash also resets the carrier's ledger
					r.check()
				}
			})
		})
	}
}
