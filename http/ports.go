package http

import (
	"context"
	"time"

	"dialler/http/access"
	"dialler/http/amd"
	"dialler/http/calls"
	"dialler/http/campaigns"
	"dialler/http/contacts"
	"dialler/http/exclusions"
	"dialler/http/idempotency"
	"dialler/http/reports"
	"dialler/http/telephony"
	"dialler/http/webhooks"
	"dialler/http/wire"
)

// This file is everything the API knows of the rest of the dialler. Every call blocks until its
// answer is final, obeys ctx, and returns errors of package engine if the caller can do something
// about them; any other error is internal and its text stays in the log.

// Campaigns is the campaign tree and what is stored of campaigns.
type Campaigns interface {
	campaigns.Campaigns
	contacts.Campaigns
	exclusions.Campaigns
}

// Reports reads the outcomes of attempts.
type Reports interface {
	reports.Reports
	campaigns.Charts
}

// Health answers the probes.
type Health interface {
	// Alive returns nil while the process is making decisions; an error makes /healthz fail (a
	// decision loop stale for more than 30 s).
	Alive() error
	// Checks returns what /readyz reports by name: database, trunks, rtp_ports, draining.
	Checks(ctx context.Context) []Check
}

// The warnings of checks.
const (
	NoTrunk         = "no_trunk"         // no trunk is active
	MembershipAway  = "membership_away"  // etcd, by which nodes find each other, does not answer
	HolidaysStale   = "holidays_stale"   // a calendar's file of holidays cannot be fetched again
	STUNAway        = "stun_away"        // a STUN server does not answer; its last address stays in use
	ExternalPrivate = "external_private" // a STUN server says a private address
)

// Check is one condition of readiness.
type Check struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	// Warning is the code of something that needs attention although the check passes.
	Warning string `json:"warning,omitempty"`
	Detail  string `json:"detail,omitempty"`
	// Known is the detail for who is signed in, where it says more than everybody may know.
	Known string `json:"-"`
	// Since is when it failed, or the warning began; nil if unknown.
	Since *time.Time `json:"since,omitempty"`
}

// Deps are the rest of the dialler.
type Deps struct {
	Campaigns Campaigns
	Imports   contacts.Imports
	Reports   Reports
	Activity  campaigns.Activity
	Calls     calls.Calls
	Keys      access.Keys
	Users     access.Users
	Sessions  access.Sessions
	Replies   idempotency.Replies
	Bots      telephony.Bots
	Cadences  campaigns.Cadences
	Calendars campaigns.Calendars
	Trunks    telephony.Trunks
	Numbers   telephony.Numbers
	SetUp     telephony.SetUp
	Health    Health

	Destinations wire.Destinations
	Suppressions exclusions.Suppressions
	Recordings   calls.Recordings

	Classification amd.Classification
	Evidence       reports.Evidence
	Persons        exclusions.Persons
	People         contacts.People
	Webhooks       webhooks.Webhooks
	Simulations    campaigns.Simulations
	Hours          campaigns.Hours
}
