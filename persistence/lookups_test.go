package persistence_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/persistence"
	"dialler/persistence/storetest"
)

// A plan made while a table was nearly empty reads the whole table after it has grown, until it is
// analysed again.
func TestAContactIsLookedUpByItsNumberInATableThatHasJustGrown(t *testing.T) {
	for _, by := range []string{"a query", "a group commit"} {
		t.Run(by, func(t *testing.T) { lookedUpInATableThatHasGrown(t, by == "a group commit") })
	}
}

func lookedUpInATableThatHasGrown(t *testing.T, commits bool) {
	t.Parallel()
	url := storetest.URL(t)
	s := storetest.OpenAt(t, url, persistence.Config{Readers: 1, Writers: 1})
	run(t, url, "ALTER TABLE contacts SET (autovacuum_enabled = false)")
	now := time.Now().UTC().Truncate(time.Microsecond)
	if err := s.InsertCampaign(t.Context(), campaign.Campaign{ID: "cmp_1", State: campaign.Running, Run: 1,
		CreatedAt: now}); err != nil {
		t.Fatal(err)
	}
	c, err := s.AcquireCampaign(t.Context(), "cmp_1")
	if err != nil {
		t.Fatal(err)
	}
	refused, err := s.Commit(t.Context(), []journal.Write{{Campaign: c.ID, Epoch: c.Epoch, Contacts: []contact.Contact{{
		ID: "0123456789abcdef0123456789abcdef", Campaign: c.ID, Number: "+4915112345678", State: contact.Pending,
		Version: 1}}}})
	if err != nil || refused[0] != nil {
		t.Fatal(err, refused)
	}
	ask := func(number engine.PhoneNumber) {
		t.Helper()
		if commits {
			refused, err := s.Commit(t.Context(), []journal.Write{{Campaign: c.ID, Epoch: c.Epoch, Fresh: true,
				Contacts: []contact.Contact{{
					ID: "fedcba9876543210fedcba9876543210", Campaign: c.ID, Number: number, State: contact.Pending, Version: 1}}}})
			if err != nil || !errors.Is(refused[0], journal.ErrContactExists) {
				t.Fatal(number, refused, err)
			}
			return
		}
		if _, ok, err := s.ContactByNumber(t.Context(), c.ID, number); err != nil || !ok {
			t.Fatal(number, ok, err)
		}
	}
	run(t, url, "VACUUM ANALYZE contacts")
	for range 12 { // more than PostgreSQL needs to keep a plan
		ask("+4915112345678")
	}
	const more = 10_000
	run(t, url, fmt.Sprintf(`INSERT INTO contacts SELECT (jsonb_populate_record(c, jsonb_build_object(
		'id', lpad(to_hex(g), 32, '0'), 'number', '+49152' || lpad(g::text, 8, '0'), 'position', g))).*
		FROM contacts c, generate_series(1, %d) g`, more))

	db, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close(t.Context()) }()
	read := func() (scanned, found int64) {
		t.Helper()
		if err := db.QueryRow(t.Context(), "SELECT seq_tup_read + idx_tup_fetch, idx_scan FROM pg_stat_user_tables WHERE "+
			"relname = 'contacts' AND schemaname = current_schema()").Scan(&scanned, &found); err != nil {
			t.Fatal(err)
		}
		return scanned, found
	}
	scannedBefore, foundBefore := read()
	// A connection reports its statistics at most once a second.
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for i := 1; i <= more; i++ {
		ask(engine.PhoneNumber(fmt.Sprintf("+49152%08d", i)))
		scanned, found := read()
		if scanned -= scannedBefore; scanned >= more {
			t.Fatalf("%d look-ups read %d rows", i, scanned)
		}
		if found-foundBefore > 30 {
			return
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		}
	}
	t.Fatal("the database never counts the look-ups")
}
