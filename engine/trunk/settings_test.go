package trunk

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dialler/engine"
)

func plain() engine.TrunkSettings {
	s := Defaults()
	s.ID, s.Host = "carrier-1", "sip.example.org"
	return s
}

// wrong lists "field code" for each mistake in plain settings after a change.
func wrong(change func(*engine.TrunkSettings)) []string {
	s := plain()
	change(&s)
	Complete(&s)
	var out []string
	for _, e := range Validate(&s) {
		if e.Message == "" {
			out = append(out, e.Field+" has no sentence")
		}
		out = append(out, e.Field+" "+e.Code)
	}
	return out
}

func TestEverySettingOfATrunkIsChecked(t *testing.T) {
	f := func(change func(*engine.TrunkSettings), want ...string) {
		t.Helper()
		if got := wrong(change); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	type s = engine.TrunkSettings
	f(func(*s) {})
	f(func(t *s) { t.ID, t.Host = "", "" }, "id invalid_format", "host required")
	f(func(t *s) { t.ID = engine.TrunkID(strings.Repeat("a", 65)) }, "id invalid_format")
	f(func(t *s) { t.ID, t.Host = "a b", "sip:example.org" }, "id invalid_format", "host invalid_format")
	f(func(t *s) { t.Host = strings.Repeat("a", 254) }, "host too_long")
	f(func(t *s) { t.Host = "2001:db8::1" })
	f(func(t *s) { t.Host = "[2001:db8::1]" })
	f(func(t *s) { t.Host = "[2001:db8::1" }, "host invalid_format")
	f(func(t *s) { t.Host = "example.org:5060" }, "host invalid_format")
	f(func(t *s) { t.Host = "fe80::1%eth0" }, "host invalid_format")
	f(func(t *s) { t.Port = -1 }, "port out_of_range")
	f(func(t *s) { t.Port = 65536 }, "port out_of_range")
	f(func(t *s) { t.Transport = "sctp" }, "transport unknown_value")
	f(func(t *s) { t.Transport = "tls" })
	f(func(t *s) { t.Kind = "magic" }, "kind unknown_value")
	f(func(t *s) { t.Kind, t.Username = engine.TrunkByIP, "u" }, "username not_used")
	f(func(t *s) { t.Kind = engine.TrunkRegistered }, "username required")
	f(func(t *s) { t.Username, t.Password = "u\r\nX: y", "p\n" }, "username invalid_format", "password invalid_format")
	f(func(t *s) { t.Username, t.Password = strings.Repeat("u", 129), strings.Repeat("p", 129) }, "username too_long",
		"password too_long")
	f(func(t *s) { t.FromUser, t.FromDomain = "a@b", "a/b" }, "from_domain invalid_format", "from_user invalid_format")
	f(func(t *s) { t.CallerIDHeader = "P-Asserted-Identity" }, "caller_id_header unknown_value")
	for _, p := range []string{"none", "id", "header;user", "id;critical", "user;session;id"} {
		f(func(t *s) { t.Privacy = p })
	}
	for _, p := range []string{"yes", "id,user", "id;id", "id; user", ";"} {
		f(func(t *s) { t.Privacy = p }, "privacy unknown_value")
	}
	f(func(t *s) { t.Privacy = "none;id" }, "privacy invalid_format")
	f(func(t *s) { t.Privacy = "critical" }, "privacy invalid_format")
	f(func(t *s) { t.NumberFormat = "+" }, "number_format unknown_value")
	f(func(t *s) { t.NumberFormat = "national" }, "number_country required")
	f(func(t *s) { t.NumberFormat, t.NumberCountry = "national", "DE" })
	f(func(t *s) { t.NumberCountry = "de" }, "number_country unknown_value")
	for _, p := range []string{"proxy.example.org", "192.0.2.1:5080", "[2001:db8::1]:5060", "[2001:db8::1]",
		"2001:db8::1"} {
		f(func(t *s) { t.OutboundProxy = p })
	}
	for _, p := range []string{"sip:proxy", "proxy:", "proxy:0", "proxy:+1", "proxy:65536", "[::1]:x", "a b", ":5060",
		"proxy;lr"} {
		f(func(t *s) { t.OutboundProxy = p }, "outbound_proxy invalid_format")
	}
	f(func(t *s) { t.Listener, t.ExternalHost, t.TLSServerName = "a b", "a b", "a b" },
		"listener invalid_format", "external_host invalid_format", "tls_server_name invalid_format")
	f(func(t *s) { t.Media.Symmetric = "always" }, "media.symmetric unknown_value")
	f(func(t *s) { t.Media.Networks = []string{"192.0.2.0/24", "192.0.2.1"} }, "media.networks[1] invalid_format")
	f(func(t *s) {
		t.Media.Networks, t.Media.Family, t.Media.SRTP = []string{"2001:db8::/32"}, "ipv6", "optional"
	})
	f(func(t *s) { t.Media.Networks = []string{"::ffff:10.0.0.0/104"} }, "media.networks[0] invalid_format")
	f(func(t *s) { t.Media.Family = "6" }, "media.family unknown_value")
	f(func(t *s) { t.TLSCertificate = "x" }, "tls_key required")
	f(func(t *s) { t.TLSKey = strings.Repeat("x", RootsCap+1) }, "tls_key too_long", "tls_certificate required")
	f(func(t *s) { t.Media.Networks = make([]string, NetworksCap+1) }, "media.networks too_many")
	f(func(t *s) { t.TLSRoots = strings.Repeat("x", RootsCap+1) }, "tls_roots too_long")
	f(func(t *s) { t.UserAgent = "a\rb" }, "user_agent invalid_format")
	f(func(t *s) { t.RegisterSec, t.SessionSec, t.Redirects = 29, 89, 6 }, "register_s out_of_range",
		"session_s out_of_range", "redirects out_of_range")
	f(func(t *s) { t.RegisterSec, t.SessionSec, t.Redirects = 86401, -2, -1 }, "register_s out_of_range",
		"session_s out_of_range", "redirects out_of_range")
	f(func(t *s) { t.RegisterSec, t.SessionSec, t.Redirects = 30, -1, 5 })
	f(func(t *s) { t.ReliableProvisionals, t.Inbound = "yes", "404" }, "reliable_provisionals unknown_value",
		"inbound unknown_value")
	f(func(t *s) {
		t.Media = engine.MediaProfile{Codecs: []string{"PCMA", "OPUS", "PCMA"}, SRTP: "yes", DTMF: "tone"}
	},
		"media.codecs[1] unknown_value", "media.codecs[2] duplicate", "media.srtp unknown_value", "media.dtmf unknown_value")
	f(func(t *s) { t.Media.Codecs = []string{"G722", "PCMA", "PCMU", "PCMU"} }, "media.codecs too_many")
	f(func(t *s) { t.CPSCap, t.ChannelCap, t.Priority, t.Weight, t.OptionsSec = 0, 0, -1, 0, 4 },
		"cps_cap out_of_range", "channel_cap out_of_range", "priority out_of_range", "weight out_of_range",
		"options_s out_of_range")
	f(func(t *s) {
		t.CPSCap, t.ChannelCap, t.Priority, t.Weight, t.OptionsSec = 10_001, 100_001, 1001, 1001, 3601
	},
		"cps_cap out_of_range", "channel_cap out_of_range", "priority out_of_range", "weight out_of_range",
		"options_s out_of_range")
	f(func(t *s) { t.OptionsSec = 0 }) // it is not asked
	f(func(t *s) { t.OptionsSec = -1 }, "options_s out_of_range")
}

func TestAHeaderThatTheDiallerWritesCannotBeSet(t *testing.T) {
	headers := func(h ...engine.SIPHeader) []string {
		return wrong(func(t *engine.TrunkSettings) { t.ExtraHeaders = h })
	}
	for _, name := range []string{"Via", "v", "FROM", "f", "To", "t", "Call-ID", "i", "CSeq", "Contact", "m",
		"Content-Type", "Content-Length", "content-anything", "c", "l", "Route", "Record-Route", "Max-Forwards",
		"Authorization", "Proxy-Authorization", "Identity", "y", "Privacy",
		"P-Asserted-Identity", "User-Agent", "Require", "Supported", "Session-Expires"} {
		if got := headers(engine.SIPHeader{Name: name, Value: "x"}); !slices.Equal(got,
			[]string{"extra_headers[0].name reserved_header"}) {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := headers(engine.SIPHeader{Name: "X-Account", Value: "42"},
		engine.SIPHeader{Name: "P-Charge-Info", Value: "<sip:1@x>;npi=1"}); got != nil {
		t.Errorf("%q", got)
	}
	got := headers(engine.SIPHeader{}, engine.SIPHeader{Name: "X Y", Value: "a\r\nVia: b"},
		engine.SIPHeader{Name: "X:", Value: strings.Repeat("x", 513)},
		engine.SIPHeader{Name: strings.Repeat("x", 65), Value: "v"})
	if !slices.Equal(got, []string{"extra_headers[0].name required", "extra_headers[0].value required",
		"extra_headers[1].name invalid_format", "extra_headers[1].value invalid_format",
		"extra_headers[2].name invalid_format", "extra_headers[2].value too_long", "extra_headers[3].name too_long"}) {
		t.Errorf("%q", got)
	}
	if got := headers(make([]engine.SIPHeader, 21)...); !slices.Equal(got, []string{"extra_headers too_many"}) {
		t.Errorf("%q", got)
	}
}

func TestAnOmittedPortIsTheTransportsForAnAddressAndTheNameServersForAName(t *testing.T) {
	f := func(host, transport string, want int) {
		t.Helper()
		s := plain()
		s.Host, s.Transport = host, transport
		Complete(&s)
		if s.Port != want {
			t.Errorf("%s %s: %d", host, transport, s.Port)
		}
	}
	f("192.0.2.1", "udp", 5060)
	f("[2001:db8::1]", "tls", 5061)
	f("sip.example.org", "tls", 0)
	s := plain()
	if Complete(&s); s.Kind != engine.TrunkByIP {
		t.Error(s.Kind)
	}
	s = plain()
	s.Username = "u"
	if Complete(&s); s.Kind != engine.TrunkByPassword {
		t.Error(s.Kind)
	}
}

func TestNoSettingThatPassesHoldsALineEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := plain()
		fields := []*string{&s.Host, &s.Username, &s.Password, &s.FromDomain, &s.FromUser, &s.Privacy, &s.OutboundProxy,
			&s.ExternalHost, &s.TLSServerName, &s.UserAgent, &s.Listener, &s.NumberCountry, &s.CallerIDHeader}
		evil := rapid.StringMatching(`[a-z]{0,3}[\r\n\x00][a-z: ]{0,5}`).Draw(t, "value")
		i := rapid.IntRange(0, len(fields)+1).Draw(t, "field")
		switch i - len(fields) {
		case 0:
			s.ExtraHeaders = []engine.SIPHeader{{Name: evil, Value: "v"}}
		case 1:
			s.ExtraHeaders = []engine.SIPHeader{{Name: "X-A", Value: evil}}
		default:
			*fields[i] = evil
		}
		Complete(&s)
		if len(Validate(&s)) == 0 {
			t.Fatalf("%q passes in field %d", evil, i)
		}
	})
}

func TestTheMediaOfATrunkFollowsItsAddress(t *testing.T) {
	f := func(host, proxy, family, want string) {
		t.Helper()
		s := engine.TrunkSettings{Host: host, OutboundProxy: proxy, Media: engine.MediaProfile{Family: family, DTX: true}}
		p := Profile(&s)
		if p.Reached != want || p.Family != family || !p.DTX || s.Media.Reached != "" {
			t.Errorf("%s by %q: %+v", host, proxy, p)
		}
	}
	f("192.0.2.1", "", "", "192.0.2.1")
	f("[2001:db8::1]", "", "", "2001:db8::1")
	f("::ffff:192.0.2.1", "", "", "192.0.2.1")
	f("sip.example.org", "", "", "")
	f("sip.example.org", "2001:db8::1", "", "2001:db8::1")
	f("192.0.2.1", "[2001:db8::1]:5060", "", "2001:db8::1")
	f("2001:db8::1", "192.0.2.1:5060", "", "192.0.2.1")
	f("2001:db8::1", "proxy.example.org:5060", "", "")
	f("2001:db8::1", "", "ipv4", "")
}
