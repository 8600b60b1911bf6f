package persistence

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzRung: what is read of a stored message is a message, and what is written
// of one is read as the same.
func FuzzRung(f *testing.F) {
	for _, s := range []string{`[1700000000000000,true,"INVITE",0,"",1,"192.0.2.1:5060","SDP",3]`, `[0,false,"",503,"x",4294967295,"","",0,"of a later version"]`,
		`[]`, `{}`, `[1,2,3,4,5,6,7,8,9]`, `null`, `[9223372036854775807,true,"",0,"",0,"","",0]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var r rung
		if json.Unmarshal(b, &r) != nil {
			return
		}
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatalf("%q: %v", b, err)
		}
		var again rung
		if err := json.Unmarshal(text, &again); err != nil || !reflect.DeepEqual(r, again) {
			t.Fatalf("%q is %+v, written %q is %+v: %v", b, r, text, again, err)
		}
	})
}

// FuzzID: an identifier is read when it is written as we write it, and only
// then.
func FuzzID(f *testing.F) {
	f.Add("0192f0c400007000800000000000000f")
	f.Add(strings.Repeat("A", 32))
	f.Add("")
	f.Fuzz(func(t *testing.T, s string) {
		var b [16]byte
		ok := parseID(s, &b)
		if ours := len(s) == 32 && strings.Trim(s, hexDigits) == ""; ok != ours {
			t.Fatalf("%q: %v", s, ok)
		}
		if ok && (formatID(b) != s || idOf(b[:]) != s) {
			t.Fatalf("%q came back as %q", s, formatID(b))
		}
	})
}

// FuzzVariablesAsJSONB: whatever a variable holds, the database gets JSON
// without the one character that it cannot hold, and nothing else is lost.
func FuzzVariablesAsJSONB(f *testing.F) {
	f.Add("name", "Ada")
	f.Add("\x00", "a\x00b\\u0000\\\x00")
	f.Fuzz(func(t *testing.T, name, value string) {
		if !utf8.ValidString(name) || !utf8.ValidString(value) {
			return
		}
		var a array
		if err := a.json(map[string]string{name: value}); err != nil {
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
