package wire

import (
	"bytes"
	"net/netip"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"
)

const forwardedFor = "X-Forwarded-For"

// Proxies are the networks of the proxies in front of the API: only their X-Forwarded-For is
// trusted.
type Proxies []netip.Prefix

// client returns the sender's address. It reads X-Forwarded-For from the right, where each proxy
// adds the address it received the request from, up to the first address that is not a proxy's:
// anything left of that comes from the sender, who can write anything. ignored says that a peer
// that is not a proxy sent the header.
func (p Proxies) client(rc *fasthttp.RequestCtx) (at netip.Addr, ignored bool) {
	peer, _ := netip.AddrFromSlice(rc.RemoteIP())
	peer = peer.Unmap()
	lines := rc.Request.Header.PeekAll(forwardedFor)
	if len(lines) == 0 {
		return peer, false
	}
	if !p.has(peer) {
		return peer, true
	}
	hops := strings.Split(string(bytes.Join(lines, []byte(","))), ",")
	for _, hop := range slices.Backward(hops) {
		next, ok := hopAddress(strings.TrimSpace(hop))
		if !ok {
			break
		}
		if peer = next; !p.has(peer) {
			break
		}
	}
	return peer, false
}

func (p Proxies) has(a netip.Addr) bool {
	return slices.ContainsFunc(p, func(n netip.Prefix) bool { return n.Contains(a) })
}

// hopAddress parses an address, to which some proxies add the port.
func hopAddress(s string) (netip.Addr, bool) {
	if a, err := netip.ParseAddr(strings.Trim(s, "[]")); err == nil {
		return a.Unmap().WithZone(""), true
	}
	a, err := netip.ParseAddrPort(s)
	return a.Addr().Unmap().WithZone(""), err == nil
}
