package engine

import (
	"strings"
	"testing"
)

// FuzzIDs checks that an accepted name of a call, a leg or an attempt is written as it came, and
// that an accepted address of a bot can be dialled.
func FuzzIDs(f *testing.F) {
	attempt := strings.Repeat("0af9", 8)
	for _, s := range []string{attempt, "CA" + attempt, attempt + ".1", attempt + ".+1", attempt + ".01",
		attempt + ".99999999999999999999", attempt + ".-1", "wss://bot.example/ws", "ws://u:p@h:70000/",
		"sip:bot@[::1]:5060;transport=tcp", "wss://", "ws:///x", "wss://a b/", "ws://[::1]:1/?a=b#c", "WSS://h\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if id, ok := CallID(s).Attempt(); ok && string(id.Call()) != s {
			t.Fatalf("%q is the call %q", s, id.Call())
		}
		if id, n, ok := LegID(s).Attempt(); ok && string(id.Leg(n)) != s {
			t.Fatalf("%q is the leg %q", s, id.Leg(n))
		}
		_ = AttemptID(s).Short()
		if len(CheckBot(&Bot{Endpoints: []string{s}})) == 0 && strings.ContainsAny(s, "\x00\r\n") {
			t.Fatalf("%q is taken for an address", s)
		}
		for _, h := range IdentityHeaders(map[string]string{IdentityVariable: s}) {
			if strings.ContainsAny(h.Value, "\x00\r\n") || len(h.Value) > IdentityCap || h.Value != s {
				t.Fatalf("%q becomes the header %q", s, h.Value)
			}
		}
	})
}
