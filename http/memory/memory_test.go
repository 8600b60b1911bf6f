package memory

import (
	"context"
	"errors"
	"testing"
	"time"
)

// A look-up in progress while a session ended must not put it back into the cache.
func TestALookUpUnderWayIsNotRememberedAfterTheEnd(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	m := New(time.Second, 10, func() time.Time { return time.Date(2030, 3, 1, 12, 0, 0, 0, time.UTC) },
		func(context.Context, string) (int, bool, error) {
			close(entered)
			<-leave
			return 1, true, nil
		})
	done := make(chan error, 1)
	go func() {
		_, _, err := m.Get(context.Background(), "k")
		done <- err
	}()
	<-entered
	m.Forget("k")
	close(leave)
	if err := <-done; err != nil || len(m.entries) != 0 {
		t.Errorf("%v, %d remembered", err, len(m.entries))
	}
}

func TestMemoryIsBoundedAndRemembersNoFailure(t *testing.T) {
	now, fail := time.Date(2030, 3, 1, 12, 0, 0, 0, time.UTC), errors.New("away")
	m := New(time.Second, 3, func() time.Time { return now }, func(_ context.Context, k int) (int, bool,
		error) {
		return k, true, fail
	})
	if _, _, err := m.Get(context.Background(), 1); !errors.Is(err, fail) || len(m.entries) != 0 {
		t.Errorf("%v, %d remembered", err, len(m.entries))
	}
	fail = nil
	for k := range 10 {
		if v, ok, err := m.Get(context.Background(), k); v != k || !ok || err != nil || len(m.entries) > 3 {
			t.Errorf("%d %v %v, %d remembered", v, ok, err, len(m.entries))
		}
	}
}
