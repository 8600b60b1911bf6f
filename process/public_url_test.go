package process

import (
	"net/netip"
	"strings"
	"testing"

	"dialler/sipstack"
)

func TestAnAddressThatMeansAllOfThemIsNoPublicURL(t *testing.T) {
	t.Parallel()
	f := func(given, want string) {
		t.Helper()
		err := (&Flags{PublicURL: given, KeepLadders: 14}).check()
		if got := err == nil; got != (want == "") || err != nil &&
			(!strings.Contains(err.Error(), "--public-url") || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", given, err, want)
		}
	}
	f("", "")
	f("https://dialler.example.com/", "")
	f("http://203.0.113.10:8080", "")
	f("http://[2001:db8::1]:8080", "")
	f("http://[::]:8080", "[::]")
	f("https://0.0.0.0/", "0.0.0.0")
	f("http://[::ffff:0.0.0.0]:8080", "::ffff:")
	f("dialler.example.com", "dialler.example.com")
	f("foo", "foo")
	f("http://", "http://")
	f("ftp://dialler.example.com", "ftp://")
}

func TestBotsPostResultsToAnAddressOfTheMachine(t *testing.T) {
	t.Parallel()
	f := func(want, sip, route, machine string) {
		t.Helper()
		var all []netip.Addr
		for a := range strings.FieldsSeq(machine) {
			all = append(all, netip.MustParseAddr(a))
		}
		var routed netip.Addr
		if route != "" {
			routed = netip.MustParseAddr(route)
		}
		var listeners []sipstack.Listener
		for a := range strings.FieldsSeq(sip) {
			listeners = append(listeners, sipstack.Listener{Address: a})
		}
		got, err := reachedAt(listeners, routed, all)
		if err != nil {
			if want != "" || !strings.Contains(err.Error(), "--public-url") ||
				!strings.Contains(err.Error(), strings.Fields(machine)[0]) {
				t.Errorf("%s, %s, %s: %v", sip, route, machine, err)
			}
			return
		}
		if got.String() != want {
			t.Errorf("%s, %s, %s: %s, want %s", sip, route, machine, got, want)
		}
	}
	// Bots can reach the address that carriers reach.
	f("203.0.113.10", "203.0.113.10:5060", "192.0.2.2", "192.0.2.2 203.0.113.10")
	f("203.0.113.10", "127.0.0.1:5060 0.0.0.0:5061 sip.example.com:5062 203.0.113.10:5060", "192.0.2.2",
		"192.0.2.2 203.0.113.10")
	f("2001:db8::10", "[2001:db8::10]:5060", "192.0.2.2", "192.0.2.2")
	// Otherwise the default route's address, otherwise the only one.
	f("192.0.2.2", "127.0.0.1:5060", "192.0.2.2", "192.0.2.2 172.17.0.1")
	f("192.0.2.2", "0.0.0.0:5060", "", "192.0.2.2 2001:db8::2")
	f("192.0.2.2", "[::]:5060", "", "2001:db8::2 192.0.2.2")
	f("2001:db8::2", "0.0.0.0:5060", "", "2001:db8::2")
	// No other machine can reach one without addresses.
	f("127.0.0.1", "127.0.0.1:5060", "", "")
	// Among several, the right one is unknown.
	f("", "127.0.0.1:5060", "", "192.0.2.2 172.17.0.1")
	f("", "0.0.0.0:5060", "", "2001:db8::2 2001:db8::3")
}
