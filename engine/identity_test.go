package engine

import (
	"slices"
	"strings"
	"testing"
)

func TestAnIdentityGoesIntoTheInviteOnlyAsOneLineOfBoundedLength(t *testing.T) {
	f := func(value string, ok bool) {
		t.Helper()
		var want []SIPHeader
		if ok && value != "" {
			want = []SIPHeader{{Name: "Identity", Value: value}}
		}
		if got := IdentityHeaders(map[string]string{"name": "Ada", IdentityVariable: value}); !slices.Equal(got, want) ||
			ValidIdentity(value) != ok {
			t.Errorf("%.40q: %v, valid %v", value, got, ValidIdentity(value))
		}
	}
	f("", true)
	f(`eyJhbGciOiJFUzI1NiJ9.eyJhdHRlc3QiOiJBIn0.c2ln;info=<https://cert.example/a.pem>;alg=ES256;ppt="shaken"`, true)
	f(strings.Repeat("x", IdentityCap), true)
	f(strings.Repeat("x", IdentityCap+1), false)
	f("a\r\nVia: b", false)
	f("a\x00", false)
	f("a\xff", false)
	if got := IdentityHeaders(nil); got != nil {
		t.Error(got)
	}
}
