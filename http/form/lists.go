package form

import (
	"slices"
	"strconv"
	"strings"

	"dialler/engine"
)

// Items reads a non-empty list.
func (f Form) Items(field string, limit int) []Value {
	v := f.Find(field)
	switch {
	case v == nil:
		f.Fail(field, "required", "is required")
	case v.Kind != Array:
		f.WrongType(field, Array, v.Kind)
	case len(v.Items) == 0:
		f.Fail(field, "required", "must have at least one entry")
	case len(v.Items) > limit:
		f.Fail(field, "too_long", "must have at most "+strconv.Itoa(limit)+" entries; send the rest in another request")
	default:
		return v.Items
	}
	return nil
}

// SomeOf reads a list of distinct members of a closed set; nil if it was not sent.
func (f Form) SomeOf(field string, set []string) *[]string {
	list := f.Words(field, len(set))
	if list == nil {
		return nil
	}
	for i, word := range list {
		at := field + "[" + strconv.Itoa(i) + "]"
		if !slices.Contains(set, word) {
			f.Fail(at, "unknown_value", "must be one of "+strings.Join(set, ", "))
		} else if slices.Contains(list[:i], word) {
			f.Fail(at, "duplicate", "is given more than once")
		}
	}
	return &list
}

// CampaignList reads campaign IDs; nil if they were not sent.
func (f Form) CampaignList() *[]engine.CampaignID {
	list := f.Words("campaigns", 1000)
	if list == nil {
		return nil
	}
	out := make([]engine.CampaignID, len(list))
	for i, id := range list {
		if !ValidIdentifier(id) {
			f.Fail("campaigns["+strconv.Itoa(i)+"]", "invalid_format", "must be a campaign id")
		}
		out[i] = engine.CampaignID(id)
	}
	return &out
}
