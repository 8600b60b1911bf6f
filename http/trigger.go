package http

import (
	nethttp "net/http"

	"dialler/engine"
	"dialler/engine/campaign"
)

// trigger adds one contact to a campaign and dials or queues it (spec:
// Trigger; SEMANTICS §11).
func (s *Server) trigger(r *request) error {
	return s.onceWritten(r, "trigger", nethttp.StatusOK, func(id engine.Idempotency) (any, error) {
		f, err := r.body()
		if err != nil {
			return nil, err
		}
		to := f.callee("mobile")
		cmd := campaign.Trigger{
			Campaign:    engine.CampaignID(f.text("campaign_id", required, 64)),
			Number:      to.Number,
			Variables:   f.variables("metadata", true),
			Who:         r.who(),
			Idempotency: id,
			Deadline:    r.deadline(),
		}
		f.done()
		// 403 comes before 422: whoever may not use the campaign does not
		// learn what else is wrong.
		if cmd.Campaign != "" && !r.mayUse(cmd.Campaign) {
			return nil, errCampaignForbidden
		}
		if err := f.errs.err(); err != nil {
			return nil, err
		}
		if err := s.mayCall("mobile", to); err != nil {
			return nil, err
		}
		return s.Campaigns.Trigger(r.ctx(), cmd)
	})
}
