package leg

import (
	"slices"
	"strings"

	"dialler/engine"
	"dialler/sipstack/message"
	"dialler/sipstack/timing"
	"dialler/sipstack/transport"

	"github.com/emiago/sipgo/sip"
)

const (
	// maxFailOvers bounds how many further addresses of one name are tried after a 503.
	maxFailOvers = 2
	// maxRedirects bounds TrunkConfig.Redirects.
	maxRedirects = 5
)

// redirects tracks the places to which a leg was redirected.
type redirects struct {
	uri       string   // present Request-URI
	pending   []onward // not tried yet, best first
	tried     []string // in lower case, the first Request-URI included
	followed  int
	failed    int // addresses that answered 503 and were replaced by another
	resolving bool
	places    []place // of the INVITEs before the current one
}

// onward is a Contact of a 3xx: a new callee, or with 305 the proxy through which to retry (RFC
// 3261 §21.3.4).
type onward struct {
	uri   string
	proxy bool
}

// place is where an INVITE was sent: its ACK goes there too.
type place struct {
	cseq   uint32
	uri    string
	to     transport.Target
	sentBy string
}

// requestURI is the Request-URI of the current INVITE.
func (v *invitation) requestURI() string {
	if v.redirected != nil && v.redirected.uri != "" {
		return v.redirected.uri
	}
	return v.leg.parties.toURI
}

// placeOf returns where the INVITE with that CSeq was sent.
func (v *invitation) placeOf(cseq uint32) place {
	if v.redirected != nil {
		for _, p := range v.redirected.places {
			if cseq <= p.cseq {
				return p
			}
		}
	}
	return place{v.cseq, v.requestURI(), v.to, v.leg.sentBy}
}

// redirect follows a 3xx as often as the trunk allows, taking the Contacts in the order of their q;
// after a refusal it tries the next. No place is tried twice, so a loop ends. It returns false when
// the response ends the leg.
func (v *invitation) redirect(r *sip.Response) bool {
	l := v.leg
	limit := min(l.trunk.Conf.Redirects, maxRedirects)
	d := v.redirected
	switch r.StatusCode {
	case 300, 301, 302, 305, 380: // 380: the alternative service has its Contact too (§21.3.5)
		if limit <= 0 {
			return false
		}
		if d == nil {
			d = &redirects{tried: []string{strings.ToLower(l.parties.toURI)}}
			v.redirected = d
		}
		if d.resolving {
			return true // a retransmission
		}
		var next []onward
		for _, uri := range message.ContactsByQ(r) {
			next = append(next, onward{uri, r.StatusCode == 305})
		}
		d.pending = append(next, d.pending...)
		d.pending = d.pending[:min(len(d.pending), message.MaxContacts)]
	default:
		// RFC 3261 §8.1.3.4: try the next one after a failure, except for responses that speak for
		// the callee at any place.
		if d == nil || r.StatusCode < 400 || r.StatusCode >= 600 || r.StatusCode == 487 {
			return false
		}
	}
	for len(d.pending) > 0 && d.followed < limit {
		next := d.pending[0]
		uri, u, ok := message.Followable(next.uri)
		d.pending = d.pending[1:]
		key := strings.ToLower(uri)
		if next.proxy {
			// The trunk's own outbound proxy comes first: it knows the route.
			ok = ok && l.trunk.Conf.OutboundProxy == ""
			key, uri = "through "+key, v.requestURI()
		}
		if ok && !slices.Contains(d.tried, key) {
			d.tried = append(d.tried, key)
			d.followed++
			if v.follow(uri, u, message.Refusal(r)) {
				return true
			}
		}
	}
	return false
}

// follow sends the INVITE for uri to a Contact: at once when its address is known, otherwise from a
// goroutine when its name is resolved.
func (v *invitation) follow(uri string, u sip.Uri, refused engine.LegEvent) bool {
	l := v.leg
	over := l.trunk.Conf.Transport
	for _, p := range u.UriParams {
		if strings.EqualFold(p.K, "transport") {
			over, _ = message.TransportOf(p.V)
		}
	}
	if l.trunk.Conf.OutboundProxy != "" {
		return v.inviteAt(uri, v.to, refused)
	}
	if addrs := l.s.net.Names.Cached(u.Host, u.Port, over); len(addrs) > 0 {
		return v.inviteAt(uri, l.trunk.Named(u.Host, l.trunk.Over(addrs[0], over)), refused)
	}
	v.redirected.resolving = true
	l.enter(phaseCalling)
	v.data, v.resendAt = nil, 0
	l.deadline = l.s.clock.Now() + l.s.conf.Timers.Transaction()
	cseq := v.cseq
	go func() {
		addrs, _ := l.s.net.Names.Wait(u.Host, u.Port, over)
		l.mu.Lock()
		defer l.unlock()
		v.redirected.resolving = false
		if l.phase != phaseCalling || v.cseq != cseq {
			return
		}
		if l.cancelWanted || timing.BootNow() > v.sendBy || len(addrs) == 0 ||
			!v.inviteAt(uri, l.trunk.Named(u.Host, l.trunk.Over(addrs[0], over)), refused) {
			l.txs.dropCancels()
			l.finish(refused)
		}
	}()
	return true
}

// inviteAt starts the INVITE to another place: CSeq+1, the same To and From, no credentials of the
// previous place.
func (v *invitation) inviteAt(uri string, to transport.Target, refused engine.LegEvent) bool {
	l := v.leg
	d := v.redirected
	d.places = append(d.places, place{v.cseq, v.requestURI(), v.to, v.leg.sentBy})
	d.uri = uri
	from, name, id := l.parties.fromURI, l.parties.fromName, l.parties.callerID
	v.to = to
	v.address()
	l.parties.fromURI, l.parties.fromName, l.parties.callerID = from, name, id
	v.auth = v.auth.Again()
	if !v.sendAgain(refused) {
		return false
	}
	l.s.Count.Redirects.Add(1)
	return true
}

// failOver sends the INVITE to the next address of the trunk's name after a 503: that is a final
// refusal, so nothing rings (RFC 3263 §4.3). A 503 that names a limit on calls speaks for the
// carrier, not for one server. It returns false when the response ends the leg.
func (v *invitation) failOver(r *sip.Response) bool {
	l := v.leg
	if r.StatusCode != 503 || (v.redirected != nil &&
		(v.redirected.followed > 0 || v.redirected.failed >= maxFailOvers)) {
		return false
	}
	refused := message.Refusal(r)
	if refused.LimitReached {
		return false
	}
	l.s.net.Marks.Fail(v.to, refused.RetryAfter)
	here := v.to.Addr
	for len(v.spare) > 0 {
		to := v.spare[0]
		v.spare = v.spare[1:]
		if to.Addr == here {
			continue // UDP, after the length of the INVITE led to TCP
		}
		if v.redirected == nil {
			v.redirected = &redirects{tried: []string{strings.ToLower(l.parties.toURI)}}
		}
		v.redirected.failed++
		return v.inviteAt(v.requestURI(), to, refused)
	}
	return false
}
