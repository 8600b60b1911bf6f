package trunk

import (
	"cmp"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"dialler/engine"
	"dialler/sipstack/message"
	"dialler/sipstack/transport"

	"github.com/emiago/sipgo/sip"
)

// Trunk is a configured carrier connection. It is immutable: SetTrunk with another configuration
// makes another trunk, and existing legs keep theirs.
type Trunk struct {
	set  *Set
	Conf Config
	// HostPort is the host part of Request-URI and To.
	HostPort string
	Params   string // URI parameters: ";transport=tcp" or none
	external string // our host as seen by the far side; empty: the listener's
	from     *transport.Endpoint
	tls      *transport.TLSPeer
	hopHost  string // where requests are sent: Host, or the outbound proxy
	hopPort  int
	fault    string // why it cannot send at all; empty when it can

	// Supported and Extensions are header lines of INVITEs (see setExtensions).
	Supported, Extensions string
	Reliable              bool   // 100rel is supported
	SessionSec            uint32 // our Session-Expires; 0 = no session timer
	UserAgentLine         string // "User-Agent: …\r\n"
	AgentLines            string // Allow and User-Agent
	ExtraLines            []byte // its extra headers
	Anonymous             bool   // From hides the caller ID
	RouteLine             string // to the outbound proxy, or empty

	keepalive    keepalive
	registration *registration // nil unless the trunk is registered

	calledAt  atomic.Int64 // when a call last gave a sign of life, on the stack's clock; 0 = never
	silentAt  atomic.Int64 // when the INVITE left that raised doubts (see Silent), on the same clock; 0 = no doubts
	alive     atomic.Bool  // last.Life is engine.TrunkAlive
	reporting sync.Mutex   // held by report, so that changes are reported in order
	healthMu  sync.Mutex
	last      engine.TrunkHealth // its Life is empty until the first report
}

// prober handles responses outside a leg.
type prober interface {
	onResponse(r *sip.Response, seq uint32)
}

// Sign notes a sign of life that one of the trunk's calls gave: a response, or a request inside its
// dialog. A leg may be locked meanwhile.
func (t *Trunk) Sign() {
	t.calledAt.Store(int64(t.set.clock.Now()))
	t.silentAt.Store(0)
	if !t.alive.Load() && t.set.Get(t.Conf.ID) == t {
		t.report()
	}
}

// Silent notes that an INVITE that left at that time had no response within Timers.InviteSilence. If the
// trunk has given no other sign of life since, it is asked at once, and what it told before counts no longer
// if it does not answer either: a carrier that lost power is noticed in eight seconds, and not after a minute
// of dials. A leg may be locked meanwhile.
func (t *Trunk) Silent(left time.Duration) {
	if t.called() > left || !t.silentAt.CompareAndSwap(0, int64(left)) {
		return
	}
	if t.Conf.OptionsInterval < 0 {
		time.AfterFunc(t.set.timers.OptionsWait, t.report) // nobody asks: calls alone may tell
		return
	}
	t.keepalive.hurry()
}

func (t *Trunk) doubted() time.Duration { return time.Duration(t.silentAt.Load()) }

func (t *Trunk) called() time.Duration { return time.Duration(t.calledAt.Load()) }

// talks says whether a conversation goes on over the trunk. Where the far side may send nothing
// while nobody speaks, that shows nothing.
func (t *Trunk) talks() bool { return !t.Conf.DTX && t.set.Talks != nil && t.set.Talks(t) }

// retry is the pause after OPTIONS that were not answered.
func (t *Trunk) retry() time.Duration { return min(t.Conf.OptionsInterval, t.set.timers.OptionsRetry) }

// report reports the trunk's health when it has changed.
func (t *Trunk) report() {
	t.reporting.Lock()
	defer t.reporting.Unlock()
	k := &t.keepalive
	k.mu.Lock()
	stopped, reason := k.stopped, k.reason
	h := engine.TrunkHealth{Trunk: t.Conf.ID, At: k.at}
	signs := engine.TrunkSigns{Options: k.options, Trusted: k.trusted, Talks: k.talks, CalledAt: t.called(),
		SilentAt: t.doubted(), Now: t.set.clock.Now(), Within: t.retry()}
	k.mu.Unlock()
	registration := ""
	if r := t.registration; r != nil {
		signs.Registers = true
		var at time.Time
		if signs.Registered, registration, at = r.registered(); at.After(h.At) {
			h.At = at
		}
	}
	h.Life = signs.Life()
	var said []string // how it is known
	switch {
	case signs.Registers && !signs.Registered:
		said, reason = []string{"not registered: " + registration}, ""
	case h.Life == engine.TrunkUnproven && t.Conf.OptionsInterval < 0:
		said = []string{"not asked by OPTIONS, and no call was answered yet"}
	case h.Life != engine.TrunkAlive || signs.Options == engine.TrunkAnswers:
	case signs.Registered:
		said = []string{"registered: " + registration}
	default:
		said = []string{"calls are answered"}
	}
	if reason != "" {
		said = append(said, reason)
	}
	h.Reason = strings.Join(said, "; ")
	if stopped {
		return
	}
	t.healthMu.Lock()
	changed := t.last.Life != h.Life
	t.last = h
	t.healthMu.Unlock()
	t.alive.Store(h.Life == engine.TrunkAlive)
	if tell := t.set.onHealth; changed && tell != nil {
		tell(h)
	}
}

func (k *Set) New(c Config) *Trunk {
	if c.Transport == "" {
		c.Transport = message.UDP
	}
	if c.NumberFormat == "" {
		c.NumberFormat = NumberE164
	}
	if c.OptionsInterval == 0 {
		c.OptionsInterval = 30 * time.Second
	}
	t := &Trunk{
		set: k, Conf: c, HostPort: message.BracketHost(message.CleanHost(c.Host)),
		external: message.BracketHost(message.CleanHost(c.ExternalHost)),
	}
	t.proxy()
	t.connect()
	if c.Port != 0 && c.Port != transport.DefaultPort(c.Transport) {
		t.HostPort += ":" + strconv.Itoa(c.Port)
	}
	if c.Transport != message.UDP {
		t.Params = ";transport=" + string(c.Transport)
	}
	t.setExtensions()
	t.UserAgentLine, t.AgentLines = k.UserAgentLine, k.AgentLines
	if c.UserAgent != "" {
		t.UserAgentLine = "User-Agent: " + message.Clean(c.UserAgent) + "\r\n"
		t.AgentLines = message.AllowLine + t.UserAgentLine
	}
	for _, h := range c.ExtraHeaders {
		t.ExtraLines = message.AppendHeader(t.ExtraLines, h.Name, h.Value)
	}
	t.Anonymous = asksForAnonymity(c.Privacy)
	t.keepalive.trunk = t
	return t
}

// Unusable says why nothing can be sent over the trunk; empty when it can.
func (t *Trunk) Unusable() string {
	if t.Conf.Host == "" {
		return "the trunk is not configured"
	}
	if t.fault == "" && t.registration != nil {
		if ok, reason, _ := t.registration.registered(); !ok {
			return "not registered: " + reason
		}
	}
	return t.fault
}

// User formats a number as the trunk wants it.
func (t *Trunk) User(n engine.PhoneNumber) string {
	if write := t.set.writeNumber; write != nil && n != "" {
		return write(n, t.Conf.NumberFormat, t.Conf.NumberCountry)
	}
	if t.Conf.NumberFormat == NumberE164NoPlus {
		return strings.TrimPrefix(n.E164(), "+")
	}
	return n.E164()
}

// Targets lists the trunk's addresses, best first; it is empty while the name is unresolved.
func (t *Trunk) Targets() []transport.Target {
	return t.toAll(t.set.net.Names.Cached(t.hopHost, t.hopPort, t.Conf.Transport))
}

// Resolved is Targets, but waits for the first DNS answer.
func (t *Trunk) Resolved() ([]transport.Target, error) {
	addrs, err := t.set.net.Names.Wait(t.hopHost, t.hopPort, t.Conf.Transport)
	return t.toAll(addrs), err
}

func (t *Trunk) toAll(addrs []netip.AddrPort) []transport.Target {
	out := make([]transport.Target, len(addrs))
	for i, a := range addrs {
		out[i] = t.To(a)
	}
	return t.set.net.Marks.Sort(out)
}

// To returns the target for one of the trunk's addresses.
func (t *Trunk) To(a netip.AddrPort) transport.Target { return t.Over(a, t.Conf.Transport) }

// Over returns the target for an address of the trunk's far side over any transport.
func (t *Trunk) Over(a netip.AddrPort, over message.Transport) transport.Target {
	to := transport.Target{Addr: a, Transport: over, From: t.from}
	if over == message.TLS {
		to.TLS = t.tls
	}
	return to
}

// Named returns the target for a host that a dialog names: over TLS the certificate must have that
// name, unless the trunk's own settings say what to check.
func (t *Trunk) Named(host string, to transport.Target) transport.Target {
	if _, literal := transport.Literal(host, 1); to.Transport != message.TLS || literal || t.Conf.TLSServerName != "" {
		return to
	}
	if p, err := t.set.net.TLSPeer(t.from, host, t.Conf.trust()); err == nil {
		to.TLS = p
	}
	return to
}

// proxy determines where requests outside dialogs are sent. An outbound proxy is the pre-loaded
// route of them all (RFC 3261 §8.1.2).
func (t *Trunk) proxy() {
	t.hopHost, t.hopPort = t.Conf.Host, t.Conf.Port
	if t.Conf.OutboundProxy == "" {
		return
	}
	host, port := t.Conf.OutboundProxy, ""
	if h, p, err := net.SplitHostPort(host); err == nil {
		host, port = h, p
	}
	n, err := strconv.ParseUint(cmp.Or(port, "0"), 10, 16)
	t.hopHost, t.hopPort = strings.Trim(host, "[]"), int(n)
	_, ip := transport.Literal(t.hopHost, 1)
	if err != nil || t.hopHost == "" || message.CleanHost(t.hopHost) != t.hopHost ||
		(!ip && strings.ContainsAny(t.hopHost, ":[]")) {
		t.fault = "outbound_proxy must be host or host:port"
		return
	}
	at := message.BracketHost(t.hopHost)
	if n != 0 {
		at += ":" + strconv.Itoa(int(n))
	}
	params := ""
	if t.Conf.Transport != message.UDP {
		params = ";transport=" + string(t.Conf.Transport)
	}
	t.RouteLine = "Route: <sip:" + at + params + ";lr>\r\n"
}

// connect determines the source address and the trusted certificates; fault says why the trunk
// cannot send at all.
func (t *Trunk) connect() {
	if t.from = t.set.net.Listener(t.Conf.Listener); t.from == nil {
		t.from, t.fault = t.set.net.First(), "there is no SIP listener "+t.Conf.Listener
		return
	}
	if t.Conf.Transport == message.UDP && !t.from.HasUDP() {
		t.fault = "the SIP listener " + t.from.Name + " has no UDP"
	}
	name := t.Conf.TLSServerName
	if name == "" {
		name = t.hopHost
	}
	var err error
	t.tls, err = t.set.net.TLSPeer(t.from, name, t.Conf.trust())
	if err != nil && t.Conf.Transport == message.TLS {
		t.fault = err.Error()
	}
}

// LocalHost is our host as seen by the trunk's far side at to.
func (t *Trunk) LocalHost(to transport.Target) string {
	if t.external != "" {
		return t.external
	}
	return t.set.net.LocalHost(t.set.net.From(to), to.Addr.Addr())
}

// SentBy is our host:port in Via and Contact.
func (t *Trunk) SentBy(to transport.Target) string {
	return t.LocalHost(to) + t.set.net.From(to).PortOf(to.Transport)
}

// NextHop finds the address of a URI without waiting. source is where the 2xx came from; it is used
// when the URI has no usable address.
func (t *Trunk) NextHop(uri string, source transport.Target) transport.Target {
	var u sip.Uri
	if uri == "" || sip.ParseUri(uri, &u) != nil || u.Host == "" || u.Port < 0 || u.Port > 65535 {
		return source
	}
	over := source.Transport
	for _, p := range u.UriParams {
		if strings.EqualFold(p.K, "transport") {
			over, _ = message.TransportOf(p.V)
			if over != message.TCP && over != message.TLS {
				over = message.UDP
			}
		}
	}
	if u.Scheme == "sips" {
		over = message.TLS
	}
	addrs := t.set.net.Names.Cached(u.Host, u.Port, over)
	if len(addrs) == 0 {
		return source
	}
	addr, from := addrs[0].Addr(), source.Addr
	hop := t.Named(u.Host, t.Over(addrs[0], over))
	if !from.IsValid() {
		return hop
	}
	unreachable := (addr.IsPrivate() || addr.IsLoopback() || addr.IsUnspecified()) &&
		!from.Addr().IsPrivate() && !from.Addr().IsLoopback()
	sameConnection := over.Reliable() && over == source.Transport && addr == from.Addr()
	if unreachable || sameConnection {
		// A far side behind NAT that does not know its own address, or the connection already open
		// to the same host.
		return source
	}
	return hop
}
