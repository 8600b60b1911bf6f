package pacing

import (
	"fmt"
	"time"
)

// Late is how late the dialler is with the things that its calls wait for.
type Late struct {
	Commit  time.Duration // the oldest write that is on its way to the database
	Bot     time.Duration // the sockets of the bot that are being opened
	Mailbox time.Duration // a message to the run itself
}

// Bounds of lateness. An answer waits for all three in turn, and its bot has 2 s.
const (
	CommitBound  = 500 * time.Millisecond
	BotBound     = time.Second
	MailboxBound = 500 * time.Millisecond
)

// letGo is the divisor of each bound below which all values must be before the brake releases: some
// work is then left, so that the dialler is not idle until the first new dials.
const letGo = 2

// Brake admits no dials while the dialler is later than a bound: more dials than it can handle
// would make all calls even later, and end none of them sooner. The zero Brake is off.
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

// String explains in a sentence why it is on.
func (b *Brake) String() string {
	return fmt.Sprintf("%s are %d ms late, %d ms is allowed; no call is placed until they are below %d ms, calls in "+
		"progress go on",
		b.what, b.late.Milliseconds(), b.bound.Milliseconds(), (b.bound / letGo).Milliseconds())
}

// Parts implements snapshot.Parts.
func (b *Brake) Parts() []any { return []any{&b.on, &b.what, &b.late, &b.bound} }
