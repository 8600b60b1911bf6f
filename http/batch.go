package http

import (
	"bytes"
	"errors"
	nethttp "net/http"
	"strconv"

	"dialler/engine"
	"dialler/engine/campaign"
)

// batchErrors is how many mistakes of one item are named.
const batchErrors = 8

// addBatch takes a list of contacts of which each is judged by itself. Those
// that can be added are, by the rules of lists and files and all in one
// transaction with the reply; a mistake in one stops none of the others.
func (s *Server) addBatch(r *request) error {
	id, err := r.campaignOf()
	if err != nil {
		return err
	}
	return s.once(r, "contacts:batch "+string(id), nethttp.StatusOK, func(key engine.Idempotency) (any, error) {
		f, err := r.body()
		if err != nil {
			return nil, err
		}
		items := f.items("contacts", maxContactsPerRequest)
		f.done()
		if err := f.errs.err(); err != nil {
			return nil, err
		}
		cmd := campaign.AddBatch{Idempotency: key, Results: make([]campaign.BatchResult, len(items)),
			AddContacts: campaign.AddContacts{Campaign: id, Source: "api", Who: r.who()}}
		for i := range items {
			c, problem := s.batchItem(&items[i])
			if problem != nil {
				cmd.Results[i] = campaign.BatchResult{Status: campaign.RowInvalid, Problem: problem}
				continue
			}
			cmd.Contacts = append(cmd.Contacts, c)
		}
		return s.Campaigns.AddBatch(r.ctx(), cmd)
	})
}

// batchItem reads one item, or says what is wrong with it.
func (s *Server) batchItem(v *jsonValue) (campaign.NewContact, *campaign.RowProblem) {
	if v.kind != jsonObject {
		return campaign.NewContact{}, &campaign.RowProblem{Code: "validation_failed", Detail: "An item must be " + jsonObject.String() + ", not " + v.kind.String() + "."}
	}
	var errs fieldErrors
	f := form{v: v, errs: &errs}
	to := f.callee("mobile")
	c := campaign.NewContact{Number: to.Number, Variables: f.variables("metadata", true)}
	f.done()
	var e *engine.Error
	switch {
	case len(errs.list) > 0:
		return c, &campaign.RowProblem{Code: "validation_failed", Detail: "The item failed validation; see errors.", Errors: errs.list[:min(len(errs.list), batchErrors)]}
	case errors.As(s.Destinations.Destination(to), &e):
		return c, &campaign.RowProblem{Code: e.Code, Detail: e.Detail}
	}
	return c, nil
}

// items reads a list that must have entries.
func (f form) items(field string, limit int) []jsonValue {
	v := f.find(field)
	switch {
	case v == nil:
		f.fail(field, "required", "is required")
	case v.kind != jsonArray:
		f.wrongType(field, jsonArray, v.kind)
	case len(v.items) == 0:
		f.fail(field, "required", "must have at least one entry")
	case len(v.items) > limit:
		f.fail(field, "too_long", "must have at most "+strconv.Itoa(limit)+" entries; send the rest in another request")
	default:
		return v.items
	}
	return nil
}

// batchSuffix ends the path of the batch route.
const batchSuffix = "/contacts:batch"

func isBatchPath(uri []byte) bool {
	return bytes.HasSuffix(uri, []byte(batchSuffix)) || bytes.HasSuffix(uri, []byte("/contacts%3Abatch")) || bytes.HasSuffix(uri, []byte("/contacts%3abatch"))
}
