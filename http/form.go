package http

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"dialler/engine"
	"dialler/engine/contact"
)

// fieldErrors gathers what is wrong with a body, so that one answer names
// every mistake.
type fieldErrors struct {
	list    []engine.FieldError
	dropped int
}

func (e *fieldErrors) add(field, code, message string) {
	if len(e.list) >= maxFieldErrors {
		e.dropped++
		return
	}
	e.list = append(e.list, engine.FieldError{Field: field, Code: code, Message: message})
}

// err is nil when nothing is wrong.
func (e *fieldErrors) err() error {
	switch {
	case len(e.list) == 0:
		return nil
	case e.dropped > 0:
		return engine.Invalid("validation_failed",
			"The body failed validation; "+strconv.Itoa(e.dropped)+" further mistakes are not listed.", e.list...)
	default:
		return engine.Invalid("validation_failed", "The body failed validation; see errors.", e.list...)
	}
}

// form reads the fields of one JSON object. Every getter marks its field as
// known; done reports the others.
type form struct {
	v    *jsonValue
	path string // "" for the body itself
	errs *fieldErrors
}

func (f form) name(field string) string {
	if f.path == "" {
		return field
	}
	return f.path + "." + field
}

func (f form) fail(field, code, message string) { f.errs.add(f.name(field), code, message) }

// find gives the field's value, nil when it was not sent or is null.
func (f form) find(field string) *jsonValue {
	for i := range f.v.members {
		m := &f.v.members[i]
		if m.name == field {
			m.used = true
			if m.value.kind == jsonNull {
				return nil
			}
			return &m.value
		}
	}
	return nil
}

func (f form) has(field string) bool { return f.find(field) != nil }

// done reports every field that nobody asked for.
func (f form) done() {
	for i := range f.v.members {
		if !f.v.members[i].used {
			f.fail(clipName(f.v.members[i].name), "unknown_field", "is not a field of this request")
		}
	}
}

func (f form) wrongType(field string, want jsonKind, got jsonKind) {
	f.fail(field, "wrong_type", "must be "+want.String()+", not "+got.String())
}

const (
	required = true
	optional = false
)

// text reads a string of at most limit characters; a required one must not be
// empty.
func (f form) text(field string, need bool, limit int) string {
	v := f.find(field)
	if v == nil {
		if need {
			f.fail(field, "required", "is required")
		}
		return ""
	}
	if v.kind != jsonString {
		f.wrongType(field, jsonString, v.kind)
		return ""
	}
	if need && strings.TrimSpace(v.text) == "" {
		f.fail(field, "required", "must not be empty")
		return ""
	}
	if len(v.text) > limit && utf8.RuneCountInString(v.text) > limit {
		f.fail(field, "too_long", "must have at most "+strconv.Itoa(limit)+" characters")
		return ""
	}
	return v.text
}

// whole reads an integer; def when it was not sent.
func (f form) whole(field string, def int) int {
	v := f.find(field)
	if v == nil {
		return def
	}
	if v.kind != jsonNumber {
		f.wrongType(field, jsonNumber, v.kind)
		return def
	}
	n, err := strconv.ParseInt(string(v.raw), 10, 32)
	if err != nil {
		f.fail(field, "wrong_type", "must be a whole number between -2147483648 and 2147483647")
		return def
	}
	return int(n)
}

// decimal reads a number; def when it was not sent.
func (f form) decimal(field string, def float64) float64 {
	v := f.find(field)
	if v == nil {
		return def
	}
	if v.kind != jsonNumber {
		f.wrongType(field, jsonNumber, v.kind)
		return def
	}
	n, err := strconv.ParseFloat(string(v.raw), 64)
	if err != nil || math.IsInf(n, 0) {
		f.fail(field, "out_of_range", "is not a number that can be handled")
		return def
	}
	return n
}

// flag reads a boolean; def when it was not sent.
func (f form) flag(field string, def bool) bool {
	v := f.find(field)
	if v == nil {
		return def
	}
	if v.kind != jsonBool {
		f.wrongType(field, jsonBool, v.kind)
		return def
	}
	return v.raw[0] == 't'
}

// when reads a point in time with its offset (RFC 3339); nil when not sent.
func (f form) when(field string) *time.Time {
	v := f.find(field)
	if v == nil {
		return nil
	}
	if v.kind != jsonString {
		f.wrongType(field, jsonString, v.kind)
		return nil
	}
	t, err := time.Parse(time.RFC3339Nano, v.text)
	if err != nil {
		f.fail(field, "invalid_format", "must be a date and time with its offset (RFC 3339), for example 2026-03-01T09:30:00+01:00")
		return nil
	}
	return &t
}

// list reads a list, whatever it holds; nil when it was not sent or is none.
func (f form) list(field string, limit int) *jsonValue {
	v := f.find(field)
	switch {
	case v == nil:
		return nil
	case v.kind != jsonArray:
		f.wrongType(field, jsonArray, v.kind)
		return nil
	case len(v.items) > limit:
		f.fail(field, "too_long", "must have at most "+strconv.Itoa(limit)+" entries")
		return nil
	}
	return v
}

// words reads a list of strings; nil when it was not sent, and then not the
// same as an empty list.
func (f form) words(field string, limit int) []string {
	v := f.list(field, limit)
	if v == nil {
		return nil
	}
	out := make([]string, 0, len(v.items))
	for i := range v.items {
		item := &v.items[i]
		at := field + "[" + strconv.Itoa(i) + "]"
		switch {
		case item.kind != jsonString:
			f.wrongType(at, jsonString, item.kind)
		case len(item.text) > 512:
			f.fail(at, "too_long", "must have at most 512 bytes")
		default:
			out = append(out, item.text)
			continue
		}
		out = append(out, "")
	}
	return out
}

// object reads a nested object; ok is false when it was not sent or is none.
func (f form) object(field string) (sub form, ok bool) {
	v := f.find(field)
	if v == nil {
		return form{}, false
	}
	if v.kind != jsonObject {
		f.wrongType(field, jsonObject, v.kind)
		return form{}, false
	}
	return form{v: v, path: f.name(field), errs: f.errs}, true
}

// SEMANTICS §3: at most 64 keys of 64 bytes, 16 KiB in all, else 422.
const (
	maxVariables     = contact.VariableCountCap
	maxVariableName  = contact.VariableNameCap
	maxVariableBytes = contact.VariablesCap
)

// variables reads a string-to-string object. With scalars (trigger metadata
// and contact lists) other values become text: scalars as they are written,
// nested ones as JSON; without (dialout) they are refused.
func (f form) variables(field string, scalars bool) map[string]string {
	v := f.find(field)
	if v == nil {
		return nil
	}
	if v.kind != jsonObject {
		f.wrongType(field, jsonObject, v.kind)
		return nil
	}
	if len(v.members) > maxVariables {
		f.fail(field, "too_many", "must have at most "+strconv.Itoa(maxVariables)+" keys")
		return nil
	}
	out := make(map[string]string, len(v.members))
	total := 0
	for i := range v.members {
		m := &v.members[i]
		switch {
		case m.name == "":
			f.fail(field, "invalid_format", "must not have an empty key")
			continue
		case len(m.name) > maxVariableName:
			f.fail(field+"."+clipName(m.name), "too_long", "keys have at most "+strconv.Itoa(maxVariableName)+" bytes")
			continue
		case m.value.kind != jsonString && !scalars:
			f.wrongType(field+"."+m.name, jsonString, m.value.kind)
			continue
		}
		s := m.value.asText()
		if m.name == engine.IdentityVariable && !engine.ValidIdentity(s) {
			f.fail(field+"."+m.name, "invalid_identity", "must be the value of one Identity header (RFC 8224): one line of at most "+strconv.Itoa(engine.IdentityCap)+" bytes")
			continue
		}
		total += len(m.name) + len(s)
		out[m.name] = s
	}
	if total > maxVariableBytes {
		f.fail(field, "too_long", "must have at most 16 KiB in all")
		return nil
	}
	return out
}

// asText makes a variable of any value (SEMANTICS §3: scalars are
// stringified, nested values become JSON text).
func (v *jsonValue) asText() string {
	switch v.kind {
	case jsonString:
		return v.text
	case jsonNull:
		return ""
	case jsonBool, jsonNumber:
		return string(v.raw)
	case jsonArray, jsonObject:
		return compactJSON(v.raw)
	}
	return ""
}

// leftovers are the fields that nobody asked for, for a request that keeps them:
// name to text as in variables, within the same limits.
type leftovers struct {
	kept    map[string]string
	names   []string // of those kept, as they came
	dropped []string // names of those over the limits, at most maxFieldErrors
	bytes   int
}

// take adds those of one object; it comes in the place of done.
func (l *leftovers) take(f form) {
	for i := range f.v.members {
		m := &f.v.members[i]
		if m.used {
			continue
		}
		name, text := f.name(m.name), m.value.asText()
		_, again := l.kept[name] // {"callback.x": 1, "callback": {"x": 2}}
		size := l.bytes + len(name) + len(text)
		if again || m.name == "" || len(name) > maxVariableName || len(l.names) == maxVariables || size > maxVariableBytes {
			if len(l.dropped) < maxFieldErrors {
				l.dropped = append(l.dropped, clipName(name))
			}
			continue
		}
		if l.kept == nil {
			l.kept = make(map[string]string)
		}
		l.kept[name], l.bytes = text, size
		l.names = append(l.names, name)
	}
}

// identifier reads a name as it stands in a path: letters, digits, dot, dash
// and underscore.
func validIdentifier(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-', c == '.':
		default:
			return false
		}
	}
	return true
}
