package chaos

import (
	"context"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/journal"
	"dialler/persistence"
	"dialler/persistence/storetest"
)

// behind gives a store that is reached by a wire, and one that is not.
func behind(t *testing.T) (w *wire, wired, direct *persistence.Store) {
	t.Helper()
	url := storetest.URL(t)
	direct = storetest.OpenAt(t, url, persistence.Config{})
	w, err := lay(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w, storetest.OpenAt(t, w.URL(), persistence.Config{Writers: 1, Readers: 1}), direct
}

func isSuppressed(t *testing.T, s *persistence.Store, n engine.PhoneNumber) bool {
	t.Helper()
	list, err := s.Suppressed(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	return len(list) == 1
}

func TestAWireCatchesAGroupCommitAtEachMoment(t *testing.T) {
	w, wired, direct := behind(t)
	for i, c := range []struct {
		mark   string
		moment moment
		stored bool
		known  bool // the dialler is told
	}{
		{"begin", beforeChecks, false, false},
		{"chaos-1", beforeCommit, false, false},
		{"chaos-2", unheard, true, false},
		{"chaos-3", heard, true, true},
	} {
		t.Run(string(c.moment), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			n := engine.PhoneNumber("+4915112345" + string(rune('0'+i)))
			trap := w.arm(c.mark, c.moment)
			told := make(chan error, 1)
			go func() {
				_, err := wired.Commit(ctx, []journal.Write{{Suppressions: []journal.Suppression{{Number: n, Reason: c.mark,
					CreatedAt: time.Now()}}}})
				told <- err
			}()
			select {
			case <-trap.met:
			case <-ctx.Done():
				t.Fatal("it was not caught")
			}
			if !c.known {
				select {
				case err := <-told:
					t.Errorf("the store was told while the answer was held: %v", err)
				default:
				}
			}
			if got := isSuppressed(t, direct, n); got != c.stored {
				t.Errorf("stored %v at that moment, want %v", got, c.stored)
			}
			close(trap.free)
			if err := <-told; (err == nil) != c.known {
				t.Errorf("the store was told %v", err)
			}
			if got := isSuppressed(t, direct, n); got != c.stored {
				t.Errorf("stored %v afterwards, want %v", got, c.stored)
			}
		})
	}
}

func TestAWireIsSlowSilentAndQuickAgain(t *testing.T) {
	w, wired, direct := behind(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	commit := func(n engine.PhoneNumber) (took time.Duration) {
		t.Helper()
		began := time.Now()
		if _, err := wired.Commit(ctx, []journal.Write{{Suppressions: []journal.Suppression{{Number: n, Reason: "chaos",
			CreatedAt: began}}}}); err != nil {
			t.Error(err)
		}
		return time.Since(began)
	}
	w.delay(150 * time.Millisecond)
	if took := commit("+491511234561"); took < 150*time.Millisecond {
		t.Errorf("a slow commit took %v", took)
	}
	w.delay(0)
	thaw := w.freeze()
	done := make(chan struct{})
	go func() { commit("+491511234562"); close(done) }()
	if _, err := direct.Suppressed(ctx, "+491511234562"); err != nil { // the server is well
		t.Error(err)
	}
	if isSuppressed(t, direct, "+491511234562") {
		t.Error("a message passed a silent wire")
	}
	thaw()
	select {
	case <-done:
	case <-ctx.Done():
		t.Fatal("nothing passes any more")
	}
	if !isSuppressed(t, direct, "+491511234562") {
		t.Error("what waited was lost")
	}
}
