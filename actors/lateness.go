package actors

import (
	"sync"
	"sync/atomic"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
)

// How far the dialler is behind with what the calls under way wait for. The brake
// (pacing.Brake) admits no dial while it is too late; the bound of messages that may
// wait (overload.go) is a later one, for what comes from outside.

// lateness is what all runs know of it.
type lateness struct {
	oldest []atomic.Int64 // by writer: when the write came that has waited longest, 0: none waits

	mu   sync.Mutex
	bots map[engine.BotID]*botConnects
}

func (l *lateness) open(writers int) { l.oldest = make([]atomic.Int64, writers) }

// commit notes since when a writer's oldest write waits.
func (l *lateness) commit(lane int, since engine.BootTime) { l.oldest[lane].Store(int64(since)) }

// commitLate is for how long it has.
func (l *lateness) commitLate(lane int, now engine.BootTime) time.Duration {
	if since := engine.BootTime(l.oldest[lane].Load()); since != 0 {
		return time.Duration(now - since)
	}
	return 0
}

// bot gives the connects of a bot.
func (l *lateness) bot(id engine.BotID) *botConnects {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.bots[id]
	if b == nil {
		if l.bots == nil {
			l.bots = map[engine.BotID]*botConnects{}
		}
		b = &botConnects{under: map[engine.AttemptID]engine.BootTime{}}
		l.bots[id] = b
	}
	return b
}

const (
	// connectLost is when a connect tells nothing any more: its call was abandoned by
	// then, or its actor is gone.
	connectLost = attempt.BridgeBudget + time.Second
	// connectLook is how often those under way are looked through.
	connectLook = 10 * time.Millisecond
)

// botConnects are the sockets to one bot that are being opened. One that hangs is no
// sign of being late while later ones stand: what counts is for how long none has
// stood, or failed, of those begun after the last one that did.
type botConnects struct {
	mu     sync.Mutex
	under  map[engine.AttemptID]engine.BootTime // way, since when
	done   engine.BootTime                      // the newest of which it is known what came of it was begun then
	oldest engine.BootTime                      // of those under way that were begun after it, at looked; 0: there was none
	looked engine.BootTime
}

func (b *botConnects) begin(a engine.AttemptID, now engine.BootTime) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.under[a] = now
}

// end: the connect is over; tells, that it says how long they take.
func (b *botConnects) end(a engine.AttemptID, from engine.BootTime, tells bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.under, a)
	if tells {
		b.done = max(b.done, from)
	}
}

// late is how long connects take now; nothing, while there is none.
func (b *botConnects) late(now engine.BootTime) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.under) == 0 {
		return 0
	}
	if time.Duration(now-b.looked) >= connectLook {
		b.looked, b.oldest = now, 0
		for a, from := range b.under {
			switch {
			case time.Duration(now-from) > connectLost:
				delete(b.under, a)
			case from > b.done && (b.oldest == 0 || from < b.oldest):
				b.oldest = from
			}
		}
	}
	if b.oldest == 0 {
		return 0
	}
	return time.Duration(now - b.oldest)
}
