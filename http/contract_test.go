package http

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"flag"
	"io"
	nethttp "net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"dialler/http/wire"
)

var update = flag.Bool("update", false, "write what is generated anew")

// contract is openapi.yaml, made stricter: a field that the file does not name is an error, so that
// no response has undocumented fields.
var contract = sync.OnceValues(func() (*openapi3.T, error) {
	openapi3filter.RegisterBodyDecoder("text/html", openapi3filter.PlainBodyDecoder)
	openapi3filter.RegisterBodyDecoder(wire.ContentWAV, openapi3filter.PlainBodyDecoder)
	openapi3filter.RegisterBodyDecoder("text/event-stream", openapi3filter.PlainBodyDecoder)
	commas := openapi3filter.RegisteredBodyDecoder(wire.ContentCSV)
	openapi3filter.RegisterBodyDecoder(wire.ContentCSV, func(body io.Reader, h nethttp.Header, s *openapi3.SchemaRef,
		enc openapi3filter.EncodingFn) (any, error) {
		text, err := io.ReadAll(body)
		if err != nil || !bytes.HasPrefix(text, []byte("\uFEFFrejected_line;")) {
			return commas(bytes.NewReader(text), h, s, enc)
		}
		rows := csv.NewReader(bytes.NewReader(text)) // it has the delimiter of another file
		rows.Comma = ';'
		_, err = rows.ReadAll()
		return string(text), err
	})
	doc, err := openapi3.NewLoader().LoadFromData(openapiYAML)
	if err != nil {
		return nil, err
	}
	seen := map[*openapi3.Schema]bool{}
	var strict func(ref *openapi3.SchemaRef)
	strict = func(ref *openapi3.SchemaRef) {
		if ref == nil || ref.Value == nil || seen[ref.Value] {
			return
		}
		s := ref.Value
		seen[s] = true
		if len(s.Properties) > 0 && s.AdditionalProperties.Has == nil && s.AdditionalProperties.Schema == nil {
			no := false
			s.AdditionalProperties.Has = &no
		}
		for _, p := range s.Properties {
			strict(p)
		}
		strict(s.Items)
		for _, list := range []openapi3.SchemaRefs{s.AnyOf, s.AllOf, s.OneOf} {
			for _, p := range list {
				strict(p)
			}
		}
	}
	for _, s := range doc.Components.Schemas {
		strict(s)
	}
	for _, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			for _, r := range op.Responses.Map() {
				for _, media := range r.Value.Content {
					strict(media.Schema)
				}
			}
		}
	}
	return doc, nil
})

// checkContract checks one response against the file.
func checkContract(t testing.TB, s *Server, req *nethttp.Request, body string, a answer) {
	t.Helper()
	doc, err := contract()
	if err != nil {
		t.Fatal(err)
	}
	if a.header.Get("X-Request-Id") == "" && !strings.HasPrefix(a.header.Get("Content-Type"), "text/plain") {
		t.Errorf("%s %s: no X-Request-ID", req.Method, req.URL.Path)
	}
	path := template(s, req.Method, req.URL.Path)
	if path == "" {
		var v any
		if err := json.Unmarshal(a.body, &v); err != nil {
			t.Fatalf("%s %s: %v", req.Method, req.URL.Path, err)
		}
		shape := "Problem"
		if strings.HasPrefix(req.URL.Path, wire.TwilioPrefix) {
			shape = "BotError"
		}
		if err := doc.Components.Schemas[shape].Value.VisitJSON(v, openapi3.EnableJSONSchema2020()); err != nil {
			t.Errorf("%s %s: %v", req.Method, req.URL.Path, err)
		}
		return
	}
	item := doc.Paths.Value(path)
	if item == nil {
		t.Fatalf("%s is not in openapi.yaml", path)
	}
	op := item.GetOperation(req.Method)
	if op == nil {
		t.Fatalf("%s %s is not in openapi.yaml", req.Method, path)
	}
	in := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{
			Request: req,
			Route:   &routers.Route{Spec: doc, Path: path, PathItem: item, Method: req.Method, Operation: op},
		},
		Status: a.status, Header: a.header, Body: io.NopCloser(bytes.NewReader(a.body)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true},
	}
	if err := openapi3filter.ValidateResponse(context.Background(), in); err != nil {
		t.Errorf("%s %s answered %d against the contract: %v\n%s", req.Method, path, a.status, err, a.body)
	}
	// An accepted request must be valid according to the file.
	if a.status < 300 && body != "" && op.RequestBody != nil {
		media := op.RequestBody.Value.Content["application/json"]
		if media == nil {
			return
		}
		var v any
		if err := json.Unmarshal([]byte(body), &v); err != nil {
			t.Errorf("accepted a body that is not JSON: %v", err)
		} else if err := media.Schema.Value.VisitJSON(v, openapi3.EnableJSONSchema2020(),
			openapi3.VisitAsRequest()); err != nil {
			t.Errorf("%s %s accepted a body against the contract: %v", req.Method, path, err)
		}
	}
}

// template finds the route of a path, static segments before parameters.
func template(s *Server, method, path string) string {
	best := ""
	for _, rt := range s.routes {
		want, got := strings.Split(rt.path, "/"), strings.Split(path, "/")
		if rt.method != method || len(want) != len(got) {
			continue
		}
		fits := true
		for i := range want {
			suffix := ""
			if j := strings.IndexByte(want[i], '}'); j >= 0 {
				suffix = want[i][j+1:]
			} else if want[i] != got[i] {
				fits = false
			}
			fits = fits && strings.HasSuffix(got[i], suffix)
		}
		if fits && (best == "" || strings.Count(rt.path, "{") < strings.Count(best, "{")) {
			best = rt.path
		}
	}
	return best
}

func TestOpenAPIFileIsValid(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromData(openapiYAML)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func TestEveryRouteIsInTheOpenAPIFileAndTheReverse(t *testing.T) {
	b := newBench(t)
	doc, err := contract()
	if err != nil {
		t.Fatal(err)
	}
	var have, want []string
	for _, rt := range b.server.routes {
		have = append(have, rt.method+" "+rt.path)
	}
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			want = append(want, method+" "+path)
		}
	}
	slices.Sort(have)
	slices.Sort(want)
	if !slices.Equal(have, want) {
		t.Fatalf("routes:\n%s\nfile:\n%s", strings.Join(have, "\n"), strings.Join(want, "\n"))
	}
}

func TestEveryEndpointIsBelowAPIV1(t *testing.T) {
	// Process monitoring, the documentation, and the route of Twilio's own libraries are not in the
	// file.
	outside := []string{"/healthz", "/readyz", "/metrics", "/api/openapi.yaml", "/api/openapi.json", "/api/docs",
		"/2010-04-01/Accounts/{account}/Calls/{call}.json"}
	for _, rt := range newBench(t).server.routes {
		if !strings.HasPrefix(rt.path, "/api/v1/") && !slices.Contains(outside, rt.path) {
			t.Errorf("%s %s", rt.method, rt.path)
		}
	}
}

// The access rules are in the table and in the file; both must agree.
func TestAccessInTheOpenAPIFileIsThatOfTheRoutes(t *testing.T) {
	b := newBench(t)
	doc, err := contract()
	if err != nil {
		t.Fatal(err)
	}
	for _, rt := range b.server.routes {
		op := doc.Paths.Value(rt.path).GetOperation(rt.method)
		var schemes []string
		if op.Security != nil {
			for _, s := range *op.Security {
				for name := range s {
					schemes = append(schemes, name)
				}
				// Writing routes accept a cookie only with its CSRF token.
				if _, cookie := s["session"]; cookie && (len(s) == 2) != (rt.method != "GET") {
					t.Errorf("%s %s: the CSRF token", rt.method, rt.path)
				}
			}
		}
		if op.Security != nil {
			for _, s := range *op.Security {
				if scopes, ok := s["apiKey"]; ok && !slices.Equal(scopes, []string{rt.access.Scope}) {
					t.Errorf("%s %s: scopes %v, not %s", rt.method, rt.path, scopes, rt.access.Scope)
				}
			}
		}
		if rt.access.Open {
			if slices.Contains(schemes, "bearer") {
				t.Errorf("%s %s: open in the table, not in the file", rt.method, rt.path)
			}
			continue
		}
		if slices.Contains(schemes, "apiKey") != (rt.access.Scope != "") {
			t.Errorf("%s %s: API keys", rt.method, rt.path)
		}
		if slices.Contains(schemes, "bearer") != (rt.access.Role != wire.RoleNone && !rt.access.Session) {
			t.Errorf("%s %s: log-in tokens", rt.method, rt.path)
		}
		if slices.Contains(schemes, "session") != (rt.access.Role != wire.RoleNone) {
			t.Errorf("%s %s: sessions", rt.method, rt.path)
		}
	}
}

func TestOpenAPIJSONIsInStepWithTheYAML(t *testing.T) {
	yaml := openapiYAML
	if *update { // another test writes it
		yaml = []byte(document(t))
	}
	doc, err := openapi3.NewLoader().LoadFromData(yaml)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := doc.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	if err := json.Indent(&want, raw, "", " "); err != nil {
		t.Fatal(err)
	}
	want.WriteByte('\n')
	if *update {
		if err := os.WriteFile("openapi.json", want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(openapiJSON, want.Bytes()) {
		t.Fatal("openapi.json is behind openapi.yaml: run go test ./http -run OpenAPIJSON -update")
	}
}

func TestDocumentationIsServedWithoutForeignHosts(t *testing.T) {
	b := newBench(t)
	page := b.do("GET", "/api/docs", "").is(200, "")
	for _, bad := range []string{"http://", "https://", "//cdn"} {
		if strings.Contains(string(page.body), bad) {
			t.Errorf("the page names a foreign host: %s", bad)
		}
	}
	if got := b.do("GET", "/api/openapi.yaml", "").is(200, "").body; !bytes.Equal(got, openapiYAML) {
		t.Error("another file is served")
	}
	b.do("GET", "/api/openapi.json", "").is(200, "")
}
