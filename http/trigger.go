package http

import (
	"errors"

	"dialler/http/form"

	nethttp "net/http"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/number"
)

// trigger adds one contact to a campaign and dials or queues it (spec:
// Trigger; SEMANTICS §11).
func (s *Server) trigger(r *request) error {
	return s.onceWritten(r, "trigger", nethttp.StatusOK, func(id engine.Idempotency) (any, error) {
		f, err := r.body()
		if err != nil {
			return nil, err
		}
		to := f.Callee("mobile")
		cmd := campaign.Trigger{
			Campaign:    engine.CampaignID(f.Text("campaign_id", form.Required, 64)),
			Number:      to.Number,
			Variables:   f.Variables("metadata", true),
			Who:         r.who(),
			Idempotency: id,
			Deadline:    r.deadline(),
		}
		f.Done()
		// 403 comes before 422: whoever may not use the campaign does not
		// learn what else is wrong.
		if cmd.Campaign != "" && !r.mayUse(cmd.Campaign) {
			return nil, errCampaignForbidden
		}
		if err := f.Errs.Err(); err != nil {
			return nil, err
		}
		if err := s.mayCall("mobile", to); err != nil {
			return nil, err
		}
		return s.Campaigns.Trigger(r.ctx(), cmd)
	})
}

// mayCall refuses a number to which this installation places no calls.
func (s *Server) mayCall(field string, to number.Callee) error {
	err := s.Destinations.Destination(to)
	var e *engine.Error
	if errors.As(err, &e) {
		return engine.Invalid(e.Code, e.Detail, engine.FieldError{Field: field, Code: e.Code, Message: e.Detail})
	}
	return err
}
