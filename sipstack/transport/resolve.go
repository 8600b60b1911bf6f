package transport

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"dialler/sipstack/message"
)

const (
	// dnsFresh is how long an answer is used before it is looked up again: the standard library's
	// resolver does not report the record's TTL. The old answer serves while the new one is being
	// fetched, and when that fails.
	dnsFresh   = time.Minute
	dnsTimeout = 5 * time.Second
	// maxNames bounds the names in the cache: far sides can name hosts too.
	maxNames = 10_000
	// maxTargets bounds the addresses used of one name.
	maxTargets = 8
)

// Resolver is the part of DNS that is needed: a *net.Resolver implements it. It returns SRV records
// sorted by priority and shuffled by weight (RFC 2782).
type Resolver interface {
	LookupSRV(ctx context.Context, service, proto, name string) (string, []*net.SRV, error)
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Names is a cache of host names, so that no message waits for DNS.
type Names struct {
	ask Resolver
	mu  sync.Mutex
	m   map[dnsKey]*dnsEntry
}

type dnsKey struct {
	host string
	port int // 0: by SRV, otherwise the transport's default
	over message.Transport
}

type dnsEntry struct {
	addrs []netip.AddrPort
	err   error
	at    time.Time
	busy  chan struct{} // closed when the running look-up ends; nil when none runs
}

// DefaultPort is the default port of a transport (RFC 3261 §19.1.2).
func DefaultPort(t message.Transport) int {
	if t == message.TLS {
		return 5061
	}
	return 5060
}

// Literal returns the address of a host that needs no look-up.
func Literal(host string, port int) (netip.AddrPort, bool) {
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	if err != nil {
		return netip.AddrPort{}, false
	}
	return netip.AddrPortFrom(ip.Unmap(), uint16(port)), true //nolint:gosec // a port
}

// Cached returns what is known of a host without waiting; it starts a look-up when that is nothing
// or stale.
func (r *Names) Cached(host string, port int, over message.Transport) []netip.AddrPort {
	if a, ok := Literal(host, cmp.Or(port, DefaultPort(over))); ok {
		return []netip.AddrPort{a}
	}
	e, _ := r.refresh(dnsKey{strings.ToLower(host), port, over})
	return e.addrs
}

// Wait is Cached, but waits for the first answer.
func (r *Names) Wait(host string, port int, over message.Transport) ([]netip.AddrPort, error) {
	if a, ok := Literal(host, cmp.Or(port, DefaultPort(over))); ok {
		return []netip.AddrPort{a}, nil
	}
	key := dnsKey{strings.ToLower(host), port, over}
	e, busy := r.refresh(key)
	if len(e.addrs) > 0 || busy == nil {
		return e.addrs, e.err
	}
	<-busy
	e, _ = r.refresh(key)
	return e.addrs, e.err
}

// refresh copies the entry and starts a look-up unless the entry is fresh.
func (r *Names) refresh(key dnsKey) (dnsEntry, chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.m == nil {
		r.m = map[dnsKey]*dnsEntry{}
	}
	e := r.m[key]
	if e == nil && len(r.m) >= maxNames {
		if r.prune(); len(r.m) >= maxNames {
			return dnsEntry{err: errNames}, nil
		}
	}
	if e == nil {
		e = &dnsEntry{}
		r.m[key] = e
	}
	fresh := dnsFresh
	if e.err != nil {
		fresh = dnsTimeout // retry soon after a failure
	}
	if e.busy == nil && (e.at.IsZero() || time.Since(e.at) > fresh) {
		e.busy = make(chan struct{})
		go r.look(key, e)
	}
	return *e, e.busy
}

var errNames = errors.New("too many host names are being looked up")

// prune removes stale entries that are not being looked up; if that frees too little, it also
// removes some of the others, which are looked up again on demand.
func (r *Names) prune() {
	for k, e := range r.m {
		if e.busy == nil && time.Since(e.at) > dnsFresh {
			delete(r.m, k)
		}
	}
	for k, e := range r.m {
		if len(r.m) <= maxNames*7/8 {
			return
		}
		if e.busy == nil {
			delete(r.m, k)
		}
	}
}

func (r *Names) look(key dnsKey, e *dnsEntry) {
	ctx, cancel := context.WithTimeout(context.Background(), dnsTimeout)
	defer cancel()
	addrs, err := lookUp(ctx, r.ask, key)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		e.addrs = addrs
	}
	e.err, e.at = err, time.Now()
	close(e.busy)
	e.busy = nil
}

// lookUp follows RFC 3263 §4.2: without a port it tries SRV first, then addresses.
func lookUp(ctx context.Context, ask Resolver, key dnsKey) ([]netip.AddrPort, error) {
	if key.port == 0 {
		service, proto := "sip", string(key.over)
		if key.over == message.TLS {
			service, proto = "sips", "tcp"
		}
		// The records come sorted by priority and shuffled by weight.
		if _, records, err := ask.LookupSRV(ctx, service, proto, key.host); err == nil {
			var out []netip.AddrPort
			for _, srv := range records {
				if ips, err := addresses(ctx, ask, srv.Target); err == nil {
					for _, ip := range ips[:min(len(ips), maxTargets-len(out))] {
						out = append(out, netip.AddrPortFrom(ip, srv.Port))
					}
				}
			}
			if len(out) > 0 {
				return out, nil
			}
		}
		key.port = DefaultPort(key.over)
	}
	ips, err := addresses(ctx, ask, key.host)
	if err != nil {
		return nil, err
	}
	ips = ips[:min(len(ips), maxTargets)]
	out := make([]netip.AddrPort, len(ips))
	for i, ip := range ips {
		port := uint16(key.port) //nolint:gosec // a port: of the configuration, or checked by NextHop
		out[i] = netip.AddrPortFrom(ip, port)
	}
	return out, nil
}

// addresses lists a name's addresses, IPv4 first.
func addresses(ctx context.Context, ask Resolver, host string) ([]netip.Addr, error) {
	ips, err := ask.LookupNetIP(ctx, "ip", strings.TrimSuffix(host, "."))
	if err != nil {
		return nil, err
	}
	out := make([]netip.Addr, 0, len(ips))
	for _, four := range []bool{true, false} {
		for _, ip := range ips {
			if ip = ip.Unmap(); ip.Is4() == four {
				out = append(out, ip)
			}
		}
	}
	return out, nil
}
