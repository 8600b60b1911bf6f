package process

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"
	"weak"

	"github.com/rs/zerolog"

	"dialler/engine"
)

// stuckStore accepts ladders only when released.
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
	if lost := int(k.dropped.Load()); len(s.got)+lost != ladderQueue+ladderBatch+11 || len(s.got) < ladderQueue ||
		lost < 10 {
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

// forgetfulStore reports that it was given ladders and keeps none.
type forgetfulStore chan int

func (s forgetfulStore) SaveLadders(_ context.Context, l []engine.Ladder) error {
	s <- len(l)
	return nil
}

func TestNobodyKeepsTheMessagesOfLaddersThatAreStored(t *testing.T) {
	s := make(forgetfulStore)
	k := newLadderKeeper(s, true, zerolog.Nop())
	defer k.close()
	var kept []weak.Pointer[engine.SIPMessage]
	const n = 50
	for range n {
		k.legOver(engine.LegEvent{Kind: engine.LegHungUp}, true, func() []engine.SIPMessage {
			list := make([]engine.SIPMessage, 1)
			kept = append(kept, weak.Make(&list[0]))
			return list
		})
	}
	for stored := 0; stored < n; {
		stored += <-s
	}
	held := func() (n int) {
		runtime.GC()
		for _, p := range kept {
			if p.Value() != nil {
				n++
			}
		}
		return n
	}
	for end := time.Now().Add(30 * time.Second); held() > 0; {
		if time.Now().After(end) {
			t.Fatalf("the messages of %d of %d ladders are still there", held(), n)
		}
	}
}
