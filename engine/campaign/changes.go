package campaign

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"dialler/engine/window"
)

// Change is one setting that an edit changed. Field is its name on the wire; a member of the
// calling window is "window.<member>". From and To are JSON, null where there was or is no value.
type Change struct {
	Field string          `json:"field"`
	From  json.RawMessage `json:"from"`
	To    json.RawMessage `json:"to"`
}

var null = json.RawMessage("null")

// Changes lists what differs between two settings, in alphabetical order. Addresses are kept
// without their secrets: user, password and query are left out.
func Changes(before, after *Settings) []Change {
	var list []Change
	was, is := before.WithDefaults(), after.WithDefaults() // settings newer than either are not a change
	for i := range Fields {
		f := &Fields[i]
		from, to := encoded(f.Value(&was)), encoded(f.Value(&is))
		if _, ok := f.At(after).(*window.Window); ok {
			list = append(list, windowChanges(from, to)...)
			continue
		}
		if c, changed := change(f.Name, from, to); changed {
			if f.Address {
				c.From, c.To = withoutSecrets(from), withoutSecrets(to)
			}
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
	return Change{Field: field, From: from, To: to}, true
}

// encoded is a value as JSON; every setting can be encoded.
func encoded(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		return null
	}
	return b
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

// Masked are the settings for whoever may not see secrets: of the addresses, user, password and query are
// replaced.
func (s *Settings) Masked() Settings {
	m := *s
	for i := range Fields {
		if at, ok := Fields[i].At(&m).(*string); ok && Fields[i].Address {
			*at = masked(*at)
		}
	}
	return m
}

func masked(address string) string {
	u, err := url.Parse(address)
	if address == "" || err != nil || u.Host == "" {
		return ""
	}
	const hidden = "***"
	text := u.Scheme + "://"
	if u.User != nil {
		text += hidden + "@"
	}
	text += u.Host + u.EscapedPath()
	if u.RawQuery != "" || u.Fragment != "" {
		text += "?" + hidden
	}
	return text
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
