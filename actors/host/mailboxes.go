package host

import (
	"sync"

	"github.com/asynkron/protoactor-go/actor"
)

// MailboxCap is how many messages may be queued ahead of a command. Mailboxes themselves are
// unbounded: work for calls requires a lease, and outside requests are refused once too many are
// waiting.
const MailboxCap = 10_000

// Mailboxes are those of the actors that accept commands, each under a key.
type Mailboxes[K comparable] struct{ m sync.Map }

// Of makes an actor's mailbox and registers it.
func (b *Mailboxes[K]) Of(key K) actor.PropsOption {
	return actor.WithMailbox(func() actor.Mailbox {
		m := actor.Unbounded()()
		b.m.Store(key, m)
		return m
	})
}

// Forget drops the mailbox of an actor that has ended.
func (b *Mailboxes[K]) Forget(key K) { b.m.Delete(key) }

// Waiting returns how many messages wait for an actor.
func (b *Mailboxes[K]) Waiting(key K) int {
	v, ok := b.m.Load(key)
	if !ok {
		return 0
	}
	return v.(actor.Mailbox).UserMessageCount()
}

// Longest returns the length of the longest mailbox.
func (b *Mailboxes[K]) Longest() (most int) {
	b.m.Range(func(_, v any) bool {
		most = max(most, v.(actor.Mailbox).UserMessageCount())
		return true
	})
	return most
}
