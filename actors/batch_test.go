package actors_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/memstore"
)

// A batch obeys the rules of lists, reports the result of each item, and stores its answer with the
// contacts.
func TestABatchSaysOfEachItemWhatBecameOfIt(t *testing.T) {
	for _, sticky := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, steady(2*time.Second, 10*time.Second), func(s *campaign.Settings) {
				s.StickyExclusion, s.AlwaysOn = sticky, true
			})
			defer r.tree.Close()
			r.results()
			r.add(2) // 0, 1
			for _, n := range []int{1, 7} {
				if _, err := r.tree.Exclude(context.Background(), campaign.Exclude{Campaign: r.id, Number: number(n)}); err != nil {
					t.Fatal(err)
				}
			}
			r.suppress(number(8))
			r.suppress(number(9))
			r.act(campaign.ActionStart)
			invalid := campaign.BatchResult{Status: campaign.RowInvalid,
				Problem: &campaign.RowProblem{Code: "validation_failed"}}
			cmd := campaign.AddBatch{AddContacts: campaign.AddContacts{Campaign: r.id, Source: "api"},
				Idempotency: engine.Idempotency{Key: "key", Route: "batch", Token: "one", BodyHash: "x"}}
			for _, n := range []int{-1, 0, 1, 7, 8, 20, -1, 20, 21} { // 20 is there twice
				if n < 0 {
					cmd.Results = append(cmd.Results, invalid)
					continue
				}
				cmd.Results = append(cmd.Results, campaign.BatchResult{})
				cmd.Contacts = append(cmd.Contacts, campaign.NewContact{Number: number(n),
					Variables: map[string]string{"batch": "yes"}})
			}
			for _, p := range [][2]int{{8, 22}, {9, 8}, {23, 8}} { // suppressed are the first, both, the second
				cmd.Results = append(cmd.Results, campaign.BatchResult{})
				cmd.Contacts = append(cmd.Contacts, campaign.NewContact{Number: number(p[0]),
					Alternates: contact.NewAlternates([]contact.Alternate{{Number: number(p[1])}})})
			}
			want := []campaign.RowStatus{"invalid", "duplicate", "excluded", "excluded", "suppressed", "added", "invalid",
				"duplicate", "added", "added", "suppressed", "added"}
			if !sticky {
				want[2], want[3] = "readmitted", "added"
			}
			rep, err := r.tree.AddBatch(context.Background(), cmd)
			var got []campaign.RowStatus
			for _, x := range rep.Results {
				got = append(got, x.Status)
			}
			if err != nil || !slices.Equal(got, want) || rep.Results[7].ContactID != rep.Results[5].ContactID {
				t.Fatalf("sticky %v: %v, want %v: %+v, %v", sticky, got, want, rep, err)
			}
			if sum := rep.Added + rep.Duplicates + rep.Readmitted + rep.Excluded + rep.Suppressed +
				rep.Invalid; sum != len(want) || rep.Invalid != 2 || rep.Duplicates != 2 {
				t.Errorf("%+v", rep)
			}
			var kept journal.Reply
			r.store.View(func() { kept = r.store.Replies[memstore.ReplyKey{Key: "key", Route: "batch", Token: "one"}] })
			if body, _ := json.Marshal(rep); string(kept.Body) != string(body) || kept.Status != 200 {
				t.Errorf("kept %d %s, answered %s", kept.Status, kept.Body, body)
			}
			// The same key on another node: nothing is added.
			cmd.Contacts = []campaign.NewContact{{Number: number(30)}}
			cmd.Results = make([]campaign.BatchResult, 1)
			if _, err := r.tree.AddBatch(context.Background(), cmd); !errors.Is(err, journal.ErrReplyExists) {
				t.Errorf("a repeat: %v", err)
			}
			if c := r.contactOf(number(30)); c.ID != "" {
				t.Error("it is there")
			}
			r.until(5*time.Minute, "those who can be called are",
				func() bool { return r.contactOf(number(21)).State == contact.Completed })
			for n, calls := range map[int]int{1: 1, 7: 1, 8: 0, 20: 1, 21: 1} {
				if sticky && n < 8 {
					calls = 0
				}
				if got := r.world.InvitedTo(number(n)); got != calls {
					t.Errorf("sticky %v: %d calls to %d", sticky, got, n)
				}
			}
			if d := r.detail(); d.Counters.Total != 2+rep.Added {
				t.Errorf("%d contacts", d.Counters.Total)
			}
		})
	}
}
