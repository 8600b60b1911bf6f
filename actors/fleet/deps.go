package fleet

import (
	"context"
	"sync/atomic"
	"time"

	"dialler/actors/host"
	"dialler/actors/lease"
	"dialler/engine"
)

// Phone asks a bot that is called by SIP. It blocks until the address has answered whether it takes
// calls (nil means yes), or ctx ends.
type Phone interface {
	Ask(ctx context.Context, uri string) error
}

// Media asks a bot behind a socket. It blocks until an endpoint has answered whether it takes
// calls (nil means yes), or ctx ends.
type Media interface {
	AskBot(ctx context.Context, cmd engine.AskBot) error
}

// Deps are what the fleet needs.
type Deps struct {
	*host.System
	LeaseTTL time.Duration // of a seat allotment
	Shared   lease.SharedCaps
	Phone    Phone
	Media    Media
	Reach    *Reach
	Stats    *Stats
}

// Stats are the metrics of the bots.
type Stats struct {
	SeatsHeld atomic.Int64
	// Active bots without an endpoint that takes calls, and endpoints that take none.
	BotsDown, EndpointsDown atomic.Int64
}
