package process

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/rs/zerolog"

	"dialler/sipstack"
)

// checkPublicURL validates --public-url: bots must be able to post to it.
func checkPublicURL(given string) error {
	if given == "" {
		return nil
	}
	u, err := url.Parse(given)
	if err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" {
		if ip, err := netip.ParseAddr(u.Hostname()); err != nil || !ip.Unmap().IsUnspecified() {
			return nil
		}
	}
	return fmt.Errorf("--public-url must be http:// or https:// and a host that bots reach; got %q", given)
}

// publicURL returns the base URL under which bots reach the API: --public-url, otherwise the
// address that the API listens on. If that is "all addresses", to which no bot could post, it is
// one of the machine's own addresses.
func publicURL(given, scheme string, api net.Addr, listeners []sipstack.Listener, log zerolog.Logger) (string, error) {
	if given != "" {
		return strings.TrimSuffix(given, "/"), nil
	}
	at, err := netip.ParseAddrPort(api.String())
	if err != nil || !at.Addr().Unmap().IsUnspecified() {
		return scheme + api.String(), nil //nolint:nilerr // a listener that is no IP address is the one that bots reach
	}
	all, err := machineAddresses()
	if err != nil {
		return "", fmt.Errorf("read the machine's addresses, for bot results (or give --public-url): %w", err)
	}
	host, err := reachedAt(listeners, routedAddress(), all)
	if err != nil {
		return "", err
	}
	base := scheme + netip.AddrPortFrom(host, at.Port()).String()
	log.Warn().
		Str("result_url", base).
		Msg("the API listens on all addresses: bots post their results to this one. Give --public-url if they reach it at " +
			"another")
	return base, nil
}

// reachedAt picks the address at which bots reach this machine: the one carriers use; otherwise
// routed, the source address of the machine's default route; otherwise its only address.
func reachedAt(listeners []sipstack.Listener, routed netip.Addr, machine []netip.Addr) (netip.Addr, error) {
	for _, l := range listeners {
		if at, err := netip.ParseAddrPort(l.Address); err == nil && !at.Addr().Unmap().IsUnspecified() &&
			!at.Addr().IsLoopback() {
			return at.Addr(), nil
		}
	}
	if routed.IsValid() {
		return routed, nil
	}
	if len(machine) == 0 {
		return netip.AddrFrom4([4]byte{127, 0, 0, 1}), nil // no other machine can reach it
	}
	of := slices.DeleteFunc(slices.Clone(machine), func(a netip.Addr) bool { return !a.Is4() })
	if len(of) == 0 {
		of = machine
	}
	if len(of) > 1 {
		return netip.Addr{}, fmt.Errorf(
			"the API listens on all addresses, and the machine has several: %v; give --public-url, the base URL at which "+
				"bots reach it",
			of,
		)
	}
	return of[0], nil
}

// routedAddress returns the source address of the machine's default route; invalid without one.
// Nothing is sent.
func routedAddress() netip.Addr {
	for _, elsewhere := range []string{"203.0.113.1:9", "[2001:db8::1]:9"} { // RFC 5737, RFC 3849: nobody's
		c, err := net.Dial("udp", elsewhere)
		if err != nil {
			continue
		}
		from, err := netip.ParseAddrPort(c.LocalAddr().String())
		_ = c.Close()
		if err == nil && !from.Addr().IsLoopback() {
			return from.Addr().Unmap()
		}
	}
	return netip.Addr{}
}

// machineAddresses returns the machine's addresses that others may reach.
func machineAddresses() (all []netip.Addr, err error) {
	networks, err := net.InterfaceAddrs()
	for _, n := range networks {
		if p, err := netip.ParsePrefix(n.String()); err == nil && p.Addr().IsGlobalUnicast() &&
			!slices.Contains(all, p.Addr()) {
			all = append(all, p.Addr())
		}
	}
	return all, err
}

// networks parses --trusted-proxies: addresses, or networks as CIDR.
func networks(list []string) (all []netip.Prefix, err error) {
	for _, s := range list {
		p, err := netip.ParsePrefix(s)
		if a, single := netip.ParseAddr(s); single == nil {
			p, err = netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen()), nil
		}
		if err != nil || p.Addr().Is4In6() { // peers are compared as IPv4

			return nil, fmt.Errorf("--trusted-proxies: %q is neither an address nor a network such as 10.0.0.0/8", s)
		}
		all = append(all, p.Masked())
	}
	return all, nil
}

// encrypted says whether a URL is of https.
func encrypted(url string) bool { return strings.HasPrefix(strings.ToLower(url), "https://") }
