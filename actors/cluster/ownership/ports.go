package ownership

import (
	"context"

	"github.com/rs/zerolog"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/ownership"
)

// Node is this process as a member of its cluster; package cluster has it.
type Node interface {
	// Owner tells who acts for an identity; when nobody does, somebody claims it.
	Owner(ctx context.Context, id ownership.Identity) (ownership.Owner, error)
	// OwnersOf tells who acts for each of the identities; nobody claims any.
	OwnersOf(ctx context.Context, kind ownership.Kind, ids []string) ([]ownership.Owner, error)
	// Owned gives the claim by which this node acts for an identity.
	Owned(id ownership.Identity) (w ownership.Owner, ok bool)
	// Claim makes this node the owner of what nobody acts for.
	Claim(ctx context.Context, id ownership.Identity) (ownership.Owner, error)
	// Release gives an identity up, HandTo for another node to claim.
	Release(ctx context.Context, id ownership.Identity) error
	HandTo(ctx context.Context, id ownership.Identity, to engine.Incarnation) error
	// May says whether the node has its lease.
	May() bool
	// Drain has the node claim nothing more.
	Drain()
}

// Tree is the actors of this node; package actors has it.
type Tree interface {
	// ActiveCampaigns are those for which somebody has to act, Up those whose
	// actors are up here.
	ActiveCampaigns(ctx context.Context) ([]engine.CampaignID, error)
	Up(ctx context.Context) ([]engine.CampaignID, error)
	// CallsOf counts the calls of campaigns whose actors are up here.
	CallsOf(ids []engine.CampaignID) map[engine.CampaignID]int
	Adopt(id engine.CampaignID)
	// Release stops a campaign's actors; after nil all they had to say is stored.
	Release(ctx context.Context, id engine.CampaignID) error
	// Left follows each Release, once the campaign is another node's or stays here:
	// in between no request brings its actors up again.
	Left(id engine.CampaignID)

	// Has says whether the actor of an attempt lives here.
	Has(id engine.AttemptID) bool
	OpenDialouts(ctx context.Context) ([]attempt.Attempt, error)
	CloseDialout(a attempt.Attempt, epoch int64)
	// LegsGone says that the node is gone that had the legs of these attempts.
	LegsGone(ids []engine.AttemptID)
}

// Calls are those whose legs are on one node and whose campaign is on another;
// package gateway has it.
type Calls interface {
	// Join says whom this node is from now on, Gone that another node's lease is over.
	Join(id engine.Incarnation)
	Gone(id engine.Incarnation)
	// Lost gives the calls of which no other node can have anything any more.
	Lost() []engine.AttemptID
	// Leave has a live call wait for the next owner of its campaign.
	Leave(a engine.AttemptID, node engine.Incarnation, epoch int64, peers []engine.LegID)
}

// Store is what is asked of the database.
type Store interface {
	// ActAs says as whom this node acts from now on; 0: for nothing.
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

// Config is what a Keeper works with.
type Config struct {
	Tree  Tree
	Calls Calls
	Store Store
	Nodes Nodes
	Clock Clock
	Terms ownership.Terms
	Log   zerolog.Logger
	// Begun and Gone, if they are set, are called after the keeper has done its
	// part: this node is another incarnation than before (0: it has no lease), and
	// another node is gone. They must not block for long.
	Begun func(id engine.Incarnation)
	Gone  func(id engine.Incarnation)
	// Seen, if it is set, gets the nodes that have not left in every round.
	Seen func(all []ownership.Node)
}
