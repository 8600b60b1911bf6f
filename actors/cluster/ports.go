package cluster

import (
	"context"
	"time"

	"dialler/actors/cluster/link"
	"dialler/engine"
	"dialler/engine/ownership"
)

// Owners is what a node needs from the database. Calls block until it answers or ctx ends; all
// times are the database's. Package persistence implements it and documents the exact guarantees.
type Owners interface {
	Join(ctx context.Context, n ownership.Node, ttl time.Duration) (ownership.Node, error)
	// Renew returns ownership.ErrFenced if the lease is over.
	Renew(ctx context.Context, id engine.Incarnation, ttl time.Duration) error
	Drain(ctx context.Context, id engine.Incarnation) error
	Leave(ctx context.Context, id engine.Incarnation) error
	Node(ctx context.Context, id engine.Incarnation) (n ownership.Node, ok bool, err error)
	// Loads lists the nodes that may claim, the least loaded first.
	Loads(ctx context.Context, kind ownership.Kind) ([]ownership.Load, error)
	Owner(ctx context.Context, id ownership.Identity) (ownership.Owner, error)
	// OwnersOf returns the same for many identities, in their order.
	OwnersOf(ctx context.Context, kind ownership.Kind, ids []string) ([]ownership.Owner, error)
	// Claim returns the owner of the identity afterwards, or ownership.ErrFenced if the claiming
	// node's lease is over.
	Claim(ctx context.Context, id ownership.Identity, by engine.Incarnation, margin time.Duration) (ownership.Owner, error)
	Release(ctx context.Context, id ownership.Identity, by engine.Incarnation) error
}

// Clock is the boot-time clock.
type Clock interface {
	Boot() engine.BootTime
}

// Handler carries out a request for an identity that this node owns, in the epoch of its claim; the
// identity is empty for a request to the node itself. An *engine.Error reaches the caller as it is;
// any other error becomes internal. Each call runs on its own goroutine.
type Handler = func(ctx context.Context, from engine.Incarnation, owned ownership.Owner, body []byte) ([]byte, error)

// Errors of requests.
var (
	// ErrNotJoined means the node has no lease.
	ErrNotJoined = engine.Unavailable("node_fenced", "", time.Second)
	// ErrOwnerAway means the owner cannot be reached and its lease has not ended yet.
	ErrOwnerAway = engine.Unavailable("owner_unreachable", "", time.Second)
	// ErrUnanswered means it may have been carried out.
	ErrUnanswered = engine.Unavailable("owner_silent", "", time.Second)
	// ErrBusy means too many concurrent requests of other nodes.
	ErrBusy = engine.Unavailable("node_overloaded", "", time.Second)
	// ErrTooLarge means larger than MaxBody.
	ErrTooLarge = link.ErrTooLarge
)

// MaxBody bounds a request or answer, in bytes.
const MaxBody = 4 << 20
