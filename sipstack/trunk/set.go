package trunk

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/netip"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"dialler/engine"
	"dialler/sipstack/message"
	"dialler/sipstack/timing"
	"dialler/sipstack/transport"

	"github.com/emiago/sipgo/sip"
	"github.com/rs/zerolog"
)

// Set holds the carrier connections of a stack. Its methods are safe for concurrent use.
type Set struct {
	timers      timing.Timers
	clock       timing.Clock
	log         zerolog.Logger
	net         *transport.Sockets
	writeNumber func(n engine.PhoneNumber, f NumberFormat, country string) string
	onHealth    func(engine.TrunkHealth)
	Counts      Counts
	// Talks says whether a conversation over a trunk goes on; set before the first trunk.
	Talks func(*Trunk) bool

	UserAgentLine string // "User-Agent: …\r\n"
	AgentLines    string // Allow and User-Agent
	nonce         string // distinguishes this process's OPTIONS from others'

	guard   guard
	mu      sync.RWMutex
	byID    map[engine.TrunkID]*Trunk
	probes  sync.Map // Call-ID of a running OPTIONS or REGISTER → prober
	asked   atomic.Uint64
	closing atomic.Bool // Unregister has begun
}

// Counts counts requests outside calls.
type Counts struct {
	Retransmissions atomic.Uint64 // of OPTIONS and REGISTER by a timer
	Floods          atomic.Uint64 // requests beyond one address's rate
}

// SetConfig is what trunks need to start.
type SetConfig struct {
	Timers    timing.Timers
	Clock     timing.Clock
	Log       zerolog.Logger
	Net       *transport.Sockets
	UserAgent string
	// WriteNumber formats a number as a trunk wants it; without it only e164 and e164_no_plus are
	// available.
	WriteNumber func(n engine.PhoneNumber, f NumberFormat, country string) string
	// OnHealth is called with the first health of a trunk and with every change of its Life after
	// it; it must not block, and nil is allowed.
	OnHealth func(engine.TrunkHealth)
}

// NewSet returns a set without trunks.
func NewSet(c SetConfig) (*Set, error) {
	k := &Set{
		timers: c.Timers, clock: c.Clock, log: c.Log, net: c.Net, writeNumber: c.WriteNumber, onHealth: c.OnHealth,
		UserAgentLine: "User-Agent: " + message.Clean(c.UserAgent) + "\r\n",
		byID:          map[engine.TrunkID]*Trunk{},
	}
	k.AgentLines = message.AllowLine + k.UserAgentLine
	var random [6]byte
	if _, err := rand.Read(random[:]); err != nil {
		return nil, fmt.Errorf("sipstack: no randomness: %w", err)
	}
	k.nonce = hex.EncodeToString(random[:])
	return k, nil
}

// StopAsking ends the keepalives of all trunks.
func (k *Set) StopAsking() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, t := range k.byID {
		t.keepalive.stop()
	}
}

// OnResponse handles a response to an OPTIONS or a REGISTER; it returns false when the request has
// already timed out.
func (k *Set) OnResponse(r *sip.Response, callID string, cseq *sip.CSeqHeader, branch string) bool {
	p, ok := k.probes.Load(callID)
	if !ok || cseq.MethodName == sip.OPTIONS && branch != message.DeriveBranch(callID, cseq.SeqNo, "OPTIONS") {
		return false
	}
	p.(prober).onResponse(r, cseq.SeqNo)
	return true
}

// ForLeg returns the trunk for a leg. A leg with an address of its own (a bot, or a person called
// by SIP) gets a connection without name and keepalive; if it has a password, the user of its
// address answers challenges. A leg without a usable address, or of an unknown trunk, gets one
// without a host.
func (k *Set) ForLeg(id engine.TrunkID, uri, password string) *Trunk {
	if uri == "" {
		if t := k.Get(id); t != nil {
			return t
		}
		return k.New(Config{ID: id})
	}
	u, ok := engine.ParseSIPURI(uri)
	if !ok {
		return k.New(Config{ID: id})
	}
	c := Config{ID: id, Host: u.Host, Port: u.Port, Transport: message.Transport(u.Transport)}
	if user, err := url.PathUnescape(u.User); password != "" && err == nil {
		c.Username, c.Password = user, password
	}
	return k.New(c)
}

// IsPeer says whether an address belongs to a configured trunk.
func (k *Set) IsPeer(a netip.Addr) bool {
	k.mu.RLock()
	defer k.mu.RUnlock()
	for _, t := range k.byID {
		for _, to := range t.peers() {
			if to.Addr.Addr() == a {
				return true
			}
		}
	}
	return false
}

// MayAsk says whether a request outside a live dialog is answered: only if it comes from a trunk's
// address, and within the rate. All others are dropped silently, so that nobody learns that we are
// listening.
func (k *Set) MayAsk(src netip.Addr) bool {
	if !k.IsPeer(src) {
		k.net.Counts.Strangers.Add(1)
		return false
	}
	if !k.guard.take(src, k.clock.Now()) {
		k.Counts.Floods.Add(1)
		return false
	}
	return true
}

// At returns a trunk whose far side has the address.
func (k *Set) At(src netip.AddrPort) (found *Trunk) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	for _, t := range k.byID {
		for _, to := range t.peers() {
			if to.Addr == src {
				return t
			}
			if to.Addr.Addr() == src.Addr() {
				found = t
			}
		}
	}
	return found
}

// InboundAnswer is the response to a call from an address, as configured for its trunk
// (TrunkConfig.Inbound); if several trunks have that address, the first by name decides.
func (k *Set) InboundAnswer(a netip.Addr) (code int, phrase string) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	var first *Trunk
	for _, t := range k.byID {
		if t.Conf.Inbound == 0 || first != nil && first.Conf.ID < t.Conf.ID {
			continue
		}
		for _, to := range t.peers() {
			if to.Addr.Addr() == a {
				first = t
				break
			}
		}
	}
	if first != nil {
		switch first.Conf.Inbound {
		case 480, 486, 603:
			return first.Conf.Inbound, message.StandardPhrase(first.Conf.Inbound)
		}
	}
	return 403, "Inbound Calls Not Accepted"
}

// Registrations lists the state of every registered trunk.
func (k *Set) Registrations() []Registration {
	k.mu.RLock()
	defer k.mu.RUnlock()
	var out []Registration
	for _, t := range k.byID {
		if t.registration != nil {
			out = append(out, t.registration.status())
		}
	}
	return out
}

// Unregister removes our addresses from all registrars that answer in time.
func (k *Set) Unregister() (first bool) {
	if k.closing.Swap(true) {
		return false
	}
	k.mu.RLock()
	var rs []*registration
	for _, t := range k.byID {
		if t.registration != nil {
			rs = append(rs, t.registration)
		}
	}
	k.mu.RUnlock()
	deadline := time.After(unregisterTimeout)
	for _, r := range rs {
		r.stop()
	}
	for _, r := range rs {
		select {
		case <-r.done:
		case <-deadline:
			return true
		}
	}
	return true
}

// SetTrunk adds a trunk or changes it. Existing legs keep the configuration that they were placed
// with. Setting the same configuration again changes nothing.
func (k *Set) SetTrunk(c Config) {
	t := k.New(c)
	k.mu.Lock()
	old := k.byID[c.ID]
	if old != nil && old.Conf.equal(&t.Conf) || k.closing.Load() {
		k.mu.Unlock()
		return
	}
	keeps := old != nil && old.registration != nil && sameRegistration(&old.Conf, &t.Conf)
	if keeps {
		t.registration = old.registration
	} else if t.Conf.Kind == engine.TrunkRegistered {
		t.registration = k.newRegistration(t)
	}
	k.byID[c.ID] = t
	k.mu.Unlock()
	if old != nil {
		old.keepalive.stop()
	}
	t.report() // before anything can be answered
	t.keepalive.start()
	before := old != nil && old.registration != nil
	switch {
	case keeps:
		t.registration.adopt(t)
	case before && t.registration != nil:
		old.registration.before(t.registration)
	case before:
		old.registration.stop()
	case t.registration != nil:
		t.registration.start()
	}
}

// Readdressed is called when the external host of a listener has changed.
func (k *Set) Readdressed(ln *transport.Endpoint) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	for _, t := range k.byID {
		if t.registration != nil && t.external == "" && k.net.From(transport.Target{From: t.from}) == ln {
			t.registration.renew()
		}
	}
}

// RemoveTrunk removes a trunk: further legs on it end with LegNotSent(trunk), existing ones
// continue.
func (k *Set) RemoveTrunk(id engine.TrunkID) {
	k.mu.Lock()
	old := k.byID[id]
	delete(k.byID, id)
	k.mu.Unlock()
	if old != nil {
		old.keepalive.stop()
		if old.registration != nil {
			old.registration.stop()
		}
		k.guard.keep(k.IsPeer)
	}
}

// Health lists the health of every trunk.
func (k *Set) Health() []engine.TrunkHealth {
	k.mu.RLock()
	defer k.mu.RUnlock()
	var out []engine.TrunkHealth
	for _, t := range k.byID {
		t.healthMu.Lock()
		if t.last.Life != "" {
			out = append(out, t.last)
		}
		t.healthMu.Unlock()
	}
	return out
}

// Unusable lists the trunks over which no call can be placed from here now: their listener is
// missing, or they are not registered.
func (k *Set) Unusable() []engine.TrunkID {
	k.mu.RLock()
	defer k.mu.RUnlock()
	var out []engine.TrunkID
	for id, t := range k.byID {
		if t.Unusable() != "" {
			out = append(out, id)
		}
	}
	return out
}

// SentBy returns the host:port that requests over each trunk have in their Via, for the trunks
// whose far side's address is known.
func (k *Set) SentBy() map[engine.TrunkID]string {
	k.mu.RLock()
	defer k.mu.RUnlock()
	by := make(map[engine.TrunkID]string, len(k.byID))
	for id, t := range k.byID {
		if to := t.Targets(); len(to) > 0 {
			by[id] = t.SentBy(to[0])
		}
	}
	return by
}

func (k *Set) Get(id engine.TrunkID) *Trunk {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.byID[id]
}
