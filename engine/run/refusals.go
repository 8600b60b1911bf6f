package run

import (
	"cmp"
	"time"

	"dialler/engine"
)

// Errors of commands.
var (
	ErrCampaignNotFound = engine.NotFound("campaign_not_found", "")
	errContactGone      = engine.NotFound("contact_not_found", "")
	errPreparing        = engine.TemporaryConflict("contacts_being_prepared",
		"", time.Second)
	errBeingErased = engine.Conflict("person_being_erased",
		"")
	errDeadlinePassed = engine.Unavailable("deadline_passed",
		"", time.Second)
)

// known refuses a request when the run has no campaign.
func (s *Record) known(from engine.Request) bool {
	err := s.missing()
	if err != nil {
		s.reply(from, nil, err)
	}
	return err == nil
}

// missing says why the run has no campaign, nil when it has one.
func (s *Record) missing() error {
	if s.M.C.ID != "" {
		return nil
	}
	return cmp.Or(s.Absent, error(ErrCampaignNotFound))
}

// past refuses a command whose deadline has passed.
func (s *Record) past(deadline time.Time, from engine.Request) bool {
	if deadline.IsZero() || s.now.Before(deadline) {
		return false
	}
	s.reply(from, nil, errDeadlinePassed)
	return true
}
