package persistence_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/journal"
	"dialler/engine/ownership"
	"dialler/persistence"
	"dialler/persistence/nodes"
	"dialler/persistence/storetest"
)

func attend(t *testing.T, url, life string, cluster bool) (*nodes.Presence, error) {
	t.Helper()
	me := ownership.Presence{Life: life, Name: "node-" + life, Host: "host-" + life, PID: 4711, Since: time.Now(), Cluster: cluster}
	p, err := nodes.Attend(t.Context(), url, persistence.Config{}, me)
	if err == nil {
		t.Cleanup(p.Close)
	}
	return p, err
}

func attended(t *testing.T, url, life string, cluster bool) *nodes.Presence {
	t.Helper()
	p, err := attend(t, url, life, cluster)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestOneProcessServesADatabaseOrAllOfThemAreACluster(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	refused := func(cluster bool, want string) {
		t.Helper()
		if _, err := attend(t, url, "x", cluster); engine.ErrorCode(err) != "database_in_use" || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want database_in_use with %q", err, want)
		}
	}
	a := attended(t, url, "a", false)
	refused(false, "just starting") // there is no schema yet
	storetest.OpenAt(t, url, persistence.Config{})
	if err := a.Record(t.Context()); err != nil {
		t.Fatal(err)
	}
	refused(false, `"node-a" (host host-a, pid 4711, since `)
	refused(true, `"node-a"`)
	if err := a.Renew(t.Context()); err != nil {
		t.Error(err)
	}
	a.Close()
	b, c := attended(t, url, "b", true), attended(t, url, "c", true)
	for _, p := range []*nodes.Presence{b, c} {
		if err := p.Record(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	refused(false, `"node-b"`)
	b.Close()
	refused(false, `"node-c"`)
	c.Close()
	attended(t, url, "d", false)
}

func TestOfManyStartsAtTheSameInstantOneIsAdmitted(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	admitted := 0
	for i := range 10 {
		wg.Go(func() {
			_, err := attend(t, url, string(rune('a'+i)), false)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				admitted++
			} else if engine.ErrorCode(err) != "database_in_use" {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if admitted != 1 {
		t.Errorf("%d of 10", admitted)
	}
}

// endSession ends the session of a process, as a restart of the server does.
func endSession(t *testing.T, url, life string) {
	t.Helper()
	run(t, url, "SELECT pg_terminate_backend(backend, 10000) FROM presence WHERE life = '"+life+"'")
}

func TestAProcessThatLostItsSessionTakesItAnewUnlessAnotherWasFaster(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	storetest.OpenAt(t, url, persistence.Config{})
	a := attended(t, url, "a", false)
	if err := a.Record(t.Context()); err != nil {
		t.Fatal(err)
	}
	endSession(t, url, "a")
	if err := a.Renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := attend(t, url, "b", false); engine.ErrorCode(err) != "database_in_use" || !strings.Contains(err.Error(), `"node-a"`) {
		t.Errorf("beside the renewed one: %v", err)
	}
	// Its own session that the server has not noticed to be gone keeps nobody out.
	again := attended(t, url, "a", false)
	if err := again.Record(t.Context()); err != nil {
		t.Fatal(err)
	}
	endSession(t, url, "a")
	b := attended(t, url, "b", false)
	if err := b.Record(t.Context()); err != nil {
		t.Fatal(err)
	}
	for try := range 2 {
		if err := again.Renew(t.Context()); engine.ErrorCode(err) != "database_in_use" || !strings.Contains(err.Error(), `"node-b"`) {
			t.Errorf("the other was faster (%d): %v", try, err)
		}
	}
	if err := b.Renew(t.Context()); err != nil {
		t.Error(err)
	}
}

// Another process that took a campaign over is told from this one's own take-overs.
func TestAnEpochOfSomebodyElseIsNoticed(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	s, other := storetest.OpenAt(t, url, persistence.Config{}), storetest.OpenAt(t, url, persistence.Config{})
	noticed := 0
	s.OnReplaced(func() { noticed++ })
	const id engine.CampaignID = "cmp_1"
	if err := s.InsertCampaign(t.Context(), campaign.Campaign{ID: id, State: campaign.Running, Version: 1, Run: 1, CreatedAt: time.Now()}); err != nil {
		t.Fatal(err)
	}
	refused := func(epoch int64) {
		t.Helper()
		_, err := s.AddContacts(t.Context(), journal.ContactInsert{Campaign: id, Epoch: epoch})
		if engine.ErrorCode(err) != "stale_epoch" {
			t.Errorf("contacts of epoch %d: %v", epoch, err)
		}
		if all, err := s.Commit(t.Context(), []journal.Write{{Campaign: id, Epoch: epoch}}); err != nil || !errors.Is(all[0], journal.ErrStaleEpoch) {
			t.Errorf("a write of epoch %d: %v, %v", epoch, all, err)
		}
	}
	acquire := func(s *persistence.Store) int64 {
		t.Helper()
		c, err := s.AcquireCampaign(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return c.Epoch
	}
	refused(acquire(s) - 1)
	refused(acquire(s) - 1)
	if noticed != 0 {
		t.Error("its own take-over is taken for another process's")
	}
	refused(acquire(other) - 1)
	if noticed != 2 {
		t.Errorf("noticed %d times, of 2 writes", noticed)
	}
}
