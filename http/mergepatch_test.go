package http

import (
	"encoding/json"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"dialler/http/form"
)

// applyPatch is the procedure of RFC 7396, section 2.
func applyPatch(target, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	t, ok := target.(map[string]any)
	if !ok {
		t = map[string]any{}
	}
	for name, value := range p {
		if value == nil {
			delete(t, name)
			continue
		}
		t[name] = applyPatch(t[name], value)
	}
	return t
}

// withoutNulls leaves out null members, because a merge patch cannot create them.
func withoutNulls(v any) any {
	if m, ok := v.(map[string]any); ok {
		for name, value := range m {
			if value == nil {
				delete(m, name)
				continue
			}
			withoutNulls(value)
		}
	}
	return v
}

func parsed(t interface{ Fatal(...any) }, raw []byte) (v any) {
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestAMergePatchMakesOneObjectIntoTheOther(t *testing.T) {
	value := rapid.Deferred(func() *rapid.Generator[any] { return anyJSON(3) })
	object := rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c", "<"}), value, 0, 4)
	rapid.Check(t, func(t *rapid.T) {
		before, _ := json.Marshal(object.Draw(t, "before"))
		after, _ := json.Marshal(object.Draw(t, "after"))
		patch, err := form.MergePatch(before, after)
		if err != nil {
			t.Fatal(err)
		}
		got := withoutNulls(applyPatch(withoutNulls(parsed(t, before)), parsed(t, patch)))
		if want := withoutNulls(parsed(t, after)); !reflect.DeepEqual(got, want) {
			t.Fatalf("%s with %s becomes %v, want %v", before, patch, got, want)
		}
		if same, _ := form.MergePatch(after, after); string(same) != "{}" {
			t.Fatalf("no change is %s", same)
		}
	})
}

func anyJSON(depth int) *rapid.Generator[any] {
	kinds := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.IntRange(0,
			3).AsAny(), rapid.SampledFrom([]string{"", "x"}).AsAny(),
		rapid.SliceOfN(rapid.IntRange(0, 1), 0, 2).AsAny(),
	}
	if depth > 0 {
		kinds = append(kinds, rapid.MapOfN(rapid.SampledFrom([]string{"a", "b"}),
			rapid.Deferred(func() *rapid.Generator[any] { return anyJSON(depth - 1) }), 0, 2).AsAny())
	}
	return rapid.OneOf(kinds...)
}

func TestMergePatches(t *testing.T) {
	f := func(before, after, want string) {
		t.Helper()
		if got, err := form.MergePatch([]byte(before), []byte(after)); err != nil || string(got) != want {
			t.Errorf("%s to %s: %s %v, want %s", before, after, got, err, want)
		}
	}
	f(`{"a":1,"b":2}`, `{"a":1,"b":3}`, `{"b":3}`)
	f(`{"a":1}`, `{}`, `{"a":null}`)
	f(`{"a":null}`, `{}`, `{}`)
	f(`{}`, `{"a":null}`, `{}`)
	f(`{"a":{"b":1,"c":2}}`, `{"a":{"b":1}}`, `{"a":{"c":null}}`)
	f(`{"a":null}`, `{"a":{"b":1}}`, `{"a":{"b":1}}`)
	f(`{"a":[1,2]}`, `{"a":[1]}`, `{"a":[1]}`)
	f(`{"a":9007199254740993}`, `{"a":9007199254740992}`, `{"a":9007199254740992}`)
	if _, err := form.MergePatch([]byte(`[]`), []byte(`{}`)); err == nil {
		t.Error("an array was taken for an object")
	}
}

// FuzzMergePatch checks that, for any two objects, a client that applies the patch to the old one
// has the new one.
func FuzzMergePatch(f *testing.F) {
	f.Add([]byte(`{"a":{"b":1},"c":null}`), []byte(`{"a":{"b":2,"d":[1]},"e":{}}`))
	f.Add([]byte(`{"a":{"b":1}}`), []byte(`{"a":1}`))
	f.Fuzz(func(t *testing.T, before, after []byte) {
		var old, now map[string]any
		if json.Unmarshal(before, &old) != nil || json.Unmarshal(after, &now) != nil || old == nil || now == nil {
			return
		}
		before, _ = json.Marshal(old) // normalise the formatting
		after, _ = json.Marshal(now)
		patch, err := form.MergePatch(before, after)
		if err != nil {
			t.Fatal(err)
		}
		got := withoutNulls(applyPatch(withoutNulls(parsed(t, before)), parsed(t, patch)))
		if want := withoutNulls(parsed(t, after)); !reflect.DeepEqual(got, want) {
			t.Fatalf("%s with %s becomes %v, want %v", before, patch, got, want)
		}
	})
}
