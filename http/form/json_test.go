package form

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzParseJSON compares our reader with encoding/json: what that refuses we refuse; what we accept
// that accepts too, and reads the same.
func FuzzParseJSON(f *testing.F) {
	for _, s := range []string{
		`{}`, `[]`, `null`, `true`, `"x"`, `-0.5e+3`, `{"a":{"b":[1,"\ud83d\ude00\n",null]}}`, `{"a":1,"a":2}`, "\"\xff\"",
		`"\u0000"`,
		`"\ud800"`, ` { "a" : [ ] } `, `{"a":1}x`, `01`, `1.`, `"\x"`, "\"\n\"", `[[[[]]]]`, `{"":0}`, `"é"`, `[1,2`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		var errs Errors
		v, e := Parse(src, &errs)
		valid := json.Valid(src)
		if e == nil && !valid {
			t.Fatalf("accepted %q", src)
		}
		if e != nil {
			// We are stricter only about depth, UTF-8 and lone surrogates.
			if valid && utf8.Valid(src) && !bytes.Contains(src, []byte(`\u`)) && nesting(src) <= maxJSONDepth {
				t.Fatalf("refused %q: %v", src, e)
			}
			return
		}
		if len(errs.List) > 0 {
			return // repeated keys and U+0000 are read differently
		}
		var want any
		dec := json.NewDecoder(bytes.NewReader(src))
		dec.UseNumber()
		if err := dec.Decode(&want); err != nil {
			t.Fatal(err)
		}
		if got, w := render(v), render2(want); got != w {
			t.Fatalf("%q: read %s, want %s", src, got, w)
		}
		if compact := compactJSON(v.raw); !json.Valid([]byte(compact)) {
			t.Fatalf("%q became %q", src, compact)
		}
	})
}

func nesting(src []byte) (deepest int) {
	dec := json.NewDecoder(bytes.NewReader(src))
	for depth := 0; ; {
		tok, err := dec.Token()
		if err == io.EOF || err != nil {
			return deepest
		}
		switch tok {
		case json.Delim('{'), json.Delim('['):
			depth++
			deepest = max(deepest, depth)
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
	}
}

// render and render2 print our tree and encoding/json's in the same format.
func render(v Value) string {
	return render2(plain(v))
}

func plain(v Value) any {
	switch v.Kind {
	case Null:
		return nil
	case Bool:
		return v.raw[0] == 't'
	case Number:
		return json.Number(v.raw)
	case String:
		return v.Text
	case Array:
		out := []any{}
		for _, i := range v.Items {
			out = append(out, plain(i))
		}
		return out
	case Object:
		out := map[string]any{}
		for _, m := range v.Members {
			out[m.Name] = plain(m.Value)
		}
		return out
	}
	return nil
}

func render2(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func TestJSONOfManyMembers(t *testing.T) {
	var b strings.Builder
	b.WriteByte('{')
	for i := range 100 {
		b.WriteString(`"k` + strings.Repeat("x", i) + `":` + strings.Repeat("1", i%9+1) + `,`)
	}
	b.WriteString(`"k":2,"kxx":3,"last":4}`)
	var errs Errors
	v, e := Parse([]byte(b.String()), &errs)
	if e != nil || len(v.Members) != 101 || len(errs.List) != 2 || errs.List[0].Field != "k" ||
		errs.List[1].Code != "duplicate_field" {
		t.Errorf("%v %d %v", e, len(v.Members), errs.List)
	}
}

func TestWhatIsReadOutlivesTheRequest(t *testing.T) {
	src := []byte(`{"a":"text","b":"\u0061b","c":[1,{"d":2}],"e":12.50}`)
	var errs Errors
	v, _ := Parse(src, &errs)
	fm := Form{Value: &v, Errs: &errs}
	got := map[string]string{}
	for _, k := range []string{"a", "b", "c", "e"} {
		got[k] = fm.Find(k).AsText()
	}
	for i := range src {
		src[i] = '#'
	}
	if got["a"] != "text" || got["b"] != "ab" || got["c"] != `[1,{"d":2}]` || got["e"] != "12.50" {
		t.Errorf("%v", got)
	}
}
