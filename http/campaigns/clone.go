package campaigns

import (
	"context"
	nethttp "net/http"
	"time"

	"dialler/engine/campaign"
	"dialler/http/form"
	"dialler/http/wire"
)

// cloneTimeout bounds a clone: the database copies about ten thousand contacts a second.
const cloneTimeout = 10 * time.Minute

// Clone copies a campaign into a new draft and returns its location.
func (s *API) Clone(r *wire.Request) error {
	id, err := r.CampaignOf()
	if err != nil {
		return err
	}
	cmd := campaign.Clone{Campaign: id, Who: r.Who()}
	if len(r.HTTP.PostBody()) > 0 {
		f, err := r.Body()
		if err != nil {
			return err
		}
		if f.Has("name") {
			cmd.Name = f.Text("name", form.Required, 200)
		}
		f.Done()
		if err := f.Errs.Err(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(s.Closing, cloneTimeout)
	defer cancel()
	defer wire.WhileConnected(r.HTTP.Conn(), cancel)()
	d, err := s.Campaigns.Clone(ctx, cmd)
	if err != nil {
		return err
	}
	r.HTTP.Response.Header.Set("Location", "/api/v1/campaigns/"+string(d.Campaign.ID))
	return r.Reply(nethttp.StatusCreated, View(&d))
}
