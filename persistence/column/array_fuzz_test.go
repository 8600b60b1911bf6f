package column

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzID checks that an identifier is read only when it is written as we write it.
func FuzzID(f *testing.F) {
	f.Add("0192f0c400007000800000000000000f")
	f.Add(strings.Repeat("A", 32))
	f.Add("")
	f.Fuzz(func(t *testing.T, s string) {
		var b [16]byte
		ok := ParseID(s, &b)
		if ours := len(s) == 32 && strings.Trim(s, hexDigits) == ""; ok != ours {
			t.Fatalf("%q: %v", s, ok)
		}
		if ok && (FormatID(b) != s || IDOf(b[:]) != s) {
			t.Fatalf("%q came back as %q", s, FormatID(b))
		}
	})
}

// FuzzVariablesAsJSONB checks that whatever a variable holds, the database gets JSON without the
// one character that it cannot hold, and nothing else is lost.
func FuzzVariablesAsJSONB(f *testing.F) {
	f.Add("name", "Ada")
	f.Add("\x00", "a\x00b\\u0000\\\x00")
	f.Fuzz(func(t *testing.T, name, value string) {
		if !utf8.ValidString(name) || !utf8.ValidString(value) {
			return
		}
		var a Array
		if err := a.JSON(map[string]string{name: value}); err != nil {
			t.Fatal(err)
		}
		var got map[string]string
		if err := json.Unmarshal(a.buf[5:], &got); err != nil {
			t.Fatalf("%q: %v", a.buf[5:], err)
		}
		without := func(s string) string { return strings.ReplaceAll(s, "\x00", "") }
		if want := map[string]string{without(name): without(value)}; !reflect.DeepEqual(got, want) {
			t.Fatalf("%q is stored as %q", want, got)
		}
	})
}
