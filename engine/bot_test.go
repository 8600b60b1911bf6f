package engine

import "testing"

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
		errs := CheckEndpoints(c.endpoints)
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
