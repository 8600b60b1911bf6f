// Package people says what is known of the people whom the dialler calls, over all campaigns. A person is
// a number: the contacts that have it are hers, in whatever campaign.
package people

import (
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// Limits of what is read of one person, the newest of each.
const (
	ContactsCap   = 200
	CallsCap      = 500
	ExclusionsCap = 200
)

// Searched is what a search over all campaigns found, what was added last first.
type Searched struct {
	People []Found
	More   bool // there are more people than were asked for
	// Partial says that contacts from before an update are still being read into the search.
	Partial   bool
	Campaigns []CampaignOf
}

// Found is a person whom a search found, with the contacts in all campaigns, the latest first.
type Found struct {
	Number   engine.PhoneNumber
	Contacts []Contact
}

// Contact is one of a person's contacts.
type Contact struct {
	contact.Contact
	Of CampaignOf
}

// CampaignOf is what a list shows of a campaign.
type CampaignOf struct {
	ID    engine.CampaignID
	Name  string
	State campaign.State
}

// Person is everything that is known of a person.
type Person struct {
	Number   engine.PhoneNumber
	Contacts []Contact // the latest first
	// Calls are those of the contacts and, at the person's number, single calls and calls that came in;
	// newest first, without legs.
	Calls      []attempt.Attempt
	Exclusions []Exclusion // in force, newest first
	Suppressed []journal.Suppression
	HeldUntil  *time.Time
	Held       bool // in a call, or not to be called until HeldUntil
	More       bool // there is more than the limits show
}

// Exclusion keeps a person from being called in a campaign.
type Exclusion struct {
	journal.Exclusion
	Of CampaignOf
}
