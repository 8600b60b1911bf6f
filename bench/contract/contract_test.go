package contract

import (
	"encoding/json"
	nethttp "net/http"
	"os"
	"reflect"
	"strings"
	"testing"
)

const small = `{"openapi":"3.1.0","info":{"title":"t","version":"1"},"paths":{"/things/{thing_id}":{
"parameters":[{"name":"thing_id","in":"path","required":true,"schema":{"type":"string"}}],
"put":{"requestBody":{"required":true,"content":{"application/json":{"schema":{
"type":"object","required":["size"],"properties":{
"size":{"type":"integer","minimum":1,"maximum":9},"host":{"type":"string"},
"mobile":{"type":"string","pattern":"^\\+[1-9][0-9]{6,14}$"}}}}}},
"responses":{"200":{"description":"ok","content":{"application/json":{"schema":{
"type":"object","required":["id"],"properties":{"id":{"type":"string"}}}}}}}}}}}`

func read(t *testing.T, raw string) *File {
	t.Helper()
	f, err := Read([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestTheSameSeedMakesTheSameRequests(t *testing.T) {
	f := read(t, small)
	one, two := NewMaker(f, 7, []string{"+4930123456"}, nil), NewMaker(f, 7, []string{"+4930123456"}, nil)
	for range 200 {
		if a, b := one.Make(f.ops[0]), two.Make(f.ops[0]); !reflect.DeepEqual(a, b) { //nolint:govet // they hold no errors
			t.Fatalf("%+v and %+v", a, b)
		}
	}
}

func TestAnAnswerIsHeldAgainstTheFile(t *testing.T) {
	f := read(t, small)
	inJSON := nethttp.Header{"Content-Type": {"application/json"}}
	ok := &Request{Of: f.ops[0], Target: "/things/1", Body: []byte(`{"size":3,"host":null}`)}
	for name, c := range map[string]struct {
		body, answer string
		status       int
		right        bool
	}{
		"as it is":             {string(ok.Body), `{"id":"1"}`, 200, true},
		"a status of its own":  {string(ok.Body), `{"id":"1"}`, 201, false},
		"a field of its own":   {string(ok.Body), `{"id":"1","x":1}`, 200, false},
		"a field is missing":   {string(ok.Body), `{}`, 200, false},
		"too large a size":     {`{"size":10}`, `{"id":"1"}`, 200, false},
		"a body without sizes": {`{}`, `{"id":"1"}`, 200, false},
	} {
		r := *ok
		r.Body = []byte(c.body)
		if err := f.Check(&r, c.status, inJSON, []byte(c.answer)); (err == nil) != c.right {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhatAnAnswerNamesIsAskedFor(t *testing.T) {
	f := read(t, small)
	m := NewMaker(f, 1, nil, nil)
	m.Learn(&Request{Of: f.ops[0]}, []byte(`{"id":"th_7"}`))
	asked := 0
	for range 100 {
		if strings.Contains(m.Make(f.ops[0]).Target, "/th_7") {
			asked++
		}
	}
	if asked < 50 {
		t.Errorf("%d of 100", asked)
	}
}

// No request may reach a real machine because a test made up its name.
func TestNoAddressIsInvented(t *testing.T) {
	raw, err := os.ReadFile("../../http/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	f := read(t, string(raw))
	m := NewMaker(f, 3, nil, nil)
	var walk func(where, name string, v any)
	walk = func(where, name string, v any) {
		switch v := v.(type) {
		case string:
			named := address.MatchString(name) && strings.Contains(v, ".") || strings.Contains(v, "://") ||
				strings.HasPrefix(v, "sip:")
			if named && !strings.Contains(v, "127.0.0.1") && v != "../../etc/passwd" {
				t.Errorf("%s: %s %q", where, name, v)
			}
		case []any:
			for _, e := range v {
				walk(where, name, e)
			}
		case map[string]any:
			for k, e := range v {
				walk(where, k, e)
			}
		}
	}
	for range 100 {
		for _, o := range f.ops {
			var v any
			if json.Unmarshal(m.Make(o).Body, &v) == nil {
				walk(o.Method+" "+o.Path, "", v)
			}
		}
	}
}
