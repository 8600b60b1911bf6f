package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
)

// crowded is a mailbox that says how much waits in it.
type crowded struct {
	actor.Mailbox
	n int
}

func (c crowded) UserMessageCount() int { return c.n }

// Waits has n messages wait for a campaign, until back is called.
func (t *Tree) Waits(id engine.CampaignID, n int) (back func()) {
	boxes := &t.d.mailboxes.m
	v, ok := boxes.Load(id)
	if !ok {
		panic("the campaign is not up")
	}
	boxes.Store(id, crowded{Mailbox: v.(actor.Mailbox), n: n})
	return func() { boxes.Store(id, v) }
}
