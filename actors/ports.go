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

	// ActiveCampaigns lists the campaigns that are running or paused, have live attempts or
	// outstanding results, or are completed with waiting contacts.
	ActiveCampaigns(ctx context.Context) ([]engine.CampaignID, error)
	Trunks(ctx context.Context) ([]engine.TrunkSettings, error)
	// HoldOpen makes attempts that have not ended hold their numbers, where they do not yet.
	HoldOpen(ctx context.Context) error
}

// Membership is this node's place among the nodes that share the campaigns. A tree without one runs
// alone and acts for all of them.
type Membership interface {
	call.Lease
	// Suppressed has every other node that may dial confirm that it no longer dials numbers that
	// are on the suppression list now; the error names the nodes that did not.
	Suppressed(ctx context.Context, numbers []engine.PhoneNumber) error
}

// Ports are the tree's access to the outside world.
type Ports struct {
	Store     Store
	Telephony ports.Telephony
	Media     ports.Media
	Clock     host.Clock
	Configs   campaign.Configs // nil means a campaign with a Config URL cannot start
	// Eligibility is asked before each dial of a contact; nil means no check.
	Eligibility call.Eligibility
	Spool       writer.Spool // nil means calls wait while the database is down
	// Membership nil means this process acts for every campaign.
	Membership Membership
	// RemoteLegs nil means all legs are here.
	RemoteLegs ports.RemoteLegs
	// SharedCaps nil means only this process uses the trunks, bots and numbers.
	SharedCaps lease.SharedCaps
}
