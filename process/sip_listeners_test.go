package process

import (
	"os"
	"strings"
	"testing"

	"dialler/sipstack"
)

func TestTheListenersOfTheDocumentationAreListeners(t *testing.T) {
	file, _ := certificate(t)
	page, err := os.ReadFile("../docs/trunks.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\nsip-listeners:")
	example, _, _ := strings.Cut(rest, "```")
	if !strings.Contains(example, "/etc/dialler/sip.pem") {
		t.Fatal("no example")
	}
	flags := Flags{SIP: "127.0.0.1:5060", ConfigPath: trunksFile(t,
		"sip-listeners:"+strings.ReplaceAll(example, "/etc/dialler/sip.pem", file))}
	list, err := flags.sipListeners()
	if err != nil || len(list) != 2 {
		t.Fatalf("%+v %v", list, err)
	}
	if a, b := list[0], list[1]; a.Name != "inside" || a.Certificate != nil || b.ExternalHost == "" ||
		len(b.Transports) != 3 || b.Certificate == nil {
		t.Fatalf("%+v", list)
	}
}

func TestWithoutListenersInTheFileTheFlagsSayIt(t *testing.T) {
	flags := Flags{SIP: "192.0.2.1:5070", SIPExternal: "203.0.113.9", ConfigPath: trunksFile(t, "log-level: info\n")}
	list, err := flags.sipListeners()
	if err != nil || len(list) != 1 || list[0].Address != "192.0.2.1:5070" || list[0].ExternalHost != "203.0.113.9" ||
		len(list[0].Transports) != 0 {
		t.Fatalf("%+v %v", list, err)
	}
	flags.SIP = "nowhere"
	if err := flags.Check(); err == nil || !strings.Contains(err.Error(), "--sip") {
		t.Fatal(err)
	}
}

func TestWhatIsWrongWithAListenerOfTheFileIsSaid(t *testing.T) {
	for text, want := range map[string]string{
		"sip-listeners: yes\n":                                 "must be a list",
		"sip-listeners:\n  - {name: a, adress: 127.0.0.1:0}\n": "adress",
		"sip-listeners:\n  - {name: a, address: 127.0.0.1:0, certificate: /not/there}\n": "sip-listeners[0] (a): " +
			"certificate",
		"sip-listeners:\n  - {name: a, address: 127.0.0.1:0, key: /not/there}\n":            "needs a certificate",
		"sip-listeners:\n  - {name: a, address: 127.0.0.1:0, transports: [sctp]}\n":         "not udp, tcp or tls",
		"sip-listeners:\n  - {name: a, address: 127.0.0.1:0}\n  - {address: 127.0.0.1:0}\n": "needs a name",
	} {
		flags := Flags{ConfigPath: trunksFile(t, text)}
		list, err := flags.sipListeners()
		if err == nil {
			var s *sipstack.Stack
			if s, err = sipstack.New(sipstack.Config{Listeners: list}); err == nil {
				_ = s.Close()
			}
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestAudioHasAnAddressOfEachFamilyThatSIPHas(t *testing.T) {
	f := func(flag string, want, families string, listeners ...string) {
		t.Helper()
		var list []sipstack.Listener
		for _, a := range listeners {
			list = append(list, sipstack.Listener{Address: a})
		}
		hosts := rtpHosts(flag, list)
		if got := strings.Join(hosts, " "); got != want || strings.Join(familiesOf(hosts), " ") != families {
			t.Errorf("%q with %q: %q, %q", flag, listeners, got, familiesOf(hosts))
		}
	}
	f("", "127.0.0.1", "ipv4", "127.0.0.1:5060")
	f("", "::1", "ipv6", "[::1]:5060")
	f("", "192.0.2.1 2001:db8::1", "ipv4 ipv6", "192.0.2.1:5060", "192.0.2.2:5060", "[::]:5070", "[2001:db8::1]:5060")
	f("192.0.2.9", "192.0.2.9", "ipv4", "[2001:db8::1]:5060")
	f("2001:db8::9, 192.0.2.9", "2001:db8::9 192.0.2.9", "ipv6 ipv4", "192.0.2.1:5060")
}
