package actors

import (
	"context"

	"dialler/actors/call"
	"dialler/actors/campaign"
	"dialler/actors/dialout"
	"dialler/actors/host"
	"dialler/actors/lease"
	"dialler/actors/number"
	"dialler/actors/ports"
	"dialler/actors/writer"
	"dialler/engine"
)

// Store is what the tree needs from the database: what its parts need, and how it begins.
type Store interface {
	writer.Store
	number.Store
	lease.OpenCalls
	call.Store
	dialout.Store
	campaign.Store

	// ActiveCampaigns lists the campaigns that are running, paused, have live
	// attempts or results owed, or are completed with contacts that wait.
	ActiveCampaigns(ctx context.Context) ([]engine.CampaignID, error)
	Trunks(ctx context.Context) ([]engine.TrunkSettings, error)
	// HoldOpen has the attempts that have not ended hold their numbers, where they do not.
	HoldOpen(ctx context.Context) error
}

// Membership is this node's place among several that share the campaigns. A
// tree without one is alone and acts for all of them.
type Membership interface {
	call.Lease
	// Suppressed has every other node that may dial confirm that it dials numbers no
	// more that are on the suppression list now; the error says which did not.
	Suppressed(ctx context.Context, numbers []engine.PhoneNumber) error
}

// Ports are what the tree touches the world through.
type Ports struct {
	Store     Store
	Telephony ports.Telephony
	Media     ports.Media
	Clock     host.Clock
	Configs   campaign.Configs // nil: a campaign with a Config URL cannot start
	// Eligibility is asked before each dial of a contact; nil: nobody is.
	Eligibility call.Eligibility
	Spool       writer.Spool // nil: while the database is away calls wait for it
	// Membership: nil, this process acts for every campaign.
	Membership Membership
	// RemoteLegs: nil: all legs are here.
	RemoteLegs ports.RemoteLegs
	// SharedCaps: nil: this process alone uses the trunks, bots and numbers.
	SharedCaps lease.SharedCaps
}
