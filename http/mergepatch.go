package http

import (
	"bytes"
	"encoding/json"
)

var (
	jsonNullText  = []byte("null")
	jsonEmptyText = []byte("{}")
)

// mergePatch gives the merge patch (RFC 7396) that makes the object before into
// after; "{}" when nothing changed. Both are as json.Marshal writes them, so
// that equal values have equal bytes. A patch cannot set a member to null: a
// member that is null counts as absent.
func mergePatch(before, after []byte) ([]byte, error) {
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
		there, wasThere := !bytes.Equal(is, jsonNullText), len(was) > 0 && !bytes.Equal(was, jsonNullText)
		switch {
		case !there && wasThere:
			patch[name] = jsonNullText
		case !there || bytes.Equal(was, is):
		case wasThere && was[0] == '{' && is[0] == '{':
			inner, err := mergePatch(was, is)
			if err != nil {
				return nil, err
			}
			if !bytes.Equal(inner, jsonEmptyText) {
				patch[name] = inner
			}
		default:
			patch[name] = is
		}
	}
	for name, was := range old {
		if _, there := now[name]; !there && !bytes.Equal(was, jsonNullText) {
			patch[name] = jsonNullText
		}
	}
	return json.Marshal(patch)
}
