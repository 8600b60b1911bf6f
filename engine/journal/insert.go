package journal

import (
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
)

// ContactInsert adds contacts to a campaign, in the order of the list.
type ContactInsert struct {
	Campaign engine.CampaignID
	Epoch    int64
	Run      int
	Source   string
	Max      int
	At       time.Time
	DueClass contact.DueClass
	Contacts []IdentifiedContact
	// Event is journaled in the same transaction, its Count set to the rows
	// added; a list of which nothing is added leaves no event.
	Event Event
	// Answer gives the reply to keep in the same transaction; rows has what
	// became of each of Contacts. It may be called again; nil: none is kept.
	Answer func(rows []campaign.BatchResult) *Reply
}

// IdentifiedContact is a new contact with its identifier.
type IdentifiedContact struct {
	ID engine.ContactID
	campaign.NewContact
}
