package trunk

import (
	"net/netip"
	"strings"

	"dialler/sipstack/message"
	"dialler/sipstack/transport"

	"github.com/emiago/sipgo/sip"
)

// serviceRoute is the way that the registrar wants our calls to take: the Service-Route of its 200
// (RFC 3608). It holds until the next 200, which may have another or none.
type serviceRoute struct {
	line string // "Route: …\r\n"
	// The first hop, which calls are sent to unless there is an outbound proxy.
	host string
	port int
}

// serviceRouteOf reads the Service-Route of a response to REGISTER; nil means there is none. One
// with an element that is no loose-routing SIP URI (§5) is not taken.
func serviceRouteOf(m sip.Message) (route *serviceRoute, ok bool) {
	elements := message.ListOf(m, "service-route")
	if len(elements) == 0 {
		return nil, true
	}
	for i, e := range elements {
		_, u, followable := message.Followable(message.AddrSpec(e))
		if !followable || i == message.MaxContacts || message.Clean(e) != e {
			return nil, false
		}
		if _, loose := u.UriParams.Get("lr"); !loose {
			return nil, false
		}
		if i == 0 {
			route = &serviceRoute{host: strings.Clone(u.Host), port: u.Port}
		}
	}
	route.line = "Route: " + strings.Join(elements, ", ") + "\r\n"
	return route, true
}

// serviceRoute returns the one in force; nil means there is none.
func (t *Trunk) serviceRoute() *serviceRoute {
	if t.registration == nil {
		return nil
	}
	return t.registration.route.Load()
}

// CallRoute returns the Route header lines of a call's INVITE: the outbound proxy, then what the
// registrar wants (RFC 3608 §5.1).
func (t *Trunk) CallRoute() string {
	if s := t.serviceRoute(); s != nil {
		return t.RouteLine + s.line
	}
	return t.RouteLine
}

// callHop is the host that calls are sent to.
func (t *Trunk) callHop() (host string, port int) {
	if s := t.serviceRoute(); s != nil && t.Conf.OutboundProxy == "" {
		return s.host, s.port
	}
	return t.hopHost, t.hopPort
}

// CallTargets lists the addresses that calls are sent to, best first; it is empty while the name is
// unresolved.
func (t *Trunk) CallTargets() []transport.Target {
	host, port := t.callHop()
	return t.calls(host, t.set.net.Names.Cached(host, port, t.Conf.Transport))
}

// ResolvedCallTargets is CallTargets, but waits for the first DNS answer.
func (t *Trunk) ResolvedCallTargets() []transport.Target {
	host, port := t.callHop()
	addrs, _ := t.set.net.Names.Wait(host, port, t.Conf.Transport)
	return t.calls(host, addrs)
}

// peers lists the addresses that requests of the trunk may come from.
func (t *Trunk) peers() []transport.Target {
	if host, port := t.callHop(); host != t.hopHost || port != t.hopPort {
		return append(t.Targets(), t.CallTargets()...)
	}
	return t.Targets()
}

func (t *Trunk) calls(host string, addrs []netip.AddrPort) []transport.Target {
	to := t.toAll(addrs)
	if host != t.hopHost {
		for i := range to {
			to[i] = t.Named(host, to[i])
		}
	}
	return to
}
