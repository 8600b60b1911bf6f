package persistence_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/persistence"
	"dialler/persistence/storetest"
)

func TestStore(t *testing.T) { storetest.Run(t, storetest.Open) }

func TestStoreWithFaults(t *testing.T) {
	storetest.RunFaults(t, func(t testing.TB, cfg persistence.Config) *persistence.Store {
		return storetest.OpenAt(t, storetest.URL(t), cfg)
	})
}

func TestImportsWithFaults(t *testing.T) {
	storetest.RunImportFaults(t, func(t testing.TB, cfg persistence.Config) *persistence.Store {
		return storetest.OpenAt(t, storetest.URL(t), cfg)
	})
}

func TestProcessesThatStartAtOnceMigrateOnce(t *testing.T) {
	t.Parallel()
	url := storetest.EmptyURL(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			s, err := persistence.Open(t.Context(), url, persistence.Config{Writers: 1, Readers: 1})
			if err != nil {
				t.Error(err)
				return
			}
			s.Close()
		})
	}
	wg.Wait()
}

// A newer process of the same installation may add a column while this one is still taking calls.
func TestColumnAddedWhileCallsGoOn(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	s := storetest.OpenAt(t, url, persistence.Config{})
	now := time.Now().UTC().Truncate(time.Microsecond)
	if err := s.InsertCampaign(t.Context(), campaign.Campaign{ID: "cmp_1", State: campaign.Running, Run: 1,
		CreatedAt: now}); err != nil {
		t.Fatal(err)
	}
	c, err := s.AcquireCampaign(t.Context(), "cmp_1")
	if err != nil {
		t.Fatal(err)
	}
	put := func(version int64) {
		t.Helper()
		refused, err := s.Commit(t.Context(), []journal.Write{{Campaign: c.ID, Epoch: c.Epoch, Contacts: []contact.Contact{{
			ID: "0123456789abcdef0123456789abcdef", Campaign: c.ID, Number: "+4915112345678", State: contact.Pending,
			Version: version}}}})
		if err != nil || refused[0] != nil {
			t.Fatal(err, refused)
		}
	}
	put(1)
	run(t, url, "ALTER TABLE contacts ADD COLUMN later text NOT NULL DEFAULT 'x'")
	put(2)
	run(t, url, "ALTER TABLE contacts DROP COLUMN later")
	put(3)
	got, ok, err := s.ContactByID(t.Context(), "0123456789abcdef0123456789abcdef")
	if err != nil || !ok || got.Version != 3 {
		t.Errorf("%v %v version %d", ok, err, got.Version)
	}
}

func run(t testing.TB, url, sql string) {
	t.Helper()
	storetest.Exec(t, url, sql)
}

func TestErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	f := func(url, code string) {
		t.Helper()
		_, err := persistence.Open(ctx, url, persistence.Config{})
		if engine.ErrorCode(err) != code {
			t.Errorf("%v, want %s", err, code)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Error("the error tells the password")
		}
	}
	f("postgres://me:hunter2@/db?host=/nowhere", "database_unavailable")
	f("postgres://me:hunter2@%zz/", "database_url_invalid")
	f("postgres://me:hunter2@127.0.0.1:1/db?connect_timeout=1", "database_unavailable")
}
