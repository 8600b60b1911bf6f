package wire

import (
	"net"
	"net/netip"
	"testing"

	"github.com/valyala/fasthttp"
)

// The header of a known proxy is trusted, but not what the sender wrote.
func TestTheClientIsTheFirstAddressThatIsNoProxy(t *testing.T) {
	known := Proxies{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::/32")}
	for _, c := range []struct {
		peer, want string
		ignored    bool
		header     []string
	}{
		{"10.0.0.1", "10.0.0.1", false, nil},
		{"10.0.0.1", "203.0.113.5", false, []string{"203.0.113.5"}},
		{"10.0.0.1", "203.0.113.5", false, []string{"198.51.100.9, 203.0.113.5"}},             // the left one is forged
		{"10.0.0.1", "203.0.113.5", false, []string{"198.51.100.9", "203.0.113.5, 10.1.2.3"}}, // two proxies, two lines
		{"10.0.0.1", "203.0.113.5", false, []string{"203.0.113.5:4711"}},
		{"10.0.0.1", "2001:db9::1", false, []string{"[2001:db9::1]:4711"}},
		{"10.0.0.1", "2001:db9::1", false, []string{"2001:db9::1, 2001:db8::7"}},
		{"10.0.0.1", "10.0.0.1", false, []string{"unknown"}},
		{"10.0.0.1", "10.9.9.9", false, []string{"nonsense, 10.9.9.9"}},
		{"10.0.0.1", "10.0.0.1", false, []string{""}},
		{"203.0.113.77", "203.0.113.77", true, []string{"198.51.100.9"}},
		{"::ffff:10.0.0.1", "203.0.113.5", false, []string{"::ffff:203.0.113.5"}},
	} {
		rc := new(fasthttp.RequestCtx)
		rc.Init(&rc.Request, &net.TCPAddr{IP: net.ParseIP(c.peer)}, nil)
		for _, h := range c.header {
			rc.Request.Header.Add(forwardedFor, h)
		}
		if got, ignored := known.client(rc); got.String() != c.want || ignored != c.ignored {
			t.Errorf("%s with %q is %s, ignored %v; want %s, %v", c.peer, c.header, got, ignored, c.want, c.ignored)
		}
	}
}
