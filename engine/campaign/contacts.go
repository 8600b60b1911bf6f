package campaign

import (
	"time"

	"dialler/engine"
)

// ContactAction is what an operator does to one contact.
type ContactAction string

const (
	ExcludeContact ContactAction = "exclude"
	CallBack       ContactAction = "call_back"
	RetryNow       ContactAction = "retry_now"
)

// ActOnContact has an operator's word on one contact carried out. Which states
// of the contact allow what: contact.Machine.Refusal.
type ActOnContact struct {
	Campaign engine.CampaignID
	Contact  engine.ContactID
	Action   ContactAction
	At       time.Time // of CallBack
	Reason   string    // of ExcludeContact
	Who      engine.Who
	Deadline time.Time // past it the command is dropped unexecuted and answered 503
}

// Dials refuses what would have a contact called unless the campaign's run goes
// on: a paused one calls it once it is resumed.
func (c *Campaign) Dials() error {
	if c.State == Running || c.State == Paused {
		return nil
	}
	return engine.Conflict("campaign_not_running", "contacts are called in a running or paused campaign; this one is "+string(c.State))
}
