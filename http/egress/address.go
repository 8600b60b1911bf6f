package egress

import "net/netip"

// Networks that are not public addresses (RFC 6890 and the registries of special-purpose
// addresses), in addition to those that net/netip knows.
var special = parse(
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24",
	"203.0.113.0/24", "240.0.0.0/4",
	"2001::/23", "2001:db8::/32", "3fff::/20",
)

var (
	global6 = netip.MustParsePrefix("2000::/3")     // everything allocated so far (RFC 4291)
	nat64   = netip.MustParsePrefix("64:ff9b::/96") // an IPv4 address is in its last 32 bits (RFC 6052)
	sixTo4  = netip.MustParsePrefix("2002::/16")    // an IPv4 address is in bits 16 to 47 (RFC 3056)
)

func parse(list ...string) (out []netip.Prefix) {
	for _, s := range list {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

// Public says whether an address is on the public internet. An IPv6 address that embeds an IPv4 one
// is judged as that.
func Public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	b := a.As16()
	switch {
	case !a.IsValid():
		return false
	case a.Is6() && nat64.Contains(a):
		return Public(netip.AddrFrom4([4]byte(b[12:])))
	case a.Is6() && sixTo4.Contains(a):
		return Public(netip.AddrFrom4([4]byte(b[2:6])))
	case a.Is6() && !global6.Contains(a):
		return false
	case a.IsPrivate(), a.IsLoopback(), a.IsLinkLocalUnicast(), a.IsMulticast(), a.IsUnspecified():
		return false
	}
	for _, p := range special {
		if p.Contains(a) {
			return false
		}
	}
	return true
}
