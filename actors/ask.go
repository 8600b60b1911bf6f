package actors

import (
	"context"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	campaignactor "dialler/actors/campaign"
	"dialler/actors/host"
	"dialler/actors/writer"
	"dialler/engine"
	core "dialler/engine/run"
)

// The tree's methods are blocking calls with a deadline, for the HTTP API and for the process
// itself.

// ask sends a request and waits for its answer until ctx ends.
func ask[T any](ctx context.Context, t *Tree, to *actor.PID, msg any) (answer T, err error) {
	if err := t.roomFor(to, msg); err != nil {
		return answer, err
	}
	return writer.Ask[T](ctx, t.writers, to, msg)
}

// roomFor refuses a message to an overloaded campaign or dialout.
func (t *Tree) roomFor(to *actor.PID, msg any) error {
	switch m := msg.(type) {
	case *campaignactor.ForCampaign:
		return t.room(m.Campaign)
	case *campaignactor.IfUp:
		return t.room(m.Campaign)
	}
	if to == t.dialout {
		return t.room("")
	}
	return nil
}

func (t *Tree) room(id engine.CampaignID) error {
	if t.mailboxes.Waiting(id) < host.MailboxCap && t.writers.Stats.Waiting.Load() < int64(t.writesCap) {
		return nil
	}
	t.sys.Stats.Overloads.Add(1)
	return core.ErrOverloaded
}

// Waiting returns the length of the longest mailbox.
func (t *Tree) Waiting() (most int) { return t.mailboxes.Longest() }

// Database returns the state of the database.
func (t *Tree) Database() writer.Status { return t.writers.Database.Now() }

// staleAfter is when a tree that has not answered counts as dead.
const staleAfter = 30 * time.Second

// Alive returns nil while the tree answers.
func (t *Tree) Alive() error {
	ctx, cancel := context.WithTimeout(t.sys.Ctx, staleAfter)
	defer cancel()
	_, err := ask[any](ctx, t, t.campaigns, &campaignactor.Ping{})
	return err
}
