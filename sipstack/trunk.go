package sipstack

import (
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"dialler/engine"

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
	from     *listener
	tls      *tlsPeer
	fault    string // why it cannot send at all; empty when it can

	// supported and extensions are header lines of INVITEs (see prack.go).
	supported, extensions string
	reliable              bool   // 100rel is supported
	sessionSec            uint32 // our Session-Expires; 0 = no session timer
	userAgentLine         string // "User-Agent: …\r\n"
	agentLines            string // Allow and User-Agent
	extraLines            []byte // its extra headers
	anonymous             bool   // From does not tell who calls

	keepalive keepalive
}

func (s *Stack) newTrunk(c TrunkConfig) *trunk {
	if c.Transport == "" {
		c.Transport = UDP
	}
	if c.NumberFormat == "" {
		c.NumberFormat = NumberE164
	}
	if c.OptionsInterval == 0 {
		c.OptionsInterval = 30 * time.Second
	}
	t := &trunk{s: s, conf: c, hostPort: uriHost(cleanHost(c.Host)), external: uriHost(cleanHost(c.ExternalHost))}
	t.connect()
	if c.Port != 0 && c.Port != defaultPort(c.Transport) {
		t.hostPort += ":" + strconv.Itoa(c.Port)
	}
	if c.Transport != UDP {
		t.params = ";transport=" + string(c.Transport)
	}
	t.setExtensions()
	t.userAgentLine, t.agentLines = s.userAgentLine, s.agentLines
	if c.UserAgent != "" {
		t.userAgentLine = "User-Agent: " + clean(c.UserAgent) + "\r\n"
		t.agentLines = allowLine + t.userAgentLine
	}
	for _, h := range c.ExtraHeaders {
		t.extraLines = appendHeader(t.extraLines, h.Name, h.Value)
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
	return t.fault
}

// uriHost puts an IPv6 address into brackets.
func uriHost(host string) string {
	if strings.Contains(host, ":") && !strings.HasPrefix(host, "[") {
		return "[" + host + "]"
	}
	return host
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
func (t *trunk) targets() []target {
	return t.toAll(t.s.dns.cached(t.conf.Host, t.conf.Port, t.conf.Transport))
}

// resolved is targets, but waits for the first answer of the name server.
func (t *trunk) resolved() ([]target, error) {
	addrs, err := t.s.dns.wait(t.conf.Host, t.conf.Port, t.conf.Transport)
	return t.toAll(addrs), err
}

func (t *trunk) toAll(addrs []netip.AddrPort) []target {
	out := make([]target, len(addrs))
	for i, a := range addrs {
		out[i] = t.to(a)
	}
	return out
}

// to is the way to one address of the trunk.
func (t *trunk) to(a netip.AddrPort) target { return t.over(a, t.conf.Transport) }

// over is the way to an address of the trunk's far side over any transport.
func (t *trunk) over(a netip.AddrPort, over Transport) target {
	to := target{addr: a, transport: over, from: t.from}
	if over == TLS {
		to.tls = t.tls
	}
	return to
}

// named is the way to a host that a dialog names: over TLS it must bear that
// name, unless the trunk's own settings say what is to be checked.
func (t *trunk) named(host string, to target) target {
	if _, literal := literal(host, 1); to.transport != TLS || literal || t.conf.TLSServerName != "" {
		return to
	}
	if p, err := t.s.tlsPeer(t.from, host, t.conf.TLSRoots, t.conf.TLSInsecure); err == nil {
		to.tls = p
	}
	return to
}

// connect finds what the trunk sends from and trusts; fault says why it cannot
// send at all.
func (t *trunk) connect() {
	if t.from = t.s.listener(t.conf.Listener); t.from == nil {
		t.from, t.fault = t.s.listening[0], "there is no SIP listener "+t.conf.Listener
		return
	}
	if t.conf.Transport == UDP && t.from.udp == nil {
		t.fault = "the SIP listener " + t.from.name + " has no UDP"
	}
	name := t.conf.TLSServerName
	if name == "" {
		name = t.conf.Host
	}
	var err error
	if t.tls, err = t.s.tlsPeer(t.from, name, t.conf.TLSRoots, t.conf.TLSInsecure); err != nil && t.conf.Transport == TLS {
		t.fault = err.Error()
	}
}

// SetTrunk adds a trunk or changes it. Legs that exist keep the configuration
// that they were placed with. The same configuration again changes nothing.
func (s *Stack) SetTrunk(c TrunkConfig) {
	t := s.newTrunk(c)
	s.trunksMu.Lock()
	old := s.trunks[c.ID]
	if old != nil && old.conf.equal(&t.conf) || s.closed.Load() {
		s.trunksMu.Unlock()
		return
	}
	s.trunks[c.ID] = t
	s.trunksMu.Unlock()
	if old != nil {
		old.keepalive.stop()
	}
	t.keepalive.start()
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
		s.guard.keep(s.isPeer)
	}
}

// Health lists the last OPTIONS result of every trunk that has one.
func (s *Stack) Health() []engine.TrunkHealth {
	s.trunksMu.RLock()
	defer s.trunksMu.RUnlock()
	var out []engine.TrunkHealth
	for _, t := range s.trunks {
		t.keepalive.mu.Lock()
		if t.keepalive.known {
			out = append(out, t.keepalive.last)
		}
		t.keepalive.mu.Unlock()
	}
	return out
}

func (s *Stack) trunk(id engine.TrunkID) *trunk {
	s.trunksMu.RLock()
	defer s.trunksMu.RUnlock()
	return s.trunks[id]
}

// keepalive asks a trunk with OPTIONS whether it lives (RFC 3261 §11). Any
// final response says yes, a 4xx too.
type keepalive struct {
	trunk *trunk

	mu       sync.Mutex
	stopped  bool
	timer    *time.Timer
	cseq     uint32
	callID   string // of the running OPTIONS; empty between two
	data     []byte
	to       target
	interval time.Duration // to the next retransmission
	next     time.Duration // of the stack's clock: the next retransmission
	end      time.Duration // when the running OPTIONS counts as unanswered
	known    bool
	last     engine.TrunkHealth
}

func (k *keepalive) start() {
	if k.trunk.conf.OptionsInterval < 0 {
		// A trunk without keepalive still wants its name resolved early.
		k.trunk.targets()
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.timer = time.AfterFunc(0, k.tick)
}

func (k *keepalive) stop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stopped = true
	if k.timer != nil {
		k.timer.Stop()
	}
	if k.callID != "" {
		k.trunk.s.probes.Delete(k.callID)
	}
}

// tick begins an OPTIONS, retransmits it, or gives it up.
func (k *keepalive) tick() {
	s := k.trunk.s
	if k.callID0() == "" {
		if k.trunk.fault != "" {
			k.result(false, k.trunk.fault)
			return
		}
		// Outside of the lock: the first look-up of a name may take seconds.
		to, err := k.trunk.resolved()
		if err != nil || len(to) == 0 {
			k.result(false, "host name not resolved")
			return
		}
		k.send(to[0])
		return
	}
	k.mu.Lock()
	now := s.now()
	switch {
	case k.stopped || k.callID == "":
	case now >= k.end:
		k.mu.Unlock()
		k.result(false, "no reply to OPTIONS")
		return
	case !k.to.reliable() && now >= k.next:
		if s.write(k.to, k.data) == nil {
			s.count.retransmissions.Add(1)
		}
		k.interval = min(2*k.interval, s.conf.Timers.T2) // timer E
		k.next = now + k.interval
		fallthrough
	default:
		k.timer.Reset(max(min(k.next, k.end)-now, 0))
	}
	k.mu.Unlock()
}

func (k *keepalive) callID0() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.callID
}

func (k *keepalive) send(to target) {
	s, t := k.trunk.s, k.trunk
	k.mu.Lock()
	if k.stopped {
		k.mu.Unlock()
		return
	}
	k.cseq++
	callID := s.nonce + "-options-" + string(t.conf.ID)
	k.callID = callID
	s.probes.Store(callID, k)
	k.to = to
	local := t.sentBy(to)
	branch := deriveBranch(callID, k.cseq, "OPTIONS")
	uri := "sip:" + t.hostPort + t.params
	b := appendStart(nil, "OPTIONS", uri, to.transport, local, branch)
	b = append(b, "From: <sip:"+local+">;tag="+deriveTag(callID)+"\r\nTo: <"+uri+">\r\n"...)
	b = appendCallID(b, callID, k.cseq, "OPTIONS")
	b = append(b, "Contact: <sip:"+local+t.params+">\r\nAccept: application/sdp\r\n"...)
	b = append(b, t.agentLines...)
	b = append(b, "Content-Length: 0\r\n\r\n"...)
	k.data = b
	now := s.now()
	k.interval = s.conf.Timers.T1
	k.next = now + k.interval
	k.end = now + min(s.conf.Timers.transaction(), t.conf.OptionsInterval)
	if to.reliable() {
		k.next = k.end
	}
	k.timer.Reset(min(k.next, k.end) - now)
	k.mu.Unlock()

	var err error
	if to.reliable() {
		err = s.push(to, queued{data: b, after: func(left bool, err error) {
			if err != nil {
				k.result(false, "not sent: "+err.Error())
			}
		}})
	} else {
		err = s.write(to, b)
	}
	if err != nil {
		k.result(false, "not sent: "+err.Error())
	}
}

// onResponse takes a response to the running OPTIONS.
func (k *keepalive) onResponse(r *sip.Response, seq uint32) {
	k.mu.Lock()
	mine := seq == k.cseq && k.callID != ""
	if mine && r.StatusCode < 200 {
		// Proceeding: retransmit at T2 (RFC 3261 §17.1.2.2).
		k.interval = k.trunk.s.conf.Timers.T2
		mine = false
	}
	k.mu.Unlock()
	if mine {
		k.result(true, strconv.Itoa(r.StatusCode)+" "+r.Reason)
	}
}

// result ends the running OPTIONS, reports a change and plans the next.
func (k *keepalive) result(up bool, reason string) {
	s := k.trunk.s
	k.mu.Lock()
	if k.stopped {
		k.mu.Unlock()
		return
	}
	if k.callID != "" {
		s.probes.Delete(k.callID)
		k.callID, k.data = "", nil
	}
	changed := !k.known || k.last.Up != up
	k.known = true
	k.last = engine.TrunkHealth{Trunk: k.trunk.conf.ID, Up: up, At: time.Now(), Reason: reason}
	h := k.last
	k.timer.Reset(k.trunk.conf.OptionsInterval)
	k.mu.Unlock()
	if changed && s.conf.OnTrunkHealth != nil {
		s.conf.OnTrunkHealth(h)
	}
}
