package wire

import (
	nethttp "net/http"

	"dialler/engine"
	"dialler/http/form"
)

// PathID returns an identifier from the path; a body that repeats it must agree.
func PathID(f form.Form, r *Request, param string) string {
	id := r.Param(param)
	if !form.ValidIdentifier(id) {
		f.Fail(param, "invalid_format", "must be 1 to 64 letters, digits, dots, dashes and underscores")
	}
	if in := f.Text("id", form.Optional, 64); in != "" && in != id {
		f.Fail("id", "mismatch", "must be the one in the path")
	}
	return id
}

// CampaignOf reads the campaign ID from the path.
func (r *Request) CampaignOf() (engine.CampaignID, error) {
	id := r.Param("campaign_id")
	if !form.ValidIdentifier(id) {
		return "", ErrNoCampaign
	}
	if !r.MayUse(engine.CampaignID(id)) {
		return "", ErrCampaignForbidden
	}
	return engine.CampaignID(id), nil
}

var ErrNoCampaign = engine.NotFound("campaign_not_found", "")

// PutStatus returns the status of a PUT.
func PutStatus(created bool) int {
	if created {
		return nethttp.StatusCreated
	}
	return nethttp.StatusOK
}
