package actors

import (
	"sync"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
	core "dialler/engine/run"
)

// Mailboxes have no bound of their own. What calls need holds a lease; what
// comes from outside is refused here, once too much of it waits already.

const (
	// mailboxCap is how many messages may wait in front of a command.
	mailboxCap = 10_000
	// stashCap is how many may wait until a campaign is loaded.
	stashCap = 1000
)

var errOverloaded = core.ErrOverloaded

// mailboxes are those of the actors that take commands: of dialout under "", of
// each run under its campaign.
type mailboxes struct{ m sync.Map }

// of makes the mailbox of an actor and keeps it.
func (b *mailboxes) of(id engine.CampaignID) actor.PropsOption {
	return actor.WithMailbox(func() actor.Mailbox {
		m := actor.Unbounded()()
		b.m.Store(id, m)
		return m
	})
}

func (b *mailboxes) forget(id engine.CampaignID) { b.m.Delete(id) }

// waiting is how many messages wait for an actor.
func (b *mailboxes) waiting(id engine.CampaignID) int {
	v, ok := b.m.Load(id)
	if !ok {
		return 0
	}
	return v.(actor.Mailbox).UserMessageCount()
}

// room refuses a command for an actor that has too much to do.
func (d *deps) room(id engine.CampaignID) error {
	if d.mailboxes.waiting(id) < mailboxCap && d.stats.Writer.Waiting.Load() < int64(d.cfg.WritesCap) {
		return nil
	}
	d.stats.Overloads.Add(1)
	return errOverloaded
}

// roomFor is room for a message to a campaign, or to dialout.
func (d *deps) roomFor(to *actor.PID, msg any) error {
	switch m := msg.(type) {
	case *forCampaign:
		return d.room(m.Campaign)
	case *ifUp:
		return d.room(m.Campaign)
	}
	if to == d.dialout {
		return d.room("")
	}
	return nil
}

// Waiting is how many messages wait for the actor that has most to do.
func (t *Tree) Waiting() (most int) {
	t.d.mailboxes.m.Range(func(_, v any) bool {
		most = max(most, v.(actor.Mailbox).UserMessageCount())
		return true
	})
	return most
}
