package form

import (
	"strconv"

	"dialler/engine/campaign"
	"dialler/engine/webhook"
)

// StatusCallback reads where the progress of the request's calls is to be told: nil if it was not sent, without a URL
// if it is empty, which means nowhere any more. Whether a webhook covers the address is decided where webhooks are
// known.
func (f Form) StatusCallback() *campaign.StatusCallback {
	const field, events = "status_callback", "status_callback_events"
	s := &campaign.StatusCallback{URL: f.Text(field, Optional, webhook.URLCap)}
	if list := f.SomeOf(events, webhook.Progress()); list != nil {
		s.Types = *list
	}
	if s.URL == "" {
		if s.Types != nil {
			f.Fail(events, "status_callback_missing", "says what "+field+" is told; send an address with it, "+
				"such as https://crm.example.org/calls?order=4711")
		}
		if f.Has(field) {
			return s
		}
		return nil
	}
	if err := webhook.CheckURL(s.URL, true); err != nil {
		f.Fail(field, "invalid_format", err.Error()+", of at most "+strconv.Itoa(webhook.URLCap)+
			" bytes; a valid one is https://crm.example.org/calls?order=4711")
	}
	return s
}
