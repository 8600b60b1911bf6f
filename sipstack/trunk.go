package sipstack

import (
	"cmp"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"dialler/engine"
	"dialler/sipstack/message"
	"dialler/sipstack/transport"

	"github.com/emiago/sipgo/sip"
)

// trunk is a configured carrier connection. Its configuration does not change:
// SetTrunk with another one makes another trunk, and legs keep theirs.
type trunk struct {
	s    *Stack
	conf TrunkConfig
	// hostPort is the host part of Request-URI and To.
	hostPort string
	params   string // URI parameters: ";transport=tcp" or none
	external string // our host as its far side knows it; empty: the listener's
	from     *transport.Endpoint
	tls      *transport.TLSPeer
	hopHost  string // where requests are sent: Host, or the outbound proxy
	hopPort  int
	fault    string // why it cannot send at all; empty when it can

	// supported and extensions are header lines of INVITEs (see prack.go).
	supported, extensions string
	reliable              bool   // 100rel is supported
	sessionSec            uint32 // our Session-Expires; 0 = no session timer
	userAgentLine         string // "User-Agent: …\r\n"
	agentLines            string // Allow and User-Agent
	extraLines            []byte // its extra headers
	anonymous             bool   // From does not tell who calls
	routeLine             string // to the outbound proxy, or empty

	keepalive    keepalive
	registration *registration // nil unless the trunk is registered

	reporting sync.Mutex // of report, so that changes are told in order
	healthMu  sync.Mutex
	known     bool
	last      engine.TrunkHealth
}

// prober is what waits for responses outside of a leg.
type prober interface {
	onResponse(r *sip.Response, seq uint32)
}

// report tells the trunk's health when it has changed: that of its OPTIONS, or,
// while a registered trunk is not registered, that.
func (t *trunk) report() {
	t.reporting.Lock()
	defer t.reporting.Unlock()
	h := engine.TrunkHealth{Trunk: t.conf.ID, At: time.Now()}
	k := &t.keepalive
	k.mu.Lock()
	known, stopped := k.known, k.stopped
	h.Up, h.Reason = k.up, k.reason
	k.mu.Unlock()
	if r := t.registration; r != nil {
		switch ok, reason := r.registered(); {
		case !ok:
			known, h.Up, h.Reason = true, false, "not registered: "+reason
		case !known:
			known, h.Up, h.Reason = true, true, "registered: "+reason
		}
	}
	if stopped || !known {
		return
	}
	t.healthMu.Lock()
	changed := !t.known || t.last.Up != h.Up
	t.known, t.last = true, h
	t.healthMu.Unlock()
	if tell := t.s.conf.OnTrunkHealth; changed && tell != nil {
		tell(h)
	}
}

func (s *Stack) newTrunk(c TrunkConfig) *trunk {
	if c.Transport == "" {
		c.Transport = message.UDP
	}
	if c.NumberFormat == "" {
		c.NumberFormat = NumberE164
	}
	if c.OptionsInterval == 0 {
		c.OptionsInterval = 30 * time.Second
	}
	t := &trunk{s: s, conf: c, hostPort: message.BracketHost(message.CleanHost(c.Host)), external: message.BracketHost(message.CleanHost(c.ExternalHost))}
	t.proxy()
	t.connect()
	if c.Port != 0 && c.Port != transport.DefaultPort(c.Transport) {
		t.hostPort += ":" + strconv.Itoa(c.Port)
	}
	if c.Transport != message.UDP {
		t.params = ";transport=" + string(c.Transport)
	}
	t.setExtensions()
	t.userAgentLine, t.agentLines = s.userAgentLine, s.agentLines
	if c.UserAgent != "" {
		t.userAgentLine = "User-Agent: " + message.Clean(c.UserAgent) + "\r\n"
		t.agentLines = message.AllowLine + t.userAgentLine
	}
	for _, h := range c.ExtraHeaders {
		t.extraLines = message.AppendHeader(t.extraLines, h.Name, h.Value)
	}
	t.anonymous = asksForAnonymity(c.Privacy)
	t.keepalive.trunk = t
	return t
}

// unusable says why nothing can be sent over the trunk; empty when it can.
func (t *trunk) unusable() string {
	if t.conf.Host == "" {
		return "the trunk is not configured"
	}
	if t.fault == "" && t.registration != nil {
		if ok, reason := t.registration.registered(); !ok {
			return "not registered: " + reason
		}
	}
	return t.fault
}

// user writes a number as the trunk wants it.
func (t *trunk) user(n engine.PhoneNumber) string {
	if write := t.s.conf.WriteNumber; write != nil && n != "" {
		return write(n, t.conf.NumberFormat, t.conf.NumberCountry)
	}
	if t.conf.NumberFormat == NumberE164NoPlus {
		return strings.TrimPrefix(n.E164(), "+")
	}
	return n.E164()
}

// targets lists the trunk's addresses, best first; none while its name is
// not resolved.
func (t *trunk) targets() []transport.Target {
	return t.toAll(t.s.net.Names.Cached(t.hopHost, t.hopPort, t.conf.Transport))
}

// resolved is targets, but waits for the first answer of the name server.
func (t *trunk) resolved() ([]transport.Target, error) {
	addrs, err := t.s.net.Names.Wait(t.hopHost, t.hopPort, t.conf.Transport)
	return t.toAll(addrs), err
}

func (t *trunk) toAll(addrs []netip.AddrPort) []transport.Target {
	out := make([]transport.Target, len(addrs))
	for i, a := range addrs {
		out[i] = t.to(a)
	}
	return t.s.net.Marks.Sort(out)
}

// to is the way to one address of the trunk.
func (t *trunk) to(a netip.AddrPort) transport.Target { return t.over(a, t.conf.Transport) }

// over is the way to an address of the trunk's far side over any transport.
func (t *trunk) over(a netip.AddrPort, over message.Transport) transport.Target {
	to := transport.Target{Addr: a, Transport: over, From: t.from}
	if over == message.TLS {
		to.TLS = t.tls
	}
	return to
}

// named is the way to a host that a dialog names: over TLS it must bear that
// name, unless the trunk's own settings say what is to be checked.
func (t *trunk) named(host string, to transport.Target) transport.Target {
	if _, literal := transport.Literal(host, 1); to.Transport != message.TLS || literal || t.conf.TLSServerName != "" {
		return to
	}
	if p, err := t.s.net.TLSPeer(t.from, host, t.conf.TLSRoots, t.conf.TLSInsecure); err == nil {
		to.TLS = p
	}
	return to
}

// proxy finds where requests outside of dialogs are sent. An outbound proxy is
// the pre-loaded route of them all (RFC 3261 §8.1.2).
func (t *trunk) proxy() {
	t.hopHost, t.hopPort = t.conf.Host, t.conf.Port
	if t.conf.OutboundProxy == "" {
		return
	}
	host, port := t.conf.OutboundProxy, ""
	if h, p, err := net.SplitHostPort(host); err == nil {
		host, port = h, p
	}
	n, err := strconv.ParseUint(cmp.Or(port, "0"), 10, 16)
	t.hopHost, t.hopPort = strings.Trim(host, "[]"), int(n)
	_, ip := transport.Literal(t.hopHost, 1)
	if err != nil || t.hopHost == "" || message.CleanHost(t.hopHost) != t.hopHost || (!ip && strings.ContainsAny(t.hopHost, ":[]")) {
		t.fault = "outbound_proxy must be host or host:port"
		return
	}
	at := message.BracketHost(t.hopHost)
	if n != 0 {
		at += ":" + strconv.Itoa(int(n))
	}
	params := ""
	if t.conf.Transport != message.UDP {
		params = ";transport=" + string(t.conf.Transport)
	}
	t.routeLine = "Route: <sip:" + at + params + ";lr>\r\n"
}

// connect finds what the trunk sends from and trusts; fault says why it cannot
// send at all.
func (t *trunk) connect() {
	if t.from = t.s.net.Listener(t.conf.Listener); t.from == nil {
		t.from, t.fault = t.s.net.First(), "there is no SIP listener "+t.conf.Listener
		return
	}
	if t.conf.Transport == message.UDP && !t.from.HasUDP() {
		t.fault = "the SIP listener " + t.from.Name + " has no UDP"
	}
	name := t.conf.TLSServerName
	if name == "" {
		name = t.hopHost
	}
	var err error
	if t.tls, err = t.s.net.TLSPeer(t.from, name, t.conf.TLSRoots, t.conf.TLSInsecure); err != nil && t.conf.Transport == message.TLS {
		t.fault = err.Error()
	}
}

// SetTrunk adds a trunk or changes it. Legs that exist keep the configuration
// that they were placed with. The same configuration again changes nothing.
func (s *Stack) SetTrunk(c TrunkConfig) {
	t := s.newTrunk(c)
	s.trunksMu.Lock()
	old := s.trunks[c.ID]
	if old != nil && old.conf.equal(&t.conf) || s.closing.Load() {
		s.trunksMu.Unlock()
		return
	}
	keeps := old != nil && old.registration != nil && sameRegistration(&old.conf, &t.conf)
	if keeps {
		t.registration = old.registration
	} else if t.conf.Kind == engine.TrunkRegistered {
		t.registration = s.newRegistration(t)
	}
	s.trunks[c.ID] = t
	s.trunksMu.Unlock()
	if old != nil {
		old.keepalive.stop()
		if old.registration != nil && !keeps {
			old.registration.stop()
		}
	}
	t.keepalive.start()
	if keeps {
		t.registration.adopt(t)
	} else if t.registration != nil {
		t.registration.start()
	}
	t.report()
}

// RemoveTrunk forgets a trunk: further legs of it end with LegNotSent(trunk),
// present ones go on.
func (s *Stack) RemoveTrunk(id engine.TrunkID) {
	s.trunksMu.Lock()
	old := s.trunks[id]
	delete(s.trunks, id)
	s.trunksMu.Unlock()
	if old != nil {
		old.keepalive.stop()
		if old.registration != nil {
			old.registration.stop()
		}
		s.guard.keep(s.isPeer)
	}
}

// Health lists how every trunk is of which that is known.
func (s *Stack) Health() []engine.TrunkHealth {
	s.trunksMu.RLock()
	defer s.trunksMu.RUnlock()
	var out []engine.TrunkHealth
	for _, t := range s.trunks {
		t.healthMu.Lock()
		if t.known {
			out = append(out, t.last)
		}
		t.healthMu.Unlock()
	}
	return out
}

// Unusable lists the trunks over which no call is to be placed from here now: their
// listener is missing, they are not registered, or they do not answer.
func (s *Stack) Unusable() []engine.TrunkID {
	s.trunksMu.RLock()
	defer s.trunksMu.RUnlock()
	var out []engine.TrunkID
	for id, t := range s.trunks {
		t.healthMu.Lock()
		down := t.known && !t.last.Up
		t.healthMu.Unlock()
		if down || t.unusable() != "" {
			out = append(out, id)
		}
	}
	return out
}

// SentBy gives what requests over each trunk have in their Via (host:port), of
// those whose far side's address is known.
func (s *Stack) SentBy() map[engine.TrunkID]string {
	s.trunksMu.RLock()
	defer s.trunksMu.RUnlock()
	by := make(map[engine.TrunkID]string, len(s.trunks))
	for id, t := range s.trunks {
		if to := t.targets(); len(to) > 0 {
			by[id] = t.sentBy(to[0])
		}
	}
	return by
}

func (s *Stack) trunk(id engine.TrunkID) *trunk {
	s.trunksMu.RLock()
	defer s.trunksMu.RUnlock()
	return s.trunks[id]
}

// localHost is our host as the trunk's far side at to knows it.
func (t *trunk) localHost(to transport.Target) string {
	if t.external != "" {
		return t.external
	}
	return t.s.net.LocalHost(t.s.net.From(to), to.Addr.Addr())
}

// sentBy is our host:port in Via and Contact.
func (t *trunk) sentBy(to transport.Target) string {
	return t.localHost(to) + t.s.net.From(to).PortOf(to.Transport)
}
