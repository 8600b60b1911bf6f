package campaign

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// Change is one setting that an edit changed. Field is its name on the wire;
// a member of the calling window is "window.<member>". From and To are JSON,
// null where there was, or is, nothing.
type Change struct {
	Field string          `json:"field"`
	From  json.RawMessage `json:"from"`
	To    json.RawMessage `json:"to"`
}

var null = json.RawMessage("null")

// Changes lists what differs between two settings, in alphabetical order. Of
// an address only what is no secret is kept: user, password and query are left
// out.
func Changes(before, after *Settings) []Change {
	var list []Change
	was, is := members(before), members(after)
	for field := range union(was, is) {
		from, to := was[field], is[field]
		if field == "window" {
			list = append(list, windowChanges(from, to)...)
			continue
		}
		if c, changed := change(field, from, to); changed {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b Change) int { return strings.Compare(a.Field, b.Field) })
	return list
}

func windowChanges(before, after json.RawMessage) (list []Change) {
	was, is := object(before), object(after)
	for member := range union(was, is) {
		if c, changed := change("window."+member, was[member], is[member]); changed {
			list = append(list, c)
		}
	}
	return list
}

func change(field string, from, to json.RawMessage) (Change, bool) {
	if len(from) == 0 {
		from = null
	}
	if len(to) == 0 {
		to = null
	}
	if bytes.Equal(from, to) {
		return Change{}, false
	}
	switch field {
	case "abandon_cap_ppm": // in per cent on the wire
		return Change{Field: "abandon_cap_pct", From: perCent(from), To: perCent(to)}, true
	case "false_positive_ppm": // a share on the wire
		return Change{Field: "false_positive_share", From: share(from), To: share(to)}, true
	case "amd_review_ppm": // a share on the wire
		return Change{Field: "amd_review_share", From: share(from), To: share(to)}, true
	case "config_url", "eligibility_url":
		return Change{Field: field, From: withoutSecrets(from), To: withoutSecrets(to)}, true
	}
	return Change{Field: field, From: from, To: to}, true
}

// members are the settings by their names in JSON. Settings always marshal: a
// nil list counts as an empty one.
func members(s *Settings) map[string]json.RawMessage {
	c := *s
	if c.RetryOnCustom == nil {
		c.RetryOnCustom = []string{}
	}
	if len(c.Numbers) == 0 {
		c.Numbers = nil
	}
	b, err := json.Marshal(c)
	if err != nil {
		return nil
	}
	return object(b)
}

func object(b []byte) map[string]json.RawMessage {
	m := map[string]json.RawMessage{}
	if len(b) > 0 && json.Unmarshal(b, &m) != nil {
		return nil
	}
	return m
}

func union(a, b map[string]json.RawMessage) map[string]struct{} {
	all := make(map[string]struct{}, len(a)+len(b))
	for k := range a {
		all[k] = struct{}{}
	}
	for k := range b {
		all[k] = struct{}{}
	}
	return all
}

func perCent(ppm json.RawMessage) json.RawMessage { return divided(ppm, 10_000) }
func share(ppm json.RawMessage) json.RawMessage   { return divided(ppm, 1_000_000) }

func divided(ppm json.RawMessage, by float64) json.RawMessage {
	var n float64
	if json.Unmarshal(ppm, &n) != nil {
		return ppm
	}
	b, err := json.Marshal(n / by)
	if err != nil {
		return ppm
	}
	return b
}

func withoutSecrets(address json.RawMessage) json.RawMessage {
	var s string
	if json.Unmarshal(address, &s) != nil || s == "" {
		return null
	}
	u, err := url.Parse(s)
	if err != nil {
		return null
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	b, err := json.Marshal(u.String())
	if err != nil {
		return null
	}
	return b
}
