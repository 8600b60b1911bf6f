package transport

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"dialler/sipstack/message"
)

// oddNames is a DNS server that returns arbitrary answers.
type oddNames struct{ b []byte }

func (o *oddNames) next() byte {
	if len(o.b) == 0 {
		return 0
	}
	c := o.b[0]
	o.b = o.b[1:]
	return c
}

func (o *oddNames) LookupSRV(context.Context, string, string, string) (string, []*net.SRV, error) {
	n := int(o.next())
	if n == 0 {
		return "", nil, errors.New("no such name")
	}
	var out []*net.SRV
	for range n {
		out = append(out, &net.SRV{Target: string([]byte{o.next(), '.'}), Port: uint16(o.next()) << 8,
			Priority: uint16(o.next())})
	}
	return "", out, nil
}

func (o *oddNames) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	n := int(o.next())
	if n == 255 {
		return nil, errors.New("no such name")
	}
	var out []netip.Addr
	for range n {
		if a, ok := netip.AddrFromSlice([]byte{o.next(), o.next(), o.next(), o.next()}); ok {
			out = append(out, a)
		}
	}
	return append(out, netip.IPv6Loopback(), netip.AddrFrom16(netip.MustParseAddr("::ffff:10.0.0.1").As16())), nil
}

// FuzzLookUp checks that however many records and addresses DNS returns, only a few are used, each
// one an address in the form that we compare.
func FuzzLookUp(f *testing.F) {
	f.Add([]byte{2, 'a', 19, 0, 'b', 20, 1, 2, 10, 0, 0, 1, 10, 0, 0, 2, 255}, 0)
	f.Add([]byte{0, 200}, 5060)
	f.Add([]byte{255}, 0)
	f.Fuzz(func(t *testing.T, b []byte, port int) {
		port = min(max(port, 0), 65535)
		addrs, err := lookUp(context.Background(), &oddNames{b}, dnsKey{"h", port, message.UDP})
		if len(addrs) > maxTargets || err == nil && len(addrs) == 0 {
			t.Fatalf("%d addresses, %v", len(addrs), err)
		}
		for _, a := range addrs {
			if !a.Addr().IsValid() || a.Addr().Is4In6() || port > 0 && int(a.Port()) != port {
				t.Fatalf("%v with port %d", a, port)
			}
		}
	})
}

func TestDNSKeepsABoundedNumberOfNames(t *testing.T) {
	r := Names{ask: &oddNames{}, m: map[dnsKey]*dnsEntry{}}
	for i := range maxNames {
		r.m[dnsKey{port: i}] = &dnsEntry{at: time.Now()} // all fresh
	}
	if got := r.Cached("one.more", 1, message.UDP); got != nil || len(r.m) > maxNames {
		t.Fatalf("%v, %d names", got, len(r.m))
	}
}
