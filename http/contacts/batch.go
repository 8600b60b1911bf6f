package contacts

import (
	"bytes"
	"errors"
	nethttp "net/http"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/http/form"
	"dialler/http/wire"
)

// batchErrors is how many errors of one item are reported.
const batchErrors = 8

// AddBatch accepts a list of contacts, each judged by itself. The valid ones are added by the rules
// of lists and files, all in one transaction with the reply; an error in one does not affect the
// others.
func (s *API) AddBatch(r *wire.Request) error {
	id, err := r.CampaignOf()
	if err != nil {
		return err
	}
	return s.replays.Once(r, "contacts:batch "+string(id), nethttp.StatusOK, func(key engine.Idempotency) (any, error) {
		f, err := r.Body()
		if err != nil {
			return nil, err
		}
		items := f.Items("contacts", maxContactsPerRequest)
		f.Done()
		if err := f.Errs.Err(); err != nil {
			return nil, err
		}
		cmd := campaign.AddBatch{Idempotency: key, Results: make([]campaign.BatchResult, len(items)),
			AddContacts: campaign.AddContacts{Campaign: id, Source: "api", Who: r.Who()}}
		for i := range items {
			c, problem := s.batchItem(&items[i], r.Began())
			if problem != nil {
				cmd.Results[i] = campaign.BatchResult{Status: campaign.RowInvalid, Problem: problem}
				continue
			}
			cmd.Contacts = append(cmd.Contacts, c)
		}
		return s.Campaigns.AddBatch(r.Ctx(), cmd)
	})
}

// batchItem reads one item, or returns what is wrong with it.
func (s *API) batchItem(v *form.Value, now time.Time) (campaign.NewContact, *campaign.RowProblem) {
	if v.Kind != form.Object {
		return campaign.NewContact{}, &campaign.RowProblem{Code: "validation_failed", Detail: "An item must be " +
			form.Object.String() + ", not " + v.Kind.String() + "."}
	}
	var errs form.Errors
	f := form.Form{Value: v, Errs: &errs}
	to := f.Callee("mobile")
	alternates, others := f.Alternates(to.Number)
	c := campaign.NewContact{Number: to.Number, Alternates: alternates, Variables: f.Variables("metadata", true),
		Times: f.Times(now)}
	f.Done()
	var e *engine.Error
	for i := range others {
		if others[i].Number != "" && errors.As(s.Destinations.Destination(others[i]), &e) {
			f.Fail(alternateField(i), e.Code, e.Detail)
		}
	}
	switch {
	case len(errs.List) > 0:
		return c, &campaign.RowProblem{Code: "validation_failed", Detail: "The item failed validation; see errors.",
			Errors: errs.List[:min(len(errs.List), batchErrors)]}
	case errors.As(s.Destinations.Destination(to), &e):
		return c, &campaign.RowProblem{Code: e.Code, Detail: e.Detail}
	}
	return c, nil
}

// BatchSuffix ends the path of the batch route.
const BatchSuffix = "/contacts:batch"

// IsBatchPath says whether a URI is that of the batch route.
func IsBatchPath(uri []byte) bool {
	return bytes.HasSuffix(uri, []byte(BatchSuffix)) || bytes.HasSuffix(uri, []byte("/contacts%3Abatch")) ||
		bytes.HasSuffix(uri, []byte("/contacts%3abatch"))
}
