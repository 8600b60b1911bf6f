package dialout

import (
	"context"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	callactor "dialler/actors/call"
	"dialler/actors/writer"
	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/inbound"
)

// Store is what the calls outside campaigns need from the database.
type Store interface {
	Bots(ctx context.Context) ([]engine.Bot, error)
	// DueDialouts returns up to limit dialouts whose time has come, by priority and time; nobody else gets
	// them before claim has passed. Those of the bots in except are left out unless they have expired. next is
	// when the next one is to be looked at, nil when none is.
	DueDialouts(ctx context.Context, now time.Time, claim time.Duration, limit int,
		except []engine.BotID) (due []campaign.ScheduledDialout, next *time.Time, err error)
	// PutOffDialout notes why a scheduled dialout could not be dialled, and when it is looked at again.
	PutOffDialout(ctx context.Context, id engine.AttemptID, until time.Time, reason string) error
	// ScheduledDialout returns a dialout that waits for its time, DialoutsTo lists those to a number.
	Trunks(ctx context.Context) ([]engine.TrunkSettings, error)
	// CallIn returns what is known of a call that came in, from calls since a time.
	CallIn(ctx context.Context, to, from []engine.PhoneNumber, since time.Time) (*inbound.Called, error)
	// CallsBackUntold returns up to limit calls back, begun since a time, that are over and of whose result, or
	// opt-out key, the contact has not heard (contact.Contact.KnowsCallBack).
	CallsBackUntold(ctx context.Context, since time.Time, limit int) ([]attempt.Attempt, error)
	ScheduledDialout(ctx context.Context, id engine.AttemptID) (d campaign.ScheduledDialout, ok bool, err error)
	DialoutsTo(ctx context.Context, n engine.PhoneNumber) ([]engine.AttemptID, error)
}

// Deps are what the calls outside campaigns need in addition to what all calls need.
type Deps struct {
	*callactor.Process
	Store    Store
	Writers  *writer.Group
	Numbers  *actor.PID
	LeaseTTL time.Duration // of the seats
	// BotsChanged broadcasts the configured bots.
	BotsChanged func([]engine.Bot)
	Stats       *Stats
}
