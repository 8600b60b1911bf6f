package exclusions

import (
	nethttp "net/http"
	"strconv"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/http/form"
	"dialler/http/wire"
)

// Exclude suppresses contacts of a campaign (spec: Exclude; SEMANTICS §3, §11).
func (s *API) Exclude(r *wire.Request) error {
	return s.replays.Once(r, "exclude", nethttp.StatusOK, func(id engine.Idempotency) (any, error) {
		f, err := r.Body()
		if err != nil {
			return nil, err
		}
		cmd := campaign.Exclude{
			Campaign:    engine.CampaignID(f.Text("campaign_id", form.Required, 64)),
			Reason:      f.Text("reason", form.Optional, exclusionReasonCap),
			Who:         r.Who(),
			Idempotency: id,
			Deadline:    r.Deadline(),
		}
		cmd.Number, cmd.Match = exclusionSelector(f)
		f.Done()
		if cmd.Campaign != "" && !r.MayUse(cmd.Campaign) {
			return nil, wire.ErrCampaignForbidden
		}
		if err := f.Errs.Err(); err != nil {
			return nil, err
		}
		return s.Campaigns.Exclude(r.Ctx(), cmd)
	})
}

// exclusionReasonCap bounds the note that is recorded with an exclusion, in bytes.
const exclusionReasonCap = 500

// exclusionSelector reads the subject of an exclusion: exactly one of mobile and match.
func exclusionSelector(f form.Form) (engine.PhoneNumber, map[string]string) {
	switch byNumber, byKey := f.Has("mobile"), f.Has("match"); {
	case byNumber && byKey:
		const why = "must not be sent together with the other selector; send exactly one of mobile and match"
		f.Fail("mobile", "mutually_exclusive", why)
		f.Fail("match", "mutually_exclusive", why)
	case !byNumber && !byKey:
		const why = "is required when the other is absent; send exactly one of mobile and match"
		f.Fail("mobile", "required", why)
		f.Fail("match", "required", why)
	}
	return f.Phone("mobile"), variableMatch(f, "match")
}

// maxMatchKeys: spec, "Keys combined in exclude match: up to 2".
const maxMatchKeys = 2

// variableMatch reads the metadata selector: an object of one or two keys, or a list
// of one or two {"key","value"}. Values are compared as the trigger stored
// them, so scalars are stringified here too.
func variableMatch(f form.Form, field string) map[string]string {
	v := f.Find(field)
	if v == nil {
		return nil
	}
	out := make(map[string]string, maxMatchKeys)
	add := func(at, key string, val *form.Value) {
		switch {
		case key == "" || len(key) > contact.VariableNameCap:
			f.Fail(
				at,
				"invalid_format",
				"must name a metadata key of 1 to "+strconv.Itoa(contact.VariableNameCap)+" bytes",
			)
		case val.Kind == form.Null || val.Kind == form.Array || val.Kind == form.Object:
			f.Fail(at, "wrong_type", "must be compared with a string, a number or a boolean, not "+val.Kind.String())
		default:
			out[key] = val.AsText()
		}
	}
	count := 0
	switch v.Kind {
	case form.Object:
		count = len(v.Members)
		for i := range min(count, maxMatchKeys) {
			m := &v.Members[i]
			add(field+"."+form.ClipName(m.Name), m.Name, &m.Value)
		}
	case form.Array:
		count = len(v.Items)
		for i := range min(count, maxMatchKeys) {
			item := &v.Items[i]
			at := field + "[" + strconv.Itoa(i) + "]"
			if item.Kind != form.Object {
				f.WrongType(at, form.Object, item.Kind)
				continue
			}
			pair := form.Form{Value: item, Path: f.Name(at), Errs: f.Errs}
			key := pair.Text("key", form.Required, contact.VariableNameCap)
			val := pair.Find("value")
			pair.Done()
			if val == nil {
				pair.Fail("value", "required", "is required")
				continue
			}
			if _, twice := out[key]; twice {
				pair.Fail("key", "duplicate_field", "is given more than once")
			}
			if key != "" {
				add(at+".value", key, val)
			}
		}
	default:
		f.Fail(field, "wrong_type", "must be an object or an array of key and value, not "+v.Kind.String())
		return nil
	}
	if count < 1 || count > maxMatchKeys {
		f.Fail(field, "out_of_range", "must have one or two keys; with two, both must match")
	}
	return out
}
