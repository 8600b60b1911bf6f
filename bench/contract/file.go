package contract

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	nethttp "net/http"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

// Operation is one method of one path.
type Operation struct {
	Method, Path string
	item         *openapi3.PathItem
	op           *openapi3.Operation
}

// File is an OpenAPI file.
type File struct {
	doc *openapi3.T
	ops []Operation // by path, then method
}

// Read reads a file in JSON or YAML. Objects are closed: a field that the file does not name is not
// allowed.
func Read(raw []byte) (*File, error) {
	doc, err := openapi3.NewLoader().LoadFromData(raw)
	if err != nil {
		return nil, fmt.Errorf("contract: %w", err)
	}
	for _, kind := range []string{"text/html", "text/event-stream", "audio/wav", "application/jsonl"} {
		if openapi3filter.RegisteredBodyDecoder(kind) == nil {
			openapi3filter.RegisterBodyDecoder(kind, openapi3filter.PlainBodyDecoder)
		}
	}
	f := &File{doc: doc}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			f.ops = append(f.ops, Operation{Method: method, Path: path, item: item, op: op})
		}
	}
	slices.SortFunc(f.ops, func(a, b Operation) int {
		return strings.Compare(a.Path+" "+a.Method, b.Path+" "+b.Method)
	})
	f.close()
	return f, nil
}

// close forbids response fields that the file does not name.
func (f *File) close() {
	seen, no := map[*openapi3.Schema]bool{}, false
	var strict func(ref *openapi3.SchemaRef)
	strict = func(ref *openapi3.SchemaRef) {
		if ref == nil || ref.Value == nil || seen[ref.Value] {
			return
		}
		s := ref.Value
		seen[s] = true
		if len(s.Properties) > 0 && s.AdditionalProperties.Has == nil && s.AdditionalProperties.Schema == nil {
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
	for _, o := range f.ops {
		for _, r := range o.op.Responses.Map() {
			for _, media := range r.Value.Content {
				strict(media.Schema)
			}
		}
	}
}

// Operations returns all operations of the file, by path and method.
func (f *File) Operations() []Operation { return f.ops }

// Takes says whether the operation accepts a security scheme.
func (o Operation) Takes(scheme string) bool {
	if o.op.Security == nil {
		return false
	}
	for _, s := range *o.op.Security {
		if _, ok := s[scheme]; ok {
			return true
		}
	}
	return false
}

// Endless says that the response is an endless stream of events.
func (o Operation) Endless() bool {
	ok := o.op.Responses.Status(200)
	return ok != nil && ok.Value.Content["text/event-stream"] != nil
}

// withoutNulls removes nulls: in a request they count as not sent.
func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, field := range v {
			if field == nil {
				delete(v, k)
			} else {
				v[k] = withoutNulls(field)
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutNulls(v[i])
		}
	}
	return v
}

// Check checks a response against the file: its status must be one that the operation names, its
// fields those of the schema. A body that was accepted must be valid according to the file.
func (f *File) Check(r *Request, status int, header nethttp.Header, answer []byte) error {
	req, err := nethttp.NewRequestWithContext(context.Background(), r.Of.Method, "http://host"+r.Target, nil)
	if err != nil {
		return fmt.Errorf("contract: %w", err)
	}
	in := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{
			Request: req,
			Route:   &routers.Route{Spec: f.doc, Path: r.Of.Path, PathItem: r.Of.item, Method: r.Of.Method, Operation: r.Of.op},
		},
		Status: status, Header: header, Body: io.NopCloser(bytes.NewReader(answer)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true, ExcludeResponseBody: r.Of.Endless()},
	}
	if err := openapi3filter.ValidateResponse(context.Background(), in); err != nil {
		return fmt.Errorf("contract: the answer: %w", err)
	}
	if status >= 300 || r.Of.op.RequestBody == nil || len(r.Body) == 0 {
		return nil
	}
	media := r.Of.op.RequestBody.Value.Content["application/json"]
	if media == nil || media.Schema == nil {
		return nil
	}
	var v any
	if err := json.Unmarshal(r.Body, &v); err != nil {
		return fmt.Errorf("contract: accepted a body that is not JSON: %w", err)
	}
	allowed := func(v any) error {
		return media.Schema.Value.VisitJSON(v, openapi3.EnableJSONSchema2020(), openapi3.VisitAsRequest())
	}
	if err := allowed(v); err != nil && allowed(withoutNulls(v)) != nil {
		return fmt.Errorf("contract: accepted a body that the file does not allow: %w", err)
	}
	return nil
}
