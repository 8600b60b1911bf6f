package actortest

import (
	"errors"
	"sync"
	"time"

	"dialler/engine/journal"
)

// Spool keeps in memory what survives a crash, with the guarantees of persistence/spool: order, a
// bound, and nothing forgotten before all of a lane was released.
type Spool struct {
	mu    sync.Mutex
	lanes map[int]*spoolLane

	// Delay is how long the disk takes; Room how many writes a lane holds, 0 means no limit.
	Delay time.Duration
	Room  int
	// Taken counts the writes that came in; Refused, those that the store refused on release;
	// Emptied, how often a lane was emptied.
	Taken, Refused, Emptied int
	// Bad counts writes that must not be spooled but were.
	Bad  int
	fail error
}

type spoolLane struct {
	writes   []journal.Write // since it was last empty
	released int
}

// NewSpool returns an empty spool.
func NewSpool() *Spool { return &Spool{lanes: map[int]*spoolLane{}, Delay: time.Millisecond} }

// SetFailing makes the disk fail, or work again.
func (s *Spool) SetFailing(failing bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = nil
	if failing {
		s.fail = errors.New("actortest: the disk fails")
	}
}

// Waiting counts the unreleased writes.
func (s *Spool) Waiting() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.lanes {
		n += len(l.writes) - l.released
	}
	return n
}

// View runs f under the spool's lock.
func (s *Spool) View(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func (s *Spool) lane(i int) *spoolLane {
	if s.lanes[i] == nil {
		s.lanes[i] = &spoolLane{}
	}
	return s.lanes[i]
}

// Append implements actors.Spool.
func (s *Spool) Append(lane int, writes []journal.Write) (int, error) {
	time.Sleep(s.Delay) // virtual
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return 0, s.fail
	}
	l := s.lane(lane)
	n := len(writes)
	if s.Room > 0 {
		n = min(n, s.Room-len(l.writes))
	}
	for i := range n {
		if !writes[i].Spoolable() {
			s.Bad++
		}
	}
	l.writes = append(l.writes, writes[:n]...)
	s.Taken += n
	return n, nil
}

// Release implements actors.Spool.
func (s *Spool) Release(lane, n, refused int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.release(s.lane(lane), n, refused)
	return nil
}

func (s *Spool) release(l *spoolLane, n, refused int) {
	l.released += n
	s.Refused += refused
	if l.released == len(l.writes) {
		l.writes, l.released = nil, 0
		s.Emptied++
	}
}

// Replay implements actors.Spool; writes released before a crash are replayed again.
func (s *Spool) Replay(most int, commit func([]journal.Write) (int, error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.lanes {
		l.released = 0
		for len(l.writes) > l.released {
			group := l.writes[l.released:min(len(l.writes), l.released+most)]
			refused, err := commit(group)
			if err != nil {
				return err
			}
			s.release(l, len(group), refused)
		}
	}
	return nil
}
