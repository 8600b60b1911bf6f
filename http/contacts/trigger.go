package contacts

import (
	nethttp "net/http"
	"strconv"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/http/form"
	"dialler/http/wire"
)

// Trigger adds one contact to a campaign and dials or queues it (spec:
// Trigger; SEMANTICS §11).
func (s *API) Trigger(r *wire.Request) error {
	return s.replays.OnceWritten(r, "trigger", nethttp.StatusOK, func(id engine.Idempotency) (any, error) {
		f, err := r.Body()
		if err != nil {
			return nil, err
		}
		to := f.Callee("mobile")
		alternates, others := f.Alternates(to.Number)
		cmd := campaign.Trigger{
			Campaign:    engine.CampaignID(f.Text("campaign_id", form.Required, 64)),
			Number:      to.Number,
			Alternates:  alternates,
			Variables:   f.Variables("metadata", true),
			Times:       f.Times(r.Began()),
			Status:      f.StatusCallback(),
			Who:         r.Who(),
			Idempotency: id,
			Deadline:    r.Deadline(),
		}
		f.Done()
		// 403 comes before 422: a client that may not use the campaign does not learn what else is
		// wrong.
		if cmd.Campaign != "" && !r.MayUse(cmd.Campaign) {
			return nil, wire.ErrCampaignForbidden
		}
		if err := f.Errs.Err(); err != nil {
			return nil, err
		}
		if err := wire.MayCall(s.Destinations, "mobile", to); err != nil {
			return nil, err
		}
		for i := range others {
			if err := wire.MayCall(s.Destinations, alternateField(i), others[i]); err != nil {
				return nil, err
			}
		}
		return s.Campaigns.Trigger(r.Ctx(), cmd)
	})
}

// alternateField names the number of an entry of a person's alternates.
func alternateField(i int) string { return form.AlternatesField + "[" + strconv.Itoa(i) + "].number" }
