package access

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"dialler/engine"
)

// A look-up that was under way while the key was changed must not bring the
// old key back into memory.
func TestALookUpUnderWayIsNotRememberedAfterAChange(t *testing.T) {
	full, key := NewAPIKey("x", noon)
	store := &slowKeys{key: key, entered: make(chan struct{}), leave: make(chan struct{})}
	ring := newKeyring(store, time.Second, func() time.Time { return noon })
	var wait sync.WaitGroup
	wait.Go(func() { _, _ = ring.check(context.Background(), []byte(full)) })
	<-store.entered
	ring.forget()
	close(store.leave)
	wait.Wait()
	if len(ring.entries) != 0 {
		t.Error("the old key is remembered")
	}
}

type slowKeys struct {
	allKeys
	key            engine.APIKey
	entered, leave chan struct{}
}

func (s *slowKeys) KeyByHash(context.Context, [32]byte) (engine.APIKey, bool, error) {
	close(s.entered)
	<-s.leave
	return s.key, true, nil
}

func TestUnknownKeysFillNoMoreMemoryThanTheirCap(t *testing.T) {
	k := newKeyring(noKeys{}, time.Hour, func() time.Time { return noon })
	ask := func(n int) {
		t.Helper()
		if _, err := k.check(t.Context(), fmt.Appendf(nil, "vx_%032d", n)); err == nil {
			t.Fatal("an unknown key was taken")
		}
	}
	for n := range 10_000 {
		ask(n)
	}
	if len(k.entries) != 10_000 {
		t.Errorf("%d remembered of 10,000", len(k.entries))
	}
	if ask(10_000); len(k.entries) != 1 {
		t.Errorf("%d remembered beyond the cap", len(k.entries))
	}
}

// noon is when tests begin.
var noon = time.Date(2030, 3, 1, 12, 0, 0, 0, time.UTC)

// noKeys has no key.
type noKeys struct{ allKeys }

// allKeys has the methods that a test does not call.
type allKeys interface{ Keys }

func (noKeys) KeyByHash(context.Context, [32]byte) (k engine.APIKey, found bool, err error) {
	return k, false, nil
}
