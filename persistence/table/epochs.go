package table

import (
	"sync"
	"sync/atomic"

	"dialler/engine"
	"dialler/engine/journal"
)

// epochs are the epochs with which this process acquired campaigns, to distinguish them from those
// of other processes.
type epochs struct {
	mu     sync.Mutex
	of     map[engine.CampaignID]takenOver
	others atomic.Pointer[func()] // of OnReplaced
}

type takenOver struct {
	epoch  int64 // the last one that was answered
	asking int   // takeovers that are not answered yet
	unsure bool  // one failed, but may have been stored
}

func (e *epochs) Asks(id engine.CampaignID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.of == nil {
		e.of = map[engine.CampaignID]takenOver{}
	}
	t := e.of[id]
	t.asking++
	e.of[id] = t
}

func (e *epochs) Answered(id engine.CampaignID, epoch int64, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	t := e.of[id]
	t.asking--
	if t.unsure = err != nil; err == nil {
		t.epoch = max(t.epoch, epoch)
	}
	e.of[id] = t
}

// foreign says whether a stored epoch was certainly made by another process. For a campaign that
// was never acquired here it is false.
func (e *epochs) foreign(id engine.CampaignID, stored int64) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	t := e.of[id]
	return t.epoch > 0 && t.asking == 0 && !t.unsure && stored > t.epoch
}

func (e *epochs) OnReplaced(f func()) { e.others.Store(&f) }

// Stale is the refusal of a write whose epoch is not the stored one.
func (e *epochs) Stale(id engine.CampaignID, stored int64) error {
	if f := e.others.Load(); f != nil && e.foreign(id, stored) {
		(*f)()
	}
	return journal.ErrStaleEpoch
}
