package form

import (
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// OneOf reads a string from a closed set.
func (f Form) OneOf(field, def string, set ...string) string {
	if !f.Has(field) {
		return def
	}
	got := f.Text(field, Optional, 64)
	list := ""
	for i, s := range set {
		if s == got {
			return got
		}
		if i > 0 {
			list += ", "
		}
		list += s
	}
	f.Fail(field, "unknown_value", "must be one of "+list)
	return def
}

// Word reads one of a few values; def when it was not sent.
func (f Form) Word(field, def string) string {
	if !f.Has(field) {
		return def
	}
	return f.Text(field, Optional, 64)
}

// Term is Word for a set without the empty string.
func (f Form) Term(field, def string) string {
	got := f.Word(field, def)
	if got == "" && f.Has(field) {
		f.Fail(field, "unknown_value", "must not be empty; leave it out for the default")
	}
	return got
}

// Within reads an integer from a range.
func (f Form) Within(field string, def, low, high int) int {
	n := f.Whole(field, def)
	if n < low || n > high {
		f.Fail(field, "out_of_range", "must be from "+strconv.Itoa(low)+" to "+strconv.Itoa(high))
		return def
	}
	return n
}

// Link reads an absolute http or https URL.
func (f Form) Link(field string) string {
	s := f.Text(field, Optional, 2048)
	if s == "" {
		return ""
	}
	u, err := url.Parse(s)
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" {
		f.Fail(field, "invalid_format", "must be an http or https address")
		return ""
	}
	return s
}

// Sent says whether a field was sent, even as null.
func (f Form) Sent(field string) bool {
	for i := range f.Value.Members {
		if f.Value.Members[i].Name == field {
			return true
		}
	}
	return false
}

// ValidIdentifier says whether s is a valid name in a path: letters, digits, dot, dash and
// underscore.
func ValidIdentifier(s string) bool {
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

// IsHex says whether a text is length lower-case hex digits.
func IsHex(s string, length int) bool {
	return len(s) == length && strings.Trim(s, "0123456789abcdef") == ""
}

// Printable says whether text from an address can be stored and shown.
func Printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}
