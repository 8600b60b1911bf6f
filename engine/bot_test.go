package engine

import (
	"strings"
	"testing"
)

func TestABotIsReachedInOneWay(t *testing.T) {
	for _, c := range []struct {
		endpoints []string
		want      []string // field code
		sip       bool
	}{
		{nil, []string{"endpoints required"}, false},
		{[]string{"ws://a", "wss://b/x"}, nil, false},
		{[]string{"sip:bot@a", "sip:bot@b;transport=tls"}, nil, true},
		{[]string{"sip:bot@a", "ws://b"}, []string{"endpoints[1] mixed_endpoints"}, true},
		{[]string{"ws://a", "sip:bot@b"}, []string{"endpoints[1] mixed_endpoints"}, false},
		{[]string{"sip:bot"}, []string{"endpoints[0] invalid_format"}, true},
		{[]string{"http://a", "ws://", "::"}, []string{"endpoints[0] invalid_format", "endpoints[1] invalid_format",
			"endpoints[2] invalid_format"}, false},
	} {
		errs := CheckBot(&Bot{Endpoints: c.endpoints})
		if len(errs) != len(c.want) {
			t.Errorf("%v: %v", c.endpoints, errs)
			continue
		}
		for i, e := range errs {
			if got := e.Field + " " + e.Code; got != c.want[i] || e.Message == "" {
				t.Errorf("%v: %s, want %s", c.endpoints, got, c.want[i])
			}
		}
		if b := (&Bot{Endpoints: c.endpoints}); (b.URIs() != nil) != c.sip {
			t.Errorf("%v: by SIP %v", c.endpoints, b.URIs())
		}
	}
}

func TestEverySettingOfABotsSocketIsChecked(t *testing.T) {
	f := func(b Bot, want ...string) {
		t.Helper()
		if b.Endpoints == nil {
			b.Endpoints = []string{"wss://a"}
		}
		var got []string
		for _, e := range CheckBot(&b) {
			if got = append(got, e.Field+" "+e.Code); e.Message == "" {
				t.Errorf("%s has no message", e.Field)
			}
		}
		if strings.Join(got, ", ") != strings.Join(want, ", ") {
			t.Errorf("%+v: %q, want %q", b, got, want)
		}
	}
	headers := func(h ...HTTPHeader) Bot { return Bot{Headers: h} }
	f(Bot{HealthURL: "/health?deep=1", Probe: ProbeConnection})
	f(Bot{HealthURL: "https://bots.example.org:8443/up"})
	f(Bot{Probe: ProbeSession})
	for _, u := range []string{"health", "//a/b", "ws://a", "http://", "http://u:p@a/", "/a b", "/a\n", "/a#b",
		"/" + strings.Repeat("a", healthURLCap)} {
		f(Bot{HealthURL: u}, "health_url invalid_format")
	}
	f(Bot{HealthURL: "/up", Probe: ProbeSession}, "probe mutually_exclusive")
	f(Bot{Probe: "ping"}, "probe unknown_value")
	f(Bot{Endpoints: []string{"sip:bot@a"}, HealthURL: "/up", Probe: ProbeSession,
		Headers: []HTTPHeader{{"X-A", "b"}}}, "health_url not_for_sip", "probe not_for_sip", "headers not_for_sip")
	f(Bot{Endpoints: []string{"sip:bot@a"}, Probe: ProbeConnection})
	f(headers(HTTPHeader{"Authorization", "Bearer a.b-c"}, HTTPHeader{"Sec-WebSocket-Protocol", "audio"}))
	f(headers(HTTPHeader{"X-A", "1"}, HTTPHeader{"x-a", "2"}), "headers[1].name duplicate")
	f(headers(HTTPHeader{"Host", "a"}, HTTPHeader{"X-Twilio-Signature", "a"}, HTTPHeader{"UPGRADE", "a"}),
		"headers[0].name reserved_header", "headers[1].name reserved_header", "headers[2].name reserved_header")
	f(headers(HTTPHeader{"", ""}, HTTPHeader{"a:b", "a\r\nb"}, HTTPHeader{"a", strings.Repeat("a", BotHeaderCap+1)}),
		"headers[0].name invalid_format", "headers[0].value invalid_format", "headers[1].name invalid_format",
		"headers[1].value invalid_format", "headers[2].value invalid_format")
	f(Bot{Headers: make([]HTTPHeader, BotHeadersCap+1)}, "headers too_many")
}

func TestTheHealthOfABotIsAskedAtItsURLOrAtEachEndpoint(t *testing.T) {
	f := func(health, endpoint, want string) {
		t.Helper()
		b := Bot{HealthURL: health, AuthToken: "t", Headers: []HTTPHeader{{"A", "b"}}}
		q := b.Question(endpoint)
		if q.HealthURL != want || q.Endpoint != endpoint || q.Probe != ProbeConnection || q.AuthToken != "t" ||
			len(q.Headers) != 1 {
			t.Errorf("%s of %s: %+v, want %s", health, endpoint, q, want)
		}
	}
	f("", "ws://a:81/calls", "")
	f("https://all.example.org/up", "ws://a:81/calls", "https://all.example.org/up")
	f("/up?x=1", "ws://a:81/calls/", "http://a:81/up?x=1")
	f("/up", "wss://a", "https://a/up")
	f("/up", "wss://a?x=/b", "https://a/up")
}
