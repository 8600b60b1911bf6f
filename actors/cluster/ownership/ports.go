package ownership

import (
	"context"

	"github.com/rs/zerolog"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/ownership"
)

// Node is this process as a member of its cluster; package cluster implements it.
type Node interface {
	// Owner returns who acts for an identity; if no node does, one claims it.
	Owner(ctx context.Context, id ownership.Identity) (ownership.Owner, error)
	// OwnersOf returns who acts for each of the identities; nothing is claimed.
	OwnersOf(ctx context.Context, kind ownership.Kind, ids []string) ([]ownership.Owner, error)
	// Owned gives the claim by which this node acts for an identity.
	Owned(id ownership.Identity) (w ownership.Owner, ok bool)
	// Claim makes this node the owner of an unowned identity.
	Claim(ctx context.Context, id ownership.Identity) (ownership.Owner, error)
	// Release gives an identity up, HandTo releases it for one node to claim.
	Release(ctx context.Context, id ownership.Identity) error
	HandTo(ctx context.Context, id ownership.Identity, to engine.Incarnation) error
	// May says whether the node has its lease.
	May() bool
	// Drain makes the node claim nothing more.
	Drain()
}

// Tree is the actors of this node; package actors implements it.
type Tree interface {
	// ActiveCampaigns are the campaigns that need an owner, Up those whose actors are up here.
	ActiveCampaigns(ctx context.Context) ([]engine.CampaignID, error)
	Up(ctx context.Context) ([]engine.CampaignID, error)
	// CallsOf counts the calls of campaigns whose actors are up here.
	CallsOf(ids []engine.CampaignID) map[engine.CampaignID]int
	Adopt(id engine.CampaignID)
	// Release stops a campaign's actors; if it returns nil, everything they had to write is stored.
	Release(ctx context.Context, id engine.CampaignID) error
	// Left follows each Release, once the campaign is another node's or stays here: in between no
	// request starts its actors again.
	Left(id engine.CampaignID)

	// Has says whether the actor of an attempt is here.
	Has(id engine.AttemptID) bool
	OpenDialouts(ctx context.Context) ([]attempt.Attempt, error)
	CloseDialout(a attempt.Attempt, epoch int64)
	// LegsGone says that the node with the legs of these attempts is gone.
	LegsGone(ids []engine.AttemptID)
	// Taken says that another node acts for a call.
	Taken(id engine.AttemptID)
}

// Calls are the calls whose legs and campaign are on different nodes; package gateway implements
// it.
type Calls interface {
	// Join sets this node's incarnation from now on; Gone says that another node's lease is over.
	Join(id engine.Incarnation)
	Gone(id engine.Incarnation, address string)
	// Lost returns the calls that no other node can have any more.
	Lost() []engine.AttemptID
	// Disown gives up and returns the calls on other nodes that this one acts for.
	Disown() []engine.AttemptID
	// Leave makes a live call wait for its campaign's next owner.
	Leave(a engine.AttemptID, node engine.Incarnation, epoch int64, peers []engine.LegID)
}

// Store is the database.
type Store interface {
	// ActAs sets the incarnation that this node acts as from now on; 0 means it acts for nothing.
	ActAs(id engine.Incarnation)
	Campaign(ctx context.Context, id engine.CampaignID) (campaign.Campaign, error)
	OpenAttempts(ctx context.Context) ([]attempt.Attempt, error)
}

// Nodes lists the nodes that have not left.
type Nodes interface {
	Nodes(ctx context.Context) ([]ownership.Node, error)
}

// Clock is the boot-time clock.
type Clock interface {
	Boot() engine.BootTime
}

// Config configures a Keeper.
type Config struct {
	Tree  Tree
	Calls Calls
	Store Store
	Nodes Nodes
	Clock Clock
	Terms ownership.Terms
	Log   zerolog.Logger
	// Begun and Gone, if set, are called after the keeper has done its part: when this node has a
	// new incarnation (0 means it has no lease), and when another node is gone. They must not block
	// for long.
	Begun func(id engine.Incarnation)
	Gone  func(id engine.Incarnation)
	// Seen, if set, gets the nodes that have not left in every round.
	Seen func(all []ownership.Node)
}
