package http

import (
	nethttp "net/http"
	"strconv"

	"dialler/engine"
	"dialler/engine/campaign"
)

// exclude suppresses contacts of a campaign (spec: Exclude; SEMANTICS §3, §11).
func (s *Server) exclude(r *request) error {
	return s.once(r, "exclude", nethttp.StatusOK, func(id engine.Idempotency) (any, error) {
		f, err := r.body()
		if err != nil {
			return nil, err
		}
		cmd := campaign.Exclude{
			Campaign:    engine.CampaignID(f.text("campaign_id", required, 64)),
			Reason:      f.text("reason", optional, exclusionReasonCap),
			Who:         r.who(),
			Idempotency: id,
			Deadline:    r.deadline(),
		}
		cmd.Number, cmd.Match = f.selector()
		f.done()
		if cmd.Campaign != "" && !r.mayUse(cmd.Campaign) {
			return nil, errCampaignForbidden
		}
		if err := f.errs.err(); err != nil {
			return nil, err
		}
		return s.Campaigns.Exclude(r.ctx(), cmd)
	})
}

// exclusionReasonCap bounds the note that is recorded with an exclusion, in bytes.
const exclusionReasonCap = 500

// selector reads whom an exclusion is about: exactly one of mobile and match.
func (f form) selector() (engine.PhoneNumber, map[string]string) {
	switch byNumber, byKey := f.has("mobile"), f.has("match"); {
	case byNumber && byKey:
		const why = "must not be sent together with the other selector; send exactly one of mobile and match"
		f.fail("mobile", "mutually_exclusive", why)
		f.fail("match", "mutually_exclusive", why)
	case !byNumber && !byKey:
		const why = "is required when the other is absent; send exactly one of mobile and match"
		f.fail("mobile", "required", why)
		f.fail("match", "required", why)
	}
	return f.phone("mobile"), f.match("match")
}

// maxMatchKeys: spec, "Keys combined in exclude match: up to 2".
const maxMatchKeys = 2

// match reads the metadata selector: an object of one or two keys, or a list
// of one or two {"key","value"}. Values are compared as the trigger stored
// them, so scalars are stringified here too.
func (f form) match(field string) map[string]string {
	v := f.find(field)
	if v == nil {
		return nil
	}
	out := make(map[string]string, maxMatchKeys)
	add := func(at, key string, val *jsonValue) {
		switch {
		case key == "" || len(key) > maxVariableName:
			f.fail(at, "invalid_format", "must name a metadata key of 1 to "+strconv.Itoa(maxVariableName)+" bytes")
		case val.kind == jsonNull || val.kind == jsonArray || val.kind == jsonObject:
			f.fail(at, "wrong_type", "must be compared with a string, a number or a boolean, not "+val.kind.String())
		default:
			out[key] = val.asText()
		}
	}
	count := 0
	switch v.kind {
	case jsonObject:
		count = len(v.members)
		for i := range min(count, maxMatchKeys) {
			m := &v.members[i]
			add(field+"."+clipName(m.name), m.name, &m.value)
		}
	case jsonArray:
		count = len(v.items)
		for i := range min(count, maxMatchKeys) {
			item := &v.items[i]
			at := field + "[" + strconv.Itoa(i) + "]"
			if item.kind != jsonObject {
				f.wrongType(at, jsonObject, item.kind)
				continue
			}
			pair := form{v: item, path: f.name(at), errs: f.errs}
			key := pair.text("key", required, maxVariableName)
			val := pair.find("value")
			pair.done()
			if val == nil {
				pair.fail("value", "required", "is required")
				continue
			}
			if _, twice := out[key]; twice {
				pair.fail("key", "duplicate_field", "is given more than once")
			}
			if key != "" {
				add(at+".value", key, val)
			}
		}
	default:
		f.fail(field, "wrong_type", "must be an object or an array of key and value, not "+v.kind.String())
		return nil
	}
	if count < 1 || count > maxMatchKeys {
		f.fail(field, "out_of_range", "must have one or two keys; with two, both must match")
	}
	return out
}
