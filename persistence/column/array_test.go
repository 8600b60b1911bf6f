package column

import (
	"strings"
	"testing"
)

func TestIdentifiers(t *testing.T) {
	f := func(s string, ok bool) {
		t.Helper()
		var b [16]byte
		if got := ParseID(s, &b); got != ok {
			t.Errorf("parseID(%q) = %v", s, got)
		}
		if ok && FormatID(b) != s {
			t.Errorf("%q came back as %q", s, FormatID(b))
		}
	}
	f("0123456789abcdef0123456789abcdef", true)
	f(strings.Repeat("f", 32), true)
	f("", false)
	f("0123456789abcdef0123456789abcde", false)
	f("0123456789ABCDEF0123456789abcdef", false)
	f("0123456789abcdef0123456789abcdeg", false)
	f("01234567-89ab-cdef-0123-456789ab", false)
}

func TestTextThatPostgreSQLDoesNotTake(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := Clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
	f("plain", "plain")
	f("a\x00b", "ab")
	f("a\xffb", "a\uFFFDb")
	f("\x00", "")

	g := func(in, want string) {
		t.Helper()
		if got := string(CleanJSON([]byte(in))); got != want {
			t.Errorf("cleanJSON(%s) = %s, want %s", in, got, want)
		}
	}
	g(`{"a":"b"}`, `{"a":"b"}`)
	g(`"a\u0000b"`, `"ab"`)
	g(`"a\\u0000b"`, `"a\\u0000b"`)
	g(`"a\\\u0000b"`, `"a\\b"`)
	g(`"\u0000\u0000\u0001"`, `"\u0001"`)
}
