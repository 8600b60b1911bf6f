package campaign

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"dialler/engine"
)

// A campaign with a Config URL takes its dialler settings from there: at every Start the document
// is fetched, laid over the stored settings and validated like an edit (SEMANTICS §2).

// External is the configuration of the run as fetched at its Start. It stays for the whole run,
// whatever happens to the address.
type External struct {
	URL       string          `json:"url"`
	Hash      string          `json:"hash"` // SHA-256 of the document, hex
	FetchedAt time.Time       `json:"fetched_at"`
	Settings  json.RawMessage `json:"settings"` // the members that it set, as named in the API
}

// Document is the document fetched from a Config URL.
type Document struct {
	URL       string
	Body      []byte
	Hash      string // SHA-256 of Body, hex
	FetchedAt time.Time
}

// DocumentCap limits the size of a document, in bytes.
const DocumentCap = 256 << 10

// Reasons why a campaign fails at Start, before a colon and the detail.
const (
	FailureConfigUnreachable = "config_url_unreachable"
	FailureConfigInvalid     = "config_url_invalid"
)

// ExternalMembers lists what a document at a Config URL may set: how to dial, but not the
// campaign's identity, its bot, the Config URL itself, the eligibility hook, or what is recorded.
func ExternalMembers() (names []string) {
	for i := range Fields {
		if Fields[i].External {
			names = append(names, Fields[i].Name)
		}
	}
	return names
}

// Overlay applies a document to settings. The error names every mistake; its code is
// "config_url_invalid".
func Overlay(s Settings, d Document) (Settings, *External, error) {
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(d.Body, &doc); err != nil || doc == nil {
		return s, nil, engine.Invalid(FailureConfigInvalid, "the document is not a JSON object")
	}
	s = s.WithDefaults() // the stored settings may predate a setting
	var fields []engine.FieldError
	wrong := func(field, code, message string) {
		fields = append(fields, engine.FieldError{Field: field, Code: code, Message: message})
	}
	for _, name := range sortedKeys(doc) {
		switch f := FieldOf(name); {
		case f == nil || !f.External:
			wrong(name, "not_external", "cannot be set by the Config URL")
		case bytes.Equal(doc[name], null):
			wrong(name, "wrong_type", "must not be null; leave it out")
		case !f.take(&s, doc[name]):
			wrong(name, "wrong_type", "is not of the type of this setting")
		}
	}
	if fields == nil {
		var e *engine.Error
		if err := s.Validate(); errors.As(err, &e) {
			fields = e.Fields
		}
	}
	if fields != nil {
		return s, nil, engine.Invalid(FailureConfigInvalid, "the document's settings are not valid: "+listed(fields),
			fields...)
	}
	kept, err := json.Marshal(doc)
	if err != nil {
		return s, nil, engine.Invalid(FailureConfigInvalid, "the document cannot be kept")
	}
	return s, &External{URL: d.URL, Hash: d.Hash, FetchedAt: d.FetchedAt, Settings: kept}, nil
}

func sortedKeys(m map[string]json.RawMessage) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// failureFields limits how many mistakes a failure's reason names, and failureNameCap how long a
// name may be: both come from an untrusted document.
const (
	failureFields  = 5
	failureNameCap = 40
)

func listed(fields []engine.FieldError) string {
	var parts []string
	for i, f := range fields {
		if i == failureFields {
			parts = append(parts, "…")
			break
		}
		name := f.Field
		if len(name) > failureNameCap {
			name = strings.ToValidUTF8(name[:failureNameCap], "") + "…"
		}
		parts = append(parts, name+" "+f.Message)
	}
	return strings.Join(parts, "; ")
}

// Failure is the reason that a failed campaign shows for a configuration error: the code and the
// sentence.
func Failure(err error) string {
	return engine.ErrorCode(err) + ": " + engine.ErrorDetail(err)
}

// external lists the fields that an edit must leave alone because the Config URL sets them; an edit
// that changes the URL itself may set any field.
func (m *Machine) external(ev Event) []string {
	x := m.C.External
	if x == nil || ev.Settings.ConfigURL != m.C.Settings.ConfigURL {
		return nil
	}
	set := object(x.Settings)
	var fields []string
	for _, c := range Changes(&m.C.Settings, ev.Settings) {
		whole, _, _ := strings.Cut(c.Field, ".")
		if _, ok := set[whole]; ok {
			fields = append(fields, c.Field)
		}
	}
	return fields
}

// Configure completes a Start of a campaign with a Config URL, either with the fetched document or
// with the reason why it cannot be used. fetched is the error of the fetch.
func Configure(ev Event, c Campaign, d Document, fetched error, f PreflightFacts) Event {
	if fetched != nil {
		ev.Failure = Failure(fetched)
		return ev
	}
	s, x, err := Overlay(c.Settings, d)
	if err != nil {
		ev.Failure = Failure(err)
		return ev
	}
	c.Settings = s
	c.Narrow(f.Calendars)
	if blockers := Blockers(&c, f, ev.At); len(blockers) > 0 {
		ev.Failure = FailureConfigInvalid + ": with the document's settings the campaign cannot dial: " + codes(blockers)
		return ev
	}
	ev.Settings, ev.External, ev.WindowEndsAt = &s, x, SingleDayEnd(&c, ev.At)
	return ev
}
