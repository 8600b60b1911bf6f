package engine

import (
	"strconv"
	"strings"
	"testing"
)

func TestASIPAddressIsReadOrRefusedWhole(t *testing.T) {
	for s, want := range map[string]SIPURI{
		"sip:bot@example.com":                      {User: "bot", Host: "example.com"},
		"sip:+4930123@10.0.0.1:5070":               {User: "+4930123", Host: "10.0.0.1", Port: 5070},
		"sip:bot@example.com;transport=tcp":        {User: "bot", Host: "example.com", Transport: "tcp"},
		"sip:bot@example.com:65535;transport=TLS":  {User: "bot", Host: "example.com", Port: 65535, Transport: "tls"},
		"sip:bot@[2001:db8::1]:5060;transport=udp": {User: "bot", Host: "2001:db8::1", Port: 5060, Transport: "udp"},
		"sip:a.b-c_d%20e@host":                     {User: "a.b-c_d%20e", Host: "host"},
	} {
		if got, ok := ParseSIPURI(s); !ok || got != want {
			t.Errorf("%s: %+v, %v", s, got, ok)
		}
	}
	for _, s := range []string{
		"", "sip:", "sip:bot", "sip:@host", "sip:bot@", "sip:bot@:5060", "sips:bot@host", "ws://host", "tel:+4930",
		"bot@host", "sip:bot@host:0", "sip:bot@host:65536", "sip:bot@host:", "sip:bot@host;transport=ws", "sip:bot@host;lr",
		"sip:bot@host;transport=tcp;lr",
		"sip:bot@host?Subject=x", "sip:bot:secret@host", "sip:bot@ho st", "sip:b ot@host", "sip:bot@host\r\nX: y",
		"sip:bot@[::1", "sip:bot@[zz]",
		"sip:bot@[::1]x", "sip:bot@<host>", "sip:" + strings.Repeat("a", 254) + "@" + strings.Repeat("h", 254),
		"sip:" + strings.Repeat("a", SIPURICap-8) + "@host",
	} {
		if u, ok := ParseSIPURI(s); ok {
			t.Errorf("%q is taken: %+v", s, u)
		}
	}
	longest := "sip:" + strings.Repeat("a", SIPURICap-9) + "@host"
	if _, ok := ParseSIPURI(longest); !ok || len(longest) != SIPURICap {
		t.Errorf("an address of %d bytes is refused", len(longest))
	}
}

func TestVariablesAreHeadersUnderTheirOwnNames(t *testing.T) {
	got, left := VariableHeaders(map[string]string{
		"first_name": "Anna", "call_id": "CA1", "größe": "a\r\nVia: x", "Name": "upper", "name": "lower", "": "nobody",
		"tab":     "a\tb ",
		"call-id": "mine", "Call_ID": "mine", "RUN": "7", // reserved, in any spelling
	}, []string{"call_id", "run"})
	if left != 0 {
		t.Errorf("%d are left out for want of room", left)
	}
	want := []SIPHeader{{"X-call_id", "CA1"}, {"X-Name", "upper"}, {"X-first_name", "Anna"}, {"X-gr__e", "a  Via: x"},
		{"X-tab", "a b"}}
	if len(got) != len(want) {
		t.Fatalf("%v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%d: %q, want %q", i, got[i], want[i])
		}
	}
}

func TestHeadersOfVariablesAreBounded(t *testing.T) {
	fits, tooLong := strings.Repeat("v", VariableHeaderCap), strings.Repeat("v", VariableHeaderCap+1)
	got, left := VariableHeaders(map[string]string{"a": fits, "b": tooLong, "c": tooLong}, nil)
	if len(got) != 1 || got[0].Name != "X-a" || left != 2 {
		t.Fatalf("%d headers, %d left out", len(got), left)
	}
	// Eight values fill the room to the last byte: "X-a: " + value + CR LF.
	room := func(last int) map[string]string {
		m := map[string]string{}
		for _, n := range "abcdefgh" {
			m[string(n)] = strings.Repeat("v", VariableHeadersCap/8-7)
		}
		m["h"] = strings.Repeat("v", last)
		return m
	}
	for last, want := range map[int]int{VariableHeadersCap/8 - 7: 8, VariableHeadersCap/8 - 6: 7} {
		if got, left := VariableHeaders(room(last), nil); len(got) != want || left != 8-want {
			t.Errorf("with %d bytes in the last value: %d headers, want %d; %d left out", last, len(got), want, left)
		}
	}
}

// FuzzSIPURI checks that an accepted address can be used in a request line unchanged, and that it
// stays the same address when it is written out.
func FuzzSIPURI(f *testing.F) {
	for _, s := range []string{"sip:bot@example.org", "sip:a@[::1]:5070;transport=tcp",
		"sip:a@192.0.2.1:5060;Transport=TLS", "sip:@h", "sips:a@h", "sip:a@h;lr", "sip:a b@h", "sip:a@h:0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, ok := ParseSIPURI(s)
		if !ok {
			return
		}
		if len(s) > SIPURICap || strings.ContainsAny(s, " \t\r\n\x00<>\"") || u.Port < 0 || u.Port > 65535 || u.Host == "" ||
			u.User == "" {
			t.Fatalf("%q is %+v", s, u)
		}
		host := u.Host
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		again := "sip:" + u.User + "@" + host
		if u.Port > 0 {
			again += ":" + strconv.Itoa(u.Port)
		}
		if u.Transport != "" {
			again += ";transport=" + u.Transport
		}
		if got, ok := ParseSIPURI(again); !ok || got != u {
			t.Fatalf("%q is %+v, written out %q is %+v", s, u, again, got)
		}
	})
}

// FuzzVariableHeaders checks that, whatever a contact's variables are, their headers are separate
// lines, few and short, with each name once.
func FuzzVariableHeaders(f *testing.F) {
	f.Add("first_name", "Ada", "First_Name", "ada\r\nVia: x")
	f.Add("", "", "\x00", strings.Repeat("x", VariableHeaderCap+1))
	f.Fuzz(func(t *testing.T, a, av, b, bv string) {
		size := 0
		seen := map[string]bool{}
		list, left := VariableHeaders(map[string]string{a: av, b: bv}, []string{b, "missing"})
		if len(list)+left > 2 {
			t.Fatalf("%q and %d more of two", list, left)
		}
		for _, h := range list {
			key := strings.ToLower(h.Name)
			if seen[key] || len(h.Name) < 3 || strings.ContainsAny(h.Name, ": \t\r\n\x00") ||
				strings.ContainsAny(h.Value, "\r\n\x00") || len(h.Value) > VariableHeaderCap {
				t.Fatalf("%q", h)
			}
			seen[key] = true
			size += len(h.Name) + len(h.Value) + 4
		}
		if size > VariableHeadersCap {
			t.Fatalf("%d bytes of headers", size)
		}
	})
}
