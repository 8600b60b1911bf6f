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
	// Event is journaled in the same transaction, with Count set to the rows added; a list that
	// adds nothing leaves no event.
	Event Event
	// Answer returns the reply to store in the same transaction; rows has the result of each of
	// Contacts. It may be called again; nil means that no reply is stored.
	Answer func(rows []campaign.BatchResult) *Reply
}

// IdentifiedContact is a new contact with its identifier.
type IdentifiedContact struct {
	ID engine.ContactID
	campaign.NewContact
}
