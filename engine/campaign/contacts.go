package campaign

import (
	"time"

	"dialler/engine"
)

// ContactAction is an operator's action on one contact.
type ContactAction string

const (
	ExcludeContact ContactAction = "exclude"
	CallBack       ContactAction = "call_back"
	RetryNow       ContactAction = "retry_now"
)

// ActOnContact carries out an operator's action on one contact. contact.Machine.Refusal defines
// which states allow which action.
type ActOnContact struct {
	Campaign engine.CampaignID
	Contact  engine.ContactID
	Action   ContactAction
	At       time.Time // of CallBack
	Reason   string    // of ExcludeContact
	Who      engine.Who
	Deadline time.Time // after this the command is dropped unexecuted and answered with 503
}

// Dials refuses commands that would have a contact called unless the campaign's run is in progress:
// a paused campaign calls it once it is resumed.
func (c *Campaign) Dials() error {
	if c.State == Running || c.State == Paused {
		return nil
	}
	return engine.Conflict("campaign_not_running", "contacts are called in a running or paused campaign; this one is "+
		string(c.State))
}
