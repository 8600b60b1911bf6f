package process

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dialler/engine"
)

// Hundreds of requests ask at once which release the nodes are of: the connections that renew the lease read it once
// a second, one at a time.
func TestManyWhoAskOfTheNodesShareOneReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		now := func() engine.BootTime { return engine.BootTime(1 + time.Since(began)) }
		var l lately[int]
		var readings, under atomic.Int64
		fails := errors.New("away")
		var failing atomic.Bool
		read := func(context.Context) (int, error) {
			if under.Add(1) > 1 {
				t.Error("two read at once")
			}
			defer under.Add(-1)
			time.Sleep(20 * time.Millisecond) // virtual
			if failing.Load() {
				return 0, fails
			}
			return int(readings.Add(1)), nil
		}
		ask := func(want int, wrong error) {
			var all sync.WaitGroup
			for range 256 {
				all.Go(func() {
					if got, err := l.get(t.Context(), now, read); got != want || !errors.Is(err, wrong) {
						t.Errorf("%d %v, want %d %v", got, err, want, wrong)
					}
				})
			}
			all.Wait()
		}
		ask(1, nil)
		time.Sleep(lateFor - 30*time.Millisecond)
		ask(1, nil)
		time.Sleep(20 * time.Millisecond)
		ask(2, nil)
		time.Sleep(lateFor)
		failing.Store(true)
		ask(0, fails) // what is too old does not answer
		failing.Store(false)
		ask(3, nil)
		// Who has no more time does not wait for a reading.
		time.Sleep(lateFor)
		var other sync.WaitGroup
		other.Go(func() { _, _ = l.get(t.Context(), now, read) })
		synctest.Wait()
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := l.get(gone, now, func(ctx context.Context) (int, error) { return 0, ctx.Err() }); !errors.Is(err,
			context.Canceled) {
			t.Errorf("%v", err)
		}
		other.Wait()
	})
}
