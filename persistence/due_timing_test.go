package persistence_test

import (
	"fmt"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/persistence"
	"dialler/persistence/storetest"
)

// BenchmarkLargeCampaign measures the look-ahead of a campaign of 200 000 contacts, half of them
// waiting for a retry that is not due: those must not add to the cost.
func BenchmarkLargeCampaign(b *testing.B) {
	store := storetest.OpenAt(b, storetest.URL(b), persistence.Config{})
	ctx, now := b.Context(), time.Now()
	c := campaign.Campaign{ID: "cmp_large", State: campaign.Running, Run: 1, CreatedAt: now,
		Settings: campaign.Settings{Name: "large", MaxAttempts: 3}}
	if err := store.InsertCampaign(ctx, c); err != nil {
		b.Fatal(err)
	}
	c, err := store.AcquireCampaign(ctx, c.ID)
	if err != nil {
		b.Fatal(err)
	}
	const total, part = 200_000, 10_000
	for from := 0; from < total; from += part {
		add := journal.ContactInsert{Campaign: c.ID, Epoch: c.Epoch, Run: 1, Source: "csv", Max: 3, At: now,
			DueClass: contact.DueFirst,
			Event: journal.Event{Campaign: c.ID, Seq: int64(from + 1), Run: 1, At: now, Type: journal.ContactsAdded,
				Version: 1}}
		for i := range part {
			add.Contacts = append(add.Contacts, journal.IdentifiedContact{ID: engine.ContactID(benchID(now, from+i)),
				NewContact: campaign.NewContact{Number: engine.PhoneNumber(fmt.Sprintf("+49151%08d", from+i)),
					Variables: map[string]string{"name": "Ada", "account": fmt.Sprint(from + i)}}})
		}
		start := time.Now()
		if _, err := store.AddContacts(ctx, add); err != nil {
			b.Fatal(err)
		}
		if from == total-part {
			b.ReportMetric(float64(time.Since(start).Milliseconds()), "ms/10k-added")
		}
	}
	var n int
	if err := store.QueryRow(ctx, `WITH u AS (
			UPDATE contacts SET due_class = 3, used = 1 + position % 3, due_at = now() + interval '1 day'
			WHERE position % 2 = 0 RETURNING 1)
		SELECT count(*) FROM u`, &n); err != nil {
		b.Fatal(err)
	}
	b.Run("due", func(b *testing.B) {
		for b.Loop() {
			if rows, err := store.DueContacts(ctx, c.ID, 1, contact.Order{Now: time.Now()}, 500, nil); err != nil ||
				len(rows) != 500 {
				b.Fatal(len(rows), err)
			}
		}
	})
	b.Run("next", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := store.NextDue(ctx, c.ID, 1); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("match", func(b *testing.B) {
		for b.Loop() {
			if rows, err := store.ContactsMatching(ctx, c.ID, map[string]string{"account": "77"}); err != nil || len(rows) != 1 {
				b.Fatal(len(rows), err)
			}
		}
	})
	b.Run("counters", func(b *testing.B) {
		for b.Loop() {
			if _, err := store.Counters(ctx, c.ID, 1); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("page", func(b *testing.B) {
		for b.Loop() {
			if _, err := store.Contacts(ctx, c.ID, campaign.Page{Number: 2, Size: 50}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
