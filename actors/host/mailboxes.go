package host

import (
	"sync"

	"github.com/asynkron/protoactor-go/actor"
)

// MailboxCap is how many messages may wait in front of a command. Mailboxes have no
// bound of their own: what calls need holds a lease, and what comes from outside is
// refused once too much of it waits already.
const MailboxCap = 10_000

// Mailboxes are those of the actors that take commands, each under a key.
type Mailboxes[K comparable] struct{ m sync.Map }

// Of makes the mailbox of an actor and keeps it.
func (b *Mailboxes[K]) Of(key K) actor.PropsOption {
	return actor.WithMailbox(func() actor.Mailbox {
		m := actor.Unbounded()()
		b.m.Store(key, m)
		return m
	})
}

// Forget drops a mailbox whose actor has ended.
func (b *Mailboxes[K]) Forget(key K) { b.m.Delete(key) }

// Waiting is how many messages wait for an actor.
func (b *Mailboxes[K]) Waiting(key K) int {
	v, ok := b.m.Load(key)
	if !ok {
		return 0
	}
	return v.(actor.Mailbox).UserMessageCount()
}

// Longest is how many messages wait for the actor that has most to do.
func (b *Mailboxes[K]) Longest() (most int) {
	b.m.Range(func(_, v any) bool {
		most = max(most, v.(actor.Mailbox).UserMessageCount())
		return true
	})
	return most
}
