package form

import (
	"bytes"
	"encoding/json"
	"slices"
)

var (
	NullText  = []byte("null")
	EmptyText = []byte("{}")
)

// MergePatch returns the merge patch (RFC 7396) that turns the object before into after; "{}" if
// nothing changed. Both are as json.Marshal writes them, so that equal values have equal bytes. A
// patch cannot set a member to null: a null member counts as absent.
func MergePatch(before, after []byte) ([]byte, error) {
	var old, now map[string]json.RawMessage
	if err := json.Unmarshal(before, &old); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(after, &now); err != nil {
		return nil, err
	}
	patch := make(map[string]json.RawMessage)
	for name, is := range now {
		was := old[name]
		there, wasThere := !bytes.Equal(is, NullText), len(was) > 0 && !bytes.Equal(was, NullText)
		switch {
		case !there && wasThere:
			patch[name] = NullText
		case !there || bytes.Equal(was, is):
		case wasThere && was[0] == '{' && is[0] == '{':
			inner, err := MergePatch(was, is)
			if err != nil {
				return nil, err
			}
			if !bytes.Equal(inner, EmptyText) {
				patch[name] = inner
			}
		default:
			patch[name] = is
		}
	}
	for name, was := range old {
		if _, there := now[name]; !there && !bytes.Equal(was, NullText) {
			patch[name] = NullText
		}
	}
	return json.Marshal(patch)
}

// MergeValues is the algorithm MergePatch of RFC 7396.
func MergeValues(target, patch Value) Value {
	if patch.Kind != Object {
		return patch
	}
	out := Value{Kind: Object}
	if target.Kind == Object {
		out.Members = slices.Clone(target.Members)
	}
	for i := range patch.Members {
		m := &patch.Members[i]
		at := slices.IndexFunc(out.Members, func(have Member) bool { return have.Name == m.Name })
		switch {
		case m.Value.Kind == Null && at >= 0:
			out.Members = slices.Delete(out.Members, at, at+1)
		case m.Value.Kind == Null:
			// Removing an absent member is ignored; a misspelt one is an error.
			out.Members = append(out.Members, *m)
		case at >= 0:
			out.Members[at].Value = MergeValues(out.Members[at].Value, m.Value)
		default:
			out.Members = append(out.Members, Member{Name: m.Name, Value: MergeValues(Value{}, m.Value)})
		}
	}
	return out
}
