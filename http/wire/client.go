package wire

import (
	"bytes"
	"net/netip"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"
)

const forwardedFor = "X-Forwarded-For"

// Proxies are the networks of the proxies in front of the API: what their
// X-Forwarded-For says of who sent a request is believed, nobody else's is.
type Proxies []netip.Prefix

// client is who sent the request. It reads X-Forwarded-For from its right end, where each
// proxy writes the address that it heard from, up to the first address that is no
// proxy's: what stands left of that is the sender's own, who can write what they like.
// ignored says that a peer that is no proxy sent the header.
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

// hopAddress reads an address, which some proxies write with its port.
func hopAddress(s string) (netip.Addr, bool) {
	if a, err := netip.ParseAddr(strings.Trim(s, "[]")); err == nil {
		return a.Unmap().WithZone(""), true
	}
	a, err := netip.ParseAddrPort(s)
	return a.Addr().Unmap().WithZone(""), err == nil
}
