package sharedcaps

import (
	"context"

	"dialler/engine"
	"dialler/engine/ownership"
)

// Node is this process as a member of its cluster.
type Node interface {
	Incarnation() engine.Incarnation // 0 without a lease
	State() ownership.State
	Acting(ctx context.Context, of ownership.Identity) (w ownership.Owner, ok bool, err error)
	Claim(ctx context.Context, of ownership.Identity) (ownership.Owner, error)
	Release(ctx context.Context, of ownership.Identity) error
}

// Store is the database's list of nodes.
type Store interface {
	Node(ctx context.Context, id engine.Incarnation) (n ownership.Node, ok bool, err error)
}

// Tree counts, grants and takes back. Only Count blocks; no method calls back before it returns.
type Tree interface {
	// Count compares the identities' books with the database; anew means the books are empty.
	Count(ctx context.Context, of []ownership.Identity, anew bool) error
	// Serve decides a node's question; answer is called once, or never if this node no longer keeps
	// the count.
	Serve(of ownership.Identity, from engine.Incarnation, question []byte, answer func([]byte))
	// Take takes back a returned grant.
	Take(of ownership.Identity, notice []byte)
	// Drop forgets the book, because another node keeps the count.
	Drop(of ownership.Identity)
}

// Clock is the boot-time clock.
type Clock interface {
	Boot() engine.BootTime
}

// ErrAway means that no keeper has decided; the caller asks again.
var ErrAway = engine.Unavailable("keeper_away", "", 0)
