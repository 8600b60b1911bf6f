package idempotency

import (
	"strings"
	"testing"
)

func TestIdempotencyKeySyntax(t *testing.T) {
	f := func(given, want string) {
		t.Helper()
		token, present, err := Key([][]byte{[]byte(given)})
		if !present || (err == nil) != (want != "") || token != want {
			t.Errorf("%q: %q %v %v", given, token, present, err)
		}
	}
	f("abc", "abc")
	f(`"abc"`, "abc")
	f(`"a b"`, "a b")
	f(`a"b`, `a"b`)
	f(`"a\"b\\c"`, `a"b\c`)
	f(strings.Repeat("x", 255), strings.Repeat("x", 255))
	f(`"`+strings.Repeat("x", 255)+`"`, strings.Repeat("x", 255))
	f(strings.Repeat("x", 256), "")
	f("", "")
	f(`""`, "")
	f(`"`, "")
	f(`"abc`, "")
	f(`"abc"x`, "")
	f(`"abc";p=1`, "")
	f(`"a\x"`, "")
	f(`"a\`, "")
	f("a\tb", "")
	f("ä", "")
	if _, present, err := Key(nil); present || err != nil {
		t.Error("absent")
	}
	if _, _, err := Key([][]byte{[]byte("a"), []byte("a")}); err == nil {
		t.Error("sent twice")
	}
}

func FuzzIdempotencyKey(f *testing.F) {
	for _, s := range []string{"a", `"a"`, `"a\"b"`, "", `"`, `""`, "\x00", strings.Repeat("x", 300), `"\`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		token, present, err := Key([][]byte{raw})
		if !present || (err != nil) != (token == "") {
			t.Fatalf("%q: %q %v %v", raw, token, present, err)
		}
		if err != nil {
			return
		}
		if len(token) > 255 {
			t.Fatalf("%q is too long", token)
		}
		for _, c := range []byte(token) {
			if c < 0x20 || c > 0x7e {
				t.Fatalf("%q is not printable", token)
			}
		}
		// Quoted or bare, it is the same key.
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(token) + `"`
		if again, _, err := Key([][]byte{[]byte(quoted)}); err != nil || again != token {
			t.Fatalf("%q, quoted %q: %q %v", token, quoted, again, err)
		}
	})
}
