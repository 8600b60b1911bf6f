package pacing

import (
	"fmt"
	"time"
)

// Late is how far the dialler is behind with what its calls wait for.
type Late struct {
	Commit  time.Duration // the oldest write that is on its way to the database
	Bot     time.Duration // the sockets of the bot that are being opened
	Mailbox time.Duration // a message to the run itself
}

// Bounds of lateness. An answer waits for each of the three one after the other,
// and its bot has 2 s.
const (
	CommitBound  = 500 * time.Millisecond
	BotBound     = time.Second
	MailboxBound = 500 * time.Millisecond
)

// letGo is the share of its bound below which everything has to be before the
// brake lets go: work is left then, and the dialler is not idle when the first
// new dials come.
const letGo = 2

// Brake admits no dial while the dialler is later than a bound: more dials than it
// has time for would make all calls later still, and end none of them sooner. The
// zero Brake is off.
type Brake struct {
	on    bool
	what  string
	late  time.Duration
	bound time.Duration
}

// Admits says whether dials may be placed.
func (b *Brake) Admits(l Late) bool {
	share := time.Duration(1)
	if b.on {
		share = letGo
	}
	over := time.Duration(0)
	b.on = false
	for _, x := range [...]struct {
		what        string
		late, bound time.Duration
	}{
		{"commits to the database", l.Commit, CommitBound},
		{"connections to the bot", l.Bot, BotBound},
		{"the campaign's own messages", l.Mailbox, MailboxBound},
	} {
		if by := x.late - x.bound/share; by > over {
			over = by
			b.on, b.what, b.late, b.bound = true, x.what, x.late, x.bound
		}
	}
	return !b.on
}

// String says in a sentence why it is on.
func (b *Brake) String() string {
	return fmt.Sprintf("%s are %d ms late, %d ms may be; no call is placed until they are below %d ms, calls in progress go on",
		b.what, b.late.Milliseconds(), b.bound.Milliseconds(), (b.bound / letGo).Milliseconds())
}

// Parts implements snapshot.Parts.
func (b *Brake) Parts() []any { return []any{&b.on, &b.what, &b.late, &b.bound} }
