package persistence

import (
	"strings"
	"testing"
)

func TestIdentifiers(t *testing.T) {
	f := func(s string, ok bool) {
		t.Helper()
		var b [16]byte
		if got := parseID(s, &b); got != ok {
			t.Errorf("parseID(%q) = %v", s, got)
		}
		if ok && formatID(b) != s {
			t.Errorf("%q came back as %q", s, formatID(b))
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
		if got := clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
	f("plain", "plain")
	f("a\x00b", "ab")
	f("a\xffb", "a\uFFFDb")
	f("\x00", "")

	g := func(in, want string) {
		t.Helper()
		if got := string(cleanJSON([]byte(in))); got != want {
			t.Errorf("cleanJSON(%s) = %s, want %s", in, got, want)
		}
	}
	g(`{"a":"b"}`, `{"a":"b"}`)
	g(`"a\u0000b"`, `"ab"`)
	g(`"a\\u0000b"`, `"a\\u0000b"`)
	g(`"a\\\u0000b"`, `"a\\b"`)
	g(`"\u0000\u0000\u0001"`, `"\u0001"`)
}

func TestVariablesHashDoesNotKnowTheOrder(t *testing.T) {
	a := map[string]string{"x": "1", "y": "2", "z": "3"}
	b := map[string]string{"z": "3", "y": "2", "x": "1"}
	if variablesHash(a) != variablesHash(b) {
		t.Error("equal maps differ")
	}
	f := func(m map[string]string) {
		t.Helper()
		if variablesHash(m) == variablesHash(a) {
			t.Errorf("%v is taken for %v", m, a)
		}
	}
	f(map[string]string{"x": "1", "y": "2"})
	f(map[string]string{"x": "2", "y": "1", "z": "3"})
	f(map[string]string{"x1": "", "y": "2", "z": "3"})
	f(nil)
	// The hash is stored: it must not change from one version to the next.
	if got := variablesHash(map[string]string{"name": "Ada"}); got != goldenHash {
		t.Errorf("hash %d, stored ones were made with %d", got, goldenHash)
	}
}

const goldenHash = 3577085564522039541
