package persistence_test

import (
	"cmp"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/persistence"
	"dialler/persistence/storetest"
	"dialler/persistence/table"
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

var listContacts = flag.Int("list-contacts", 200_000, "the length of BenchmarkLongList's lists; ten million take 10 GB")

// BenchmarkLongList measures what times, a cadence and a second number add to a long list: the database's bytes a
// contact, and the read of the next 500 who are due. Half of a list is due today, half tomorrow: as retries in the
// plain one, by not_before and priority in the other.
func BenchmarkLongList(b *testing.B) {
	for _, full := range []bool{false, true} {
		b.Run(map[bool]string{false: "plain", true: "full"}[full], func(b *testing.B) {
			c, store := longList(b, *listContacts, full)
			ctx := b.Context()
			var bytes int64
			if err := store.QueryRow(ctx, "SELECT pg_total_relation_size('contacts') + "+
				"pg_total_relation_size('contact_numbers')", &bytes); err != nil {
				b.Fatal(err)
			}
			order := contact.Order{Now: time.Now().Add(time.Minute)}
			for b.Loop() {
				if rows, err := store.DueContacts(ctx, c.ID, 1, order, 500, nil); err != nil || len(rows) != 500 {
					b.Fatal(len(rows), err)
				}
			}
			b.ReportMetric(float64(bytes)/float64(*listContacts), "B/contact")
		})
	}
}

// longList makes a campaign with so many contacts, by copying the row of one that was added.
func longList(b *testing.B, n int, full bool) (campaign.Campaign, *persistence.Store) {
	b.Helper()
	url := storetest.URL(b)
	store := storetest.OpenAt(b, url, persistence.Config{})
	ctx, now := b.Context(), time.Now()
	c := campaign.Campaign{ID: "cmp_long", State: campaign.Running, Run: 1, CreatedAt: now,
		Settings: campaign.Settings{Name: "long", MaxAttempts: 3}}
	if err := store.InsertCampaign(ctx, c); err != nil {
		b.Fatal(err)
	}
	c, err := store.AcquireCampaign(ctx, c.ID)
	if err != nil {
		b.Fatal(err)
	}
	add := journal.ContactInsert{Campaign: c.ID, Epoch: c.Epoch, Run: 1, Source: "csv", Max: 3, At: now,
		DueClass: contact.DueFirst, Event: journal.Event{Campaign: c.ID, Seq: 1, Run: 1, At: now,
			Type: journal.ContactsAdded, Version: 1},
		Contacts: []journal.IdentifiedContact{{ID: engine.ContactID(benchID(now, 0)),
			NewContact: campaign.NewContact{Number: "+4915100000000"}}}}
	if _, err := store.AddContacts(ctx, add); err != nil {
		b.Fatal(err)
	}
	values := map[string]string{"id": "gen_random_uuid()", "position": "c.position + i",
		"number":    "'+' || 4915100000000 + i",
		"due_class": "CASE WHEN i % 2 = 0 THEN 3 ELSE due_class END", "used": "i % 2",
		"due_at": "c.due_at + CASE WHEN i % 2 = 0 THEN interval '1 day' ELSE interval '0' END"}
	if full {
		values["used"], values["due_class"] = "0", "c.due_class"
		values["not_before"], values["expires_at"] = values["due_at"], "c.due_at + interval '60 days'"
		values["precedence"] = "i % 3"
		values["alternates"] = "'+' || 4916100000000 + i"
		values["tries"] = "i % 7"
	}
	var names, from []string
	for _, column := range table.ContactColumns {
		names = append(names, column.Name)
		from = append(from, cmp.Or(values[column.Name], "c."+column.Name))
	}
	run(b, url, "ALTER TABLE contacts DISABLE TRIGGER contact_search_added")
	run(b, url, "INSERT INTO contacts ("+strings.Join(names, ", ")+") SELECT "+strings.Join(from, ", ")+
		fmt.Sprintf(" FROM contacts c, generate_series(1, %d) i", n-1))
	run(b, url, "VACUUM ANALYZE contacts")
	return c, store
}
