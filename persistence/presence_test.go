package persistence_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

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
	me := ownership.Presence{Life: life, Name: "node-" + life, Host: "host-" + life, PID: 4711, Since: time.Now(),
		Cluster: cluster}
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
		if _, err := attend(t, url, "x", cluster); engine.ErrorCode(err) != "database_in_use" ||
			!strings.Contains(err.Error(), want) {
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
	const lanes, rounds = 10, 10
	var mu sync.Mutex
	var took []time.Duration
	start := func(url, life string, takesOver bool) *nodes.Presence {
		began := time.Now()
		p, err := nodes.Attend(t.Context(), url, persistence.Config{},
			ownership.Presence{Life: life, Since: began, TakesOver: takesOver})
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			return p
		}
		if took = append(took, time.Since(began)); engine.ErrorCode(err) != "database_in_use" {
			t.Error(err)
		}
		return nil
	}
	var all sync.WaitGroup
	for lane := range lanes {
		url := storetest.URL(t)
		before := written(t, url)
		all.Go(func() {
			for round := range rounds {
				var two sync.WaitGroup
				var admitted [2]*nodes.Presence
				for i := range admitted {
					two.Go(func() { admitted[i] = start(url, fmt.Sprint(lane, round, i), round%2 == 1) })
				}
				two.Wait()
				if (admitted[0] == nil) == (admitted[1] == nil) {
					t.Errorf("lane %d, round %d: %v", lane, round, admitted)
				}
				for _, p := range admitted {
					if p != nil {
						p.Close()
					}
				}
			}
			if after := written(t, url); after != before {
				t.Errorf("something was written: %s, before %s", after, before)
			}
		})
	}
	all.Wait()
	slices.Sort(took)
	// Half a second is waited for one that may be just ending, twelve for one that is not heard any more.
	if len(took) != lanes*rounds || took[0] < 500*time.Millisecond || took[len(took)/2] >= 12*time.Second {
		t.Errorf("%d were refused, half of them within %v", len(took), took[len(took)/2])
	}
}

// written lists the contents of a schema, and of its presence table.
func written(t *testing.T, url string) (what string) {
	t.Helper()
	s, err := pgx.Connect(t.Context(), url)
	if err == nil {
		err = s.QueryRow(t.Context(), `SELECT format('%s relations, %s present', (SELECT count(*) FROM pg_class
			WHERE relnamespace = current_schema()::regnamespace), (SELECT count(*) FROM presence))`).Scan(&what)
		_ = s.Close(t.Context())
	}
	if err != nil {
		t.Error(err)
	}
	return what
}

// A process that replaces another starts once that one has reported that its calls are over, or
// must have ended them.
func TestWhoTakesAPlaceWaitsForTheEndOfTheOthersCalls(t *testing.T) {
	t.Parallel()
	for _, says := range []bool{true, false} {
		t.Run(fmt.Sprint("says ", says), func(t *testing.T) {
			t.Parallel()
			url := storetest.URL(t)
			storetest.OpenAt(t, url, persistence.Config{})
			a := attended(t, url, "a", false)
			if err := a.Record(t.Context()); err != nil {
				t.Fatal(err)
			}
			taken := make(chan time.Time, 1)
			go func() {
				defer close(taken)
				b, err := nodes.Attend(context.Background(), url, persistence.Config{},
					ownership.Presence{Life: "b", Since: time.Now(), TakesOver: true})
				if err != nil {
					t.Error(err)
					return
				}
				taken <- time.Now()
				<-t.Context().Done()
				b.Close()
			}()
			began := time.Now()
			for engine.ErrorCode(a.Renew(t.Context())) != "database_in_use" {
				if time.Since(began) > 30*time.Second {
					t.Fatal("nobody takes the place")
				}
			}
			lost := time.Now()
			if says {
				select {
				case <-taken:
					t.Fatal("it did not wait")
				default:
				}
				if err := a.Left(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			at, ok := <-taken
			if waited := at.Sub(lost); !ok || says == (waited >= ownership.FencedWithin-time.Second) {
				t.Errorf("waited for %v", waited)
			}
		})
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
	if _, err := attend(t, url, "b", false); engine.ErrorCode(err) != "database_in_use" ||
		!strings.Contains(err.Error(), `"node-a"`) {
		t.Errorf("beside the renewed one: %v", err)
	}
	// Our own session, whose end the server has not noticed yet, does not block us.
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
		if err := again.Renew(t.Context()); engine.ErrorCode(err) != "database_in_use" ||
			!strings.Contains(err.Error(), `"node-b"`) {
			t.Errorf("the other was faster (%d): %v", try, err)
		}
	}
	if err := b.Renew(t.Context()); err != nil {
		t.Error(err)
	}
}

// A takeover of a campaign by another process is distinguished from our own.
func TestAnEpochOfSomebodyElseIsNoticed(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	s, other := storetest.OpenAt(t, url, persistence.Config{}), storetest.OpenAt(t, url, persistence.Config{})
	noticed := 0
	s.OnReplaced(func() { noticed++ })
	const id engine.CampaignID = "cmp_1"
	if err := s.InsertCampaign(t.Context(), campaign.Campaign{ID: id, State: campaign.Running, Version: 1, Run: 1,
		CreatedAt: time.Now()}); err != nil {
		t.Fatal(err)
	}
	refused := func(epoch int64) {
		t.Helper()
		_, err := s.AddContacts(t.Context(), journal.ContactInsert{Campaign: id, Epoch: epoch})
		if engine.ErrorCode(err) != "stale_epoch" {
			t.Errorf("contacts of epoch %d: %v", epoch, err)
		}
		if all, err := s.Commit(t.Context(), []journal.Write{{Campaign: id, Epoch: epoch}}); err != nil ||
			!errors.Is(all[0], journal.ErrStaleEpoch) {
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
