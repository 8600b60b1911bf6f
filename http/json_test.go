package http

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzParseJSON holds our reader against encoding/json: what it refuses we
// refuse; what we accept it accepts, and reads the same.
func FuzzParseJSON(f *testing.F) {
	for _, s := range []string{
		`{}`, `[]`, `null`, `true`, `"x"`, `-0.5e+3`, `{"a":{"b":[1,"\ud83d\ude00\n",null]}}`, `{"a":1,"a":2}`, "\"\xff\"", `"\u0000"`,
		`"\ud800"`, ` { "a" : [ ] } `, `{"a":1}x`, `01`, `1.`, `"\x"`, "\"\n\"", `[[[[]]]]`, `{"":0}`, `"é"`, `[1,2`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		var errs fieldErrors
		v, e := parseJSON(src, &errs)
		valid := json.Valid(src)
		if e == nil && !valid {
			t.Fatalf("accepted %q", src)
		}
		if e != nil {
			// We are stricter in depth, UTF-8 and half surrogates only.
			if valid && utf8.Valid(src) && !bytes.Contains(src, []byte(`\u`)) && nesting(src) <= maxJSONDepth {
				t.Fatalf("refused %q: %v", src, e)
			}
			return
		}
		if len(errs.list) > 0 {
			return // repeated keys and U+0000 are read otherwise
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

// render and render2 write a tree of ours and one of encoding/json alike.
func render(v jsonValue) string {
	return render2(plain(v))
}

func plain(v jsonValue) any {
	switch v.kind {
	case jsonNull:
		return nil
	case jsonBool:
		return v.raw[0] == 't'
	case jsonNumber:
		return json.Number(v.raw)
	case jsonString:
		return v.text
	case jsonArray:
		out := []any{}
		for _, i := range v.items {
			out = append(out, plain(i))
		}
		return out
	case jsonObject:
		out := map[string]any{}
		for _, m := range v.members {
			out[m.name] = plain(m.value)
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
	var errs fieldErrors
	v, e := parseJSON([]byte(b.String()), &errs)
	if e != nil || len(v.members) != 101 || len(errs.list) != 2 || errs.list[0].Field != "k" || errs.list[1].Code != "duplicate_field" {
		t.Errorf("%v %d %v", e, len(v.members), errs.list)
	}
}

func TestWhatIsReadOutlivesTheRequest(t *testing.T) {
	src := []byte(`{"a":"text","b":"\u0061b","c":[1,{"d":2}],"e":12.50}`)
	var errs fieldErrors
	v, _ := parseJSON(src, &errs)
	fm := form{v: &v, errs: &errs}
	got := map[string]string{}
	for _, k := range []string{"a", "b", "c", "e"} {
		got[k] = fm.find(k).asText()
	}
	for i := range src {
		src[i] = '#'
	}
	if got["a"] != "text" || got["b"] != "ab" || got["c"] != `[1,{"d":2}]` || got["e"] != "12.50" {
		t.Errorf("%v", got)
	}
}

func FuzzIdempotencyKey(f *testing.F) {
	for _, s := range []string{"a", `"a"`, `"a\"b"`, "", `"`, `""`, "\x00", strings.Repeat("x", 300), `"\`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		token, present, err := idempotencyKey([][]byte{raw})
		if !present || (err != nil) != (token == "") {
			t.Fatalf("%q: %q %v %v", raw, token, present, err)
		}
		if err != nil {
			return
		}
		if len(token) > 255 {
			t.Fatalf("%q is too long", token)
		}
		for _, c := range []byte(token) {
			if c < 0x20 || c > 0x7e {
				t.Fatalf("%q is not printable", token)
			}
		}
		// Quoted or bare, it is the same key.
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(token) + `"`
		if again, _, err := idempotencyKey([][]byte{[]byte(quoted)}); err != nil || again != token {
			t.Fatalf("%q, quoted %q: %q %v", token, quoted, again, err)
		}
	})
}

// FuzzTriggerBody holds every answer to the trigger against the contract, and
// every command to the rules.
func FuzzTriggerBody(f *testing.F) {
	b := newBench(f)
	for _, s := range []string{triggerBody(""), triggerBody(`,"metadata":{"a":[1,{}],"b":null}`), `{"campaign_id":1}`, `[]`, `{`, `{"campaign_id":"x","mobile":"+1"}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		b.t = t
		a := b.directly("POST", triggerPath, body, "X-API-Key", b.key)
		switch a.status {
		case 200:
			got := b.ports.triggers[len(b.ports.triggers)-1]
			if got.Campaign == "" || got.Number == "" || len(got.Variables) > maxVariables {
				t.Fatalf("%q became %+v", body, got)
			}
		case 422:
		default:
			t.Fatalf("%q: %d", body, a.status)
		}
		b.ports.triggers = nil
	})
}
