package calls

import (
	"errors"
	nethttp "net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/number"
	"dialler/http/form"
	"dialler/http/wire"
)

// List returns calls, newest first; its cursor leads to older ones. A key bound to campaigns must
// name one of them.
func (s *API) List(r *wire.Request) error {
	q := attempt.Query{Limit: wire.DefaultPageSize}
	var errs form.Errors
	for k, v := range r.HTTP.QueryArgs().All() {
		if key := string(k); !callsParameter(&q, key, string(v), &errs) {
			errs.UnknownParameter(key)
		}
	}
	if !q.From.IsZero() && !q.Until.IsZero() && !q.From.Before(q.Until) {
		errs.Add("to", "out_of_range", "must be later than from")
	}
	if !r.MayUse(q.Campaign) {
		return wire.ErrCampaignForbidden
	}
	if err := errs.Err(); err != nil {
		return err
	}
	list, next, err := s.Calls.Calls(r.Ctx(), q)
	if err != nil {
		return err
	}
	out := struct {
		Calls []CallView        `json:"calls"`
		Next  *engine.AttemptID `json:"next_cursor"`
	}{Calls: make([]CallView, len(list))}
	if next != "" {
		out.Next = &next
	}
	for i := range list {
		out.Calls[i] = ViewCall(&list[i], s.Now())
	}
	return r.Reply(nethttp.StatusOK, out)
}

// callsParameter parses one parameter of the list; known is false if there is no such parameter.
func callsParameter(q *attempt.Query, key, val string, errs *form.Errors) (known bool) {
	oneOf := func(list []string) {
		if !slices.Contains(list, val) {
			errs.Add(key, "unknown_value", "must be one of "+strings.Join(list, ", "))
		}
	}
	name := func() string {
		if !form.ValidIdentifier(val) {
			errs.Add(key, "invalid_format", "must be an identifier")
		}
		return val
	}
	switch key {
	case "campaign_id":
		q.Campaign = engine.CampaignID(name())
	case "contact_id":
		q.Contact = engine.ContactID(name())
	case "trunk":
		q.Trunk = engine.TrunkID(name())
	case "number":
		n, err := number.Parse(val)
		var e *engine.Error
		if errors.As(err, &e) {
			errs.Add(key, e.Code, e.Detail)
		}
		q.To = n
	case "direction":
		q.Direction = attempt.Direction(val)
		oneOf(wire.Names(attempt.Directions))
	case "state":
		q.State = attempt.State(val)
		oneOf(wire.Names(attempt.ShownStates))
	case "outcome":
		q.Outcome = engine.Outcome(val)
		oneOf(wire.Names(engine.Outcomes))
	case "from", "to":
		at, err := time.Parse(time.RFC3339, val)
		if err != nil {
			errs.Add(key, "invalid_format", "must be a time with an offset, as in 2030-03-02T09:00:00+01:00 (RFC 3339)")
		}
		if key == "from" {
			q.From = at
		} else {
			q.Until = at
		}
	case "cursor":
		if q.Before = engine.AttemptID(val); !form.IsHex(val, 32) {
			errs.Add(key, "invalid_format", "must be the next_cursor of an answer")
		}
	case "page_size":
		n, err := strconv.Atoi(val)
		if err != nil || n < 1 || n > wire.MaxPageSize {
			errs.Add(key, "out_of_range", "must be a whole number from 1 to "+strconv.Itoa(wire.MaxPageSize))
		}
		q.Limit = n
	default:
		return false
	}
	return true
}
