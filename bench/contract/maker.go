package contract

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"regexp"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
)

// Request is one generated request.
type Request struct {
	Of     Operation
	Target string // path and query
	Header [][2]string
	Body   []byte
}

// Maker generates requests. They depend on its seed and on the responses it was given; Make and
// Learn may be called by several goroutines.
type Maker struct {
	file *File

	mu    sync.Mutex
	rnd   *rand.Rand
	known map[string][]string // by the name of a parameter or field
	// numbers are the numbers that may be dialled.
	numbers []string
	spared  map[string]bool
}

// knownMost bounds how many values are kept per name.
const knownMost = 50

// NewMaker generates requests from the file. numbers are used wherever a telephone number is
// required; known are existing identifiers, by the parameter's name.
func NewMaker(f *File, seed uint64, numbers []string, known map[string][]string) *Maker {
	m := &Maker{file: f, rnd: rand.New(rand.NewPCG(seed, 1)), known: map[string][]string{},
		numbers: numbers} //nolint:gosec // reproducible, no secret
	for k, v := range known {
		m.known[k] = append(m.known[k], v...)
	}
	return m
}

// Spare keeps an identifier from being learnt: its object is needed later.
func (m *Maker) Spare(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.spared == nil {
		m.spared = map[string]bool{}
	}
	m.spared[id] = true
}

// Make generates one request for an operation.
func (m *Maker) Make(o Operation) *Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := &Request{Of: o, Target: o.Path}
	query := url.Values{}
	var all openapi3.Parameters
	all = append(append(all, o.item.Parameters...), o.op.Parameters...)
	for _, ref := range all {
		p := ref.Value
		switch p.In {
		case "path":
			r.Target = strings.ReplaceAll(r.Target, "{"+p.Name+"}", url.PathEscape(m.id(p)))
		case "query":
			if p.Required && m.mostly() || m.one(4) {
				query.Add(p.Name, m.text(p))
			}
			if m.one(200) {
				query.Add(p.Name, m.odd())
			}
		case "header":
			if p.Required && m.mostly() || m.one(5) {
				if v := m.text(p); !strings.ContainsFunc(v, func(c rune) bool { return c < ' ' || c > '~' }) {
					r.Header = append(r.Header, [2]string{p.Name, v})
				}
			}
		}
	}
	if m.one(100) {
		query.Add("unknown", m.odd())
	}
	if len(query) > 0 {
		r.Target += "?" + query.Encode()
	}
	m.body(r)
	return r
}

func (m *Maker) body(r *Request) {
	ref := r.Of.op.RequestBody
	if ref == nil {
		if m.one(50) {
			r.Body, r.Header = []byte("{}"), append(r.Header, [2]string{"Content-Type", "application/json"})
		}
		return
	}
	if !ref.Value.Required && m.one(2) || m.one(100) {
		return
	}
	kinds := make([]string, 0, 2)
	for _, kind := range []string{"application/json", "application/merge-patch+json", "text/csv",
		"application/x-www-form-urlencoded"} {
		if ref.Value.Content[kind] != nil {
			kinds = append(kinds, kind)
		}
	}
	if len(kinds) == 0 {
		return
	}
	kind := kinds[m.rnd.IntN(len(kinds))]
	switch media := ref.Value.Content[kind]; {
	case strings.HasSuffix(kind, "json"):
		v := m.value("", media.Schema, 0)
		if m.one(4) {
			v = m.spoil(v)
		}
		raw, err := json.Marshal(v)
		if err != nil {
			raw = []byte("{}")
		}
		if m.one(60) {
			raw = raw[:m.rnd.IntN(len(raw)+1)]
		}
		r.Body = raw
	case kind == "text/csv":
		r.Body = []byte(m.csv())
	default:
		form := url.Values{}
		if o, ok := m.value("", media.Schema, 0).(map[string]any); ok {
			for k, v := range o {
				form.Set(k, fmt.Sprint(v))
			}
		}
		r.Body = []byte(form.Encode())
	}
	if m.one(100) {
		kind = "text/plain"
	}
	r.Header = append(r.Header, [2]string{"Content-Type", kind})
}

// id is a path parameter: mostly an existing one.
func (m *Maker) id(p *openapi3.Parameter) string {
	for _, name := range []string{p.Name, strings.TrimSuffix(p.Name, "_id") + "/id"} {
		if list := m.known[name]; len(list) > 0 && !m.one(12) {
			return list[m.rnd.IntN(len(list))]
		}
	}
	if s := m.text(p); s != "" && s != "." && s != ".." && !strings.Contains(s, "/") {
		return s
	}
	return "nothing"
}

// text is a parameter's value as sent on the wire.
func (m *Maker) text(p *openapi3.Parameter) string {
	if m.one(25) {
		return m.odd()
	}
	switch v := m.value(p.Name, p.Schema, 0).(type) {
	case string:
		return v
	case nil:
		return ""
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = fmt.Sprint(v[i])
		}
		return strings.Join(parts, ",")
	default:
		return fmt.Sprint(v)
	}
}

// Learn extracts the identifiers from a JSON response: a parameter has the same name as the field,
// and the id in a response of /bots is a bot_id.
func (m *Maker) Learn(r *Request, answer []byte) {
	var v any
	if json.Unmarshal(answer, &v) != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	kind := ""
	for part := range strings.SplitSeq(r.Of.Path, "/") {
		if part != "" && part[0] != '{' {
			kind = strings.TrimSuffix(part, "s")
		}
	}
	if i := strings.LastIndexByte(kind, '-'); i >= 0 {
		kind = kind[i+1:]
	}
	m.learn(kind, v)
}

func (m *Maker) learn(kind string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, field := range v {
			s, isText := field.(string)
			if !isText {
				m.learn(kind, field)
				continue
			}
			switch {
			case name == "id":
				m.keep(kind+"/id", s)
			case strings.HasSuffix(name, "_id"):
				m.keep(name, s)
			}
		}
	case []any:
		for _, e := range v[:min(len(v), 20)] {
			m.learn(kind, e)
		}
	}
}

func (m *Maker) keep(name, id string) {
	if m.spared[id] {
		return
	}
	list := m.known[name]
	for _, have := range list {
		if have == id {
			return
		}
	}
	if len(list) < knownMost {
		m.known[name] = append(list, id)
		return
	}
	list[m.rnd.IntN(len(list))] = id
}

// address matches names of fields that must not be made up freely: a real machine would be
// contacted.
var address = regexp.MustCompile(`(?i)host|url|uri|endpoint|proxy|registrar|address|server|target`)

// spoil changes one value somewhere within v.
func (m *Maker) spoil(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 || m.one(8) {
			v["unknown_"+m.word()] = m.odd()
			return v
		}
		names := make([]string, 0, len(v))
		for k := range v {
			names = append(names, k)
		}
		sortText(names)
		k := names[m.rnd.IntN(len(names))]
		switch _, nested := v[k].(map[string]any); {
		case m.one(4):
			delete(v, k)
		case address.MatchString(k):
			v[k] = []any{"", "not an address", 7, nil, strings.Repeat("x", 5000) + " "}[m.rnd.IntN(5)]
		case nested && !m.one(3):
			v[k] = m.spoil(v[k])
		default:
			v[k] = m.spoil(v[k])
		}
		return v
	case []any:
		if len(v) > 0 && !m.one(4) {
			i := m.rnd.IntN(len(v))
			if s, isText := v[i].(string); isText && strings.Contains(s, "//") {
				v[i] = ""
				return v
			}
			v[i] = m.spoil(v[i])
			return v
		}
		return m.odd()
	default:
		return []any{nil, true, -1, 0, 1e18, 3.5, "", m.odd(), []any{}, map[string]any{},
			json.Number("99999999999999999999")}[m.rnd.IntN(11)]
	}
}
