package host

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// waiting returns how many workers are idle.
func (w *workers) waiting() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.idle)
}

// busy keeps n workers busy at the same time.
func (w *workers) busy(n int) {
	var all sync.WaitGroup
	all.Add(n)
	for range n {
		w.Schedule(func() {
			all.Done()
			all.Wait()
		})
	}
	synctest.Wait()
}

func TestWorkersOfABurstEndWhenNothingNeedsThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w workers
		defer w.close()
		w.busy(100)
		if n := w.waiting(); n != 100 {
			t.Fatalf("%d wait after a burst of 100", n)
		}
		time.Sleep(workersRest / 2) // virtual: between two checks for idle workers
		// Workers that are needed now and then stay.
		for range 5 {
			time.Sleep(workersRest) // virtual
			w.busy(20)
		}
		if n := w.waiting(); n != 20 {
			t.Errorf("%d wait where 20 are needed every ten seconds", n)
		}
		time.Sleep(3 * workersRest) // virtual
		synctest.Wait()
		if n := w.waiting(); n != workersLeast {
			t.Errorf("%d wait after a long rest", n)
		}
		w.busy(3)
		if n := w.waiting(); n != workersLeast {
			t.Errorf("%d wait after work for three", n)
		}
	})
}

func TestNoWorkerWaitsOnceTheirPoolIsClosed(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		var w workers
		w.busy(50)
		w.close()
		w.busy(50) // they end with their work, else the bubble would hang
	})
}
