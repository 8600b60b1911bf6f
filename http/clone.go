package http

import (
	"context"

	"dialler/http/form"

	nethttp "net/http"
	"time"

	"dialler/engine/campaign"
)

// cloneTimeout bounds a clone: the database copies some ten thousand contacts
// a second.
const cloneTimeout = 10 * time.Minute

// cloneCampaign copies a campaign into a new draft and says where it is.
func (s *Server) cloneCampaign(r *request) error {
	id, err := r.campaignOf()
	if err != nil {
		return err
	}
	cmd := campaign.Clone{Campaign: id, Who: r.who()}
	if len(r.rc.PostBody()) > 0 {
		f, err := r.body()
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
	ctx, cancel := context.WithTimeout(s.closing, cloneTimeout)
	defer cancel()
	defer whileConnected(r.rc.Conn(), cancel)()
	d, err := s.Campaigns.Clone(ctx, cmd)
	if err != nil {
		return err
	}
	r.rc.Response.Header.Set("Location", "/api/v1/campaigns/"+string(d.Campaign.ID))
	return r.reply(nethttp.StatusCreated, viewCampaign(&d))
}
