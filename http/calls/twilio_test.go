package calls

import (
	"strings"
	"testing"
)

func FuzzBasicAuth(f *testing.F) {
	f.Add("Basic QUM6eA==")
	f.Add("")
	f.Fuzz(func(t *testing.T, given string) {
		if user, _, ok := basicAuth([][]byte{[]byte(given)}); ok && strings.Contains(user, ":") {
			t.Fatalf("%q is the user %q", given, user)
		}
	})
}
