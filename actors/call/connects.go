package call

import (
	"sync"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
)

// Connects are the sockets to bots that are being opened. How long they take is one of
// the two signs that the dialler is behind with what the calls under way wait for (the
// other: writer.Group.Late). The brake (pacing.Brake) admits no dial while it is too late;
// the bound of messages that may wait (host.MailboxCap) is a later one, for what comes
// from outside.
type Connects struct {
	mu   sync.Mutex
	bots map[engine.BotID]*botConnects
}

// Late is how long connects to a bot take now; nothing, while there is none.
func (c *Connects) Late(id engine.BotID, now engine.BootTime) time.Duration {
	return c.bot(id).late(now)
}

// bot gives the connects of a bot.
func (c *Connects) bot(id engine.BotID) *botConnects {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.bots[id]
	if b == nil {
		if c.bots == nil {
			c.bots = map[engine.BotID]*botConnects{}
		}
		b = &botConnects{under: map[engine.AttemptID]engine.BootTime{}}
		c.bots[id] = b
	}
	return b
}

const (
	// connectLost is when a connect tells nothing any more: its call was abandoned by
	// then, or its actor is gone.
	connectLost = attempt.BridgeBudget + time.Second
	// connectsLeast is how many connects have to be under way, begun after the last that
	// stood: one that hangs alone is the bot's doing, and no sign of being behind.
	connectsLeast = 3
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
	oldest engine.BootTime                      // of those under way begun after it, at looked; 0: none
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
		n := 0
		for a, from := range b.under {
			switch {
			case time.Duration(now-from) > connectLost:
				delete(b.under, a)
			case from > b.done:
				if n++; b.oldest == 0 || from < b.oldest {
					b.oldest = from
				}
			}
		}
		if n < connectsLeast {
			b.oldest = 0
		}
	}
	if b.oldest == 0 {
		return 0
	}
	return time.Duration(now - b.oldest)
}
