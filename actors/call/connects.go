package call

import (
	"sync"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
)

// Connects are the bot sockets being opened. How long that takes is one of the two signs that the
// dialler cannot keep up with the calls in progress (the other: writer.Group.Late). While it is too
// late, the brake (pacing.Brake) admits no dials; the mailbox bound (host.MailboxCap) comes later,
// and is for outside requests.
type Connects struct {
	mu   sync.Mutex
	bots map[engine.BotID]*botConnects
}

// Late returns how long connects to a bot take now; 0 if there are none.
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
	// connectLost is when a connect no longer means anything: by then its call was abandoned, or
	// its actor is gone.
	connectLost = attempt.BridgeBudget + time.Second
	// connectsLeast is how many connects must be in progress that began after the last one that
	// succeeded: a single one that hangs is the bot's fault, and no sign of overload.
	connectsLeast = 3
	// connectLook is the interval at which connects in progress are checked.
	connectLook = 10 * time.Millisecond
)

// botConnects are the sockets being opened to one bot. One that hangs does not mean late while
// later ones succeed: what counts is how long, of those begun after the last finished one, none has
// succeeded or failed.
type botConnects struct {
	mu     sync.Mutex
	under  map[engine.AttemptID]engine.BootTime // way, since when
	done   engine.BootTime                      // start of the newest one that has finished
	oldest engine.BootTime                      // start of the oldest in progress since then, at looked; 0: none
	looked engine.BootTime
}

func (b *botConnects) begin(a engine.AttemptID, now engine.BootTime) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.under[a] = now
}

// end removes a finished connect; tells means that it shows how long they take.
func (b *botConnects) end(a engine.AttemptID, from engine.BootTime, tells bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.under, a)
	if tells {
		b.done = max(b.done, from)
	}
}

// late returns how long connects take now; 0 if there are none.
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
