package dialout

import (
	"context"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	callactor "dialler/actors/call"
	"dialler/actors/writer"
	"dialler/engine"
)

// Store is what the calls outside campaigns need from the database.
type Store interface {
	Bots(ctx context.Context) ([]engine.Bot, error)
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
}
