package form

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"dialler/engine"
	"dialler/engine/contact"
)

// Errors collects the errors of a body, so that one response reports all of them.
type Errors struct {
	List    []engine.FieldError
	dropped int
}

// Add records an error; beyond errorsCap it is only counted.
func (e *Errors) Add(field, code, message string) {
	if len(e.List) >= errorsCap {
		e.dropped++
		return
	}
	e.List = append(e.List, engine.FieldError{Field: field, Code: code, Message: message})
}

// UnknownParameter records a query parameter that the request does not have.
func (e *Errors) UnknownParameter(name string) {
	e.Add(ClipName(name), "unknown_field", "is not a parameter of this request")
}

// Err returns nil if there are no errors.
func (e *Errors) Err() error {
	switch {
	case len(e.List) == 0:
		return nil
	case e.dropped > 0:
		return engine.Invalid("validation_failed",
			"The body failed validation; "+strconv.Itoa(e.dropped)+" more mistakes are not listed.", e.List...)
	default:
		return engine.Invalid("validation_failed", "The body failed validation; see errors.", e.List...)
	}
}

// Form reads the fields of one JSON object. Every getter marks its field as
// known; done reports the others.
type Form struct {
	Value *Value
	Path  string // "" for the body itself
	Errs  *Errors
}

// Name returns the path of a field from the body.
func (f Form) Name(field string) string {
	if f.Path == "" {
		return field
	}
	return f.Path + "." + field
}

// Fail records an error of a field.
func (f Form) Fail(field, code, message string) { f.Errs.Add(f.Name(field), code, message) }

// Find gives the field's value, nil when it was not sent or is null.
func (f Form) Find(field string) *Value {
	for i := range f.Value.Members {
		m := &f.Value.Members[i]
		if m.Name == field {
			m.used = true
			if m.Value.Kind == Null {
				return nil
			}
			return &m.Value
		}
	}
	return nil
}

// Has says whether a field was sent and is not null.
func (f Form) Has(field string) bool { return f.Find(field) != nil }

// Done reports every field that was not read.
func (f Form) Done() {
	for i := range f.Value.Members {
		if !f.Value.Members[i].used {
			f.Fail(ClipName(f.Value.Members[i].Name), "unknown_field", "is not a field of this request")
		}
	}
}

// WrongType records that a field has the wrong kind.
func (f Form) WrongType(field string, want Kind, got Kind) {
	f.Fail(field, "wrong_type", "must be "+want.String()+", not "+got.String())
}

const (
	Required = true
	Optional = false
)

// Text reads a string of at most limit characters; a required one must not be
// empty.
func (f Form) Text(field string, need bool, limit int) string {
	v := f.Find(field)
	if v == nil {
		if need {
			f.Fail(field, "required", "is required")
		}
		return ""
	}
	if v.Kind != String {
		f.WrongType(field, String, v.Kind)
		return ""
	}
	if need && strings.TrimSpace(v.Text) == "" {
		f.Fail(field, "required", "must not be empty")
		return ""
	}
	if len(v.Text) > limit && utf8.RuneCountInString(v.Text) > limit {
		f.Fail(field, "too_long", "must have at most "+strconv.Itoa(limit)+" characters")
		return ""
	}
	return v.Text
}

// Whole reads an integer; def when it was not sent.
func (f Form) Whole(field string, def int) int {
	v := f.Find(field)
	if v == nil {
		return def
	}
	if v.Kind != Number {
		f.WrongType(field, Number, v.Kind)
		return def
	}
	n, err := strconv.ParseInt(string(v.raw), 10, 32)
	if err != nil {
		f.Fail(field, "wrong_type", "must be a whole number between -2147483648 and 2147483647")
		return def
	}
	return int(n)
}

// Decimal reads a number; def when it was not sent.
func (f Form) Decimal(field string, def float64) float64 {
	v := f.Find(field)
	if v == nil {
		return def
	}
	if v.Kind != Number {
		f.WrongType(field, Number, v.Kind)
		return def
	}
	n, err := strconv.ParseFloat(string(v.raw), 64)
	if err != nil || math.IsInf(n, 0) {
		f.Fail(field, "out_of_range", "is not a number that can be handled")
		return def
	}
	return n
}

// Flag reads a boolean; def when it was not sent.
func (f Form) Flag(field string, def bool) bool {
	v := f.Find(field)
	if v == nil {
		return def
	}
	if v.Kind != Bool {
		f.WrongType(field, Bool, v.Kind)
		return def
	}
	return v.raw[0] == 't'
}

// When reads a time with its offset (RFC 3339); nil if it was not sent.
func (f Form) When(field string) *time.Time {
	v := f.Find(field)
	if v == nil {
		return nil
	}
	if v.Kind != String {
		f.WrongType(field, String, v.Kind)
		return nil
	}
	t, err := time.Parse(time.RFC3339Nano, v.Text)
	if err != nil {
		f.Fail(field, "invalid_format", "must be a date and time with its offset (RFC 3339), for example "+
			"2026-03-01T09:30:00+01:00")
		return nil
	}
	return &t
}

// List reads a list of any values; nil if it was not sent or is not a list.
func (f Form) List(field string, limit int) *Value {
	v := f.Find(field)
	switch {
	case v == nil:
		return nil
	case v.Kind != Array:
		f.WrongType(field, Array, v.Kind)
		return nil
	case len(v.Items) > limit:
		f.Fail(field, "too_long", "must have at most "+strconv.Itoa(limit)+" entries")
		return nil
	}
	return v
}

// Words reads a list of strings; nil if it was not sent, as opposed to an empty list.
func (f Form) Words(field string, limit int) []string {
	v := f.List(field, limit)
	if v == nil {
		return nil
	}
	out := make([]string, 0, len(v.Items))
	for i := range v.Items {
		item := &v.Items[i]
		at := field + "[" + strconv.Itoa(i) + "]"
		switch {
		case item.Kind != String:
			f.WrongType(at, String, item.Kind)
		case len(item.Text) > 512:
			f.Fail(at, "too_long", "must have at most 512 bytes")
		default:
			out = append(out, item.Text)
			continue
		}
		out = append(out, "")
	}
	return out
}

// Object reads a nested object; ok is false if it was not sent or is not an object.
func (f Form) Object(field string) (sub Form, ok bool) {
	v := f.Find(field)
	if v == nil {
		return Form{}, false
	}
	if v.Kind != Object {
		f.WrongType(field, Object, v.Kind)
		return Form{}, false
	}
	return Form{Value: v, Path: f.Name(field), Errs: f.Errs}, true
}

// Variables reads a string-to-string object (SEMANTICS §3: at most 64 keys of 64 bytes, 16 KiB in
// all, else 422). With scalars (trigger metadata and contact lists) other values become text:
// scalars as written, nested ones as JSON; without (dialout) they are refused.
func (f Form) Variables(field string, scalars bool) map[string]string {
	v := f.Find(field)
	if v == nil {
		return nil
	}
	if v.Kind != Object {
		f.WrongType(field, Object, v.Kind)
		return nil
	}
	if len(v.Members) > contact.VariableCountCap {
		f.Fail(field, "too_many", "must have at most "+strconv.Itoa(contact.VariableCountCap)+" keys")
		return nil
	}
	out := make(map[string]string, len(v.Members))
	total := 0
	for i := range v.Members {
		m := &v.Members[i]
		switch {
		case m.Name == "":
			f.Fail(field, "invalid_format", "must not have an empty key")
			continue
		case len(m.Name) > contact.VariableNameCap:
			f.Fail(
				field+"."+ClipName(m.Name),
				"too_long",
				"keys have at most "+strconv.Itoa(contact.VariableNameCap)+" bytes",
			)
			continue
		case m.Value.Kind != String && !scalars:
			f.WrongType(field+"."+m.Name, String, m.Value.Kind)
			continue
		}
		s := m.Value.AsText()
		if m.Name == engine.IdentityVariable && !engine.ValidIdentity(s) {
			f.Fail(
				field+"."+m.Name,
				"invalid_identity",
				"must be the value of one Identity header (RFC 8224): one line of at most "+strconv.Itoa(
					engine.IdentityCap,
				)+" "+
					"bytes",
			)
			continue
		}
		total += len(m.Name) + len(s)
		out[m.Name] = s
	}
	if total > contact.VariablesCap {
		f.Fail(field, "too_long", "must have at most 16 KiB in all")
		return nil
	}
	return out
}

// AsText converts any value to a variable (SEMANTICS §3: scalars are stringified, nested values
// become JSON text).
func (v *Value) AsText() string {
	switch v.Kind {
	case String:
		return v.Text
	case Null:
		return ""
	case Bool, Number:
		return string(v.raw)
	case Array, Object:
		return compactJSON(v.raw)
	}
	return ""
}

// Leftovers are the unread fields, for a request that keeps them: name to text as in variables,
// within the same limits.
type Leftovers struct {
	Kept    map[string]string
	Names   []string // of the kept ones, in order
	Dropped []string // names of those beyond the limits, at most errorsCap
	bytes   int
}

// Take adds the leftovers of one object; it replaces Done.
func (l *Leftovers) Take(f Form) {
	for i := range f.Value.Members {
		m := &f.Value.Members[i]
		if m.used {
			continue
		}
		name, text := f.Name(m.Name), m.Value.AsText()
		_, again := l.Kept[name] // {"callback.x": 1, "callback": {"x": 2}}
		size := l.bytes + len(name) + len(text)
		if again || m.Name == "" || len(name) > contact.VariableNameCap || len(l.Names) == contact.VariableCountCap ||
			size > contact.VariablesCap {
			if len(l.Dropped) < errorsCap {
				l.Dropped = append(l.Dropped, ClipName(name))
			}
			continue
		}
		if l.Kept == nil {
			l.Kept = make(map[string]string)
		}
		l.Kept[name], l.bytes = text, size
		l.Names = append(l.Names, name)
	}
}

// Merge adds the field errors of a rule to those of the JSON, except for fields that already have
// one.
func (e *Errors) Merge(err error) {
	if err == nil {
		return
	}
	var rule *engine.Error
	if !errors.As(err, &rule) || len(rule.Fields) == 0 {
		e.Add("settings", "invalid", "are not valid")
		return
	}
	for _, fe := range rule.Fields {
		known := false
		for _, have := range e.List {
			known = known || have.Field == fe.Field || strings.HasPrefix(have.Field, fe.Field+".") ||
				strings.HasPrefix(fe.Field, have.Field+".") || strings.HasPrefix(fe.Field, have.Field+"[") ||
				strings.HasPrefix(have.Field, fe.Field+"[")
		}
		if !known {
			e.Add(fe.Field, fe.Code, fe.Message)
		}
	}
}
