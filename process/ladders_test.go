package process

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"dialler/engine"
)

// stuckStore takes ladders when it is let.
type stuckStore struct {
	gate chan error
	mu   sync.Mutex
	got  []engine.Ladder
}

func (s *stuckStore) SaveLadders(_ context.Context, l []engine.Ladder) error {
	if err := <-s.gate; err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, l...)
	return nil
}

func TestADatabaseThatIsAwayCostsLaddersAndNoCalls(t *testing.T) {
	s := &stuckStore{gate: make(chan error)}
	k := newLadderKeeper(s, false, zerolog.Nop())
	failed := engine.LegEvent{Kind: engine.LegRefused, Code: 503}
	none := func() []engine.SIPMessage { return nil }
	k.legOver(failed, false, none)
	s.gate <- errors.New("away") // the first batch is lost; it may have had one
	for range ladderQueue + ladderBatch + 10 {
		k.legOver(failed, false, none) // does not block
	}
	k.legOver(engine.LegEvent{Kind: engine.LegRefused, Code: 486}, false, func() []engine.SIPMessage {
		t.Error("the messages of a busy callee were asked for")
		return nil
	})
	close(s.gate) // back
	k.close()
	if lost := int(k.dropped.Load()); len(s.got)+lost != ladderQueue+ladderBatch+11 || len(s.got) < ladderQueue || lost < 10 {
		t.Errorf("%d kept, %d counted as lost", len(s.got), lost)
	}
}

func TestOnTheWayOutADatabaseThatIsAwayIsAskedOnce(t *testing.T) {
	s := &stuckStore{gate: make(chan error)}
	k := newLadderKeeper(s, true, zerolog.Nop())
	for range 3 * ladderBatch {
		k.legOver(engine.LegEvent{Kind: engine.LegHungUp}, true, func() []engine.SIPMessage { return nil })
	}
	done := make(chan struct{})
	go func() { k.close(); close(done) }()
	for {
		select {
		case s.gate <- errors.New("away"):
		case <-done:
			if len(s.got) != 0 {
				t.Errorf("%d stored", len(s.got))
			}
			return
		}
	}
}
