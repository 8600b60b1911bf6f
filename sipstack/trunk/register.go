package trunk

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"dialler/engine"
	"dialler/sipstack/auth"
	"dialler/sipstack/message"
	"dialler/sipstack/timing"
	"dialler/sipstack/transport"

	"github.com/emiago/sipgo/sip"
)

const (
	defaultRegister = 600    // seconds asked for
	maxRegister     = 86_400 // seconds: the longest lifetime a registrar can make us request
	// unregisterTimeout bounds how long Close waits for registrars.
	unregisterTimeout = 2 * time.Second
	// maxTooBrief bounds how often one round retries after 423.
	maxTooBrief = 2
)

// Registration is the state of a registered trunk.
type Registration struct {
	Trunk      engine.TrunkID
	Registered bool
	Until      time.Time // when the binding expires unless refreshed; zero if unregistered
	Code       int       // of the last final response, 0 when the last try got none
	Reason     string    // its phrase, or why there was none
	At         time.Time // of the last result; zero before the first
	Next       time.Time // of the next REGISTER; zero while one runs
}

// registration keeps our address registered (RFC 3261 §10): one binding of one Contact, refreshed
// before it expires. Times are on the stack's clock.
type registration struct {
	set    *Set
	callID string
	// user is the user part of the Contact: the same in every process, so that a later one's
	// binding replaces the earlier one's.
	user string

	mu     sync.Mutex
	trunk  *Trunk
	timer  *time.Timer
	ending bool // un-registering, or over
	over   bool
	done   chan struct{} // closed when over

	asked    int // seconds
	until    time.Duration
	roundAt  time.Duration // next round; 0 while one runs
	failures int
	targets  []transport.Target // of the running round, not tried yet
	auth     auth.Credentials
	tooBrief int

	// The running transaction (RFC 3261 §17.1.2); data is nil between two.
	cseq                 uint32
	to                   transport.Target
	data                 []byte
	gap, resendAt, endAt time.Duration

	route atomic.Pointer[serviceRoute] // nil means none; read without mu

	last Registration
	// next is that of the changed trunk: it begins when this one has ended. waits says that this one
	// has not begun for that reason.
	next  *registration
	waits bool
}

func (k *Set) newRegistration(t *Trunk) *registration {
	r := &registration{
		set: k, trunk: t, callID: k.nonce + "-register-" + string(t.Conf.ID),
		user:  t.registeredUser(),
		asked: cmp.Or(max(t.Conf.RegisterSec, 0), defaultRegister), done: make(chan struct{}), roundAt: 1,
		last: Registration{Trunk: t.Conf.ID, Reason: "no REGISTER has been answered yet"},
	}
	r.timer = time.AfterFunc(time.Hour, r.tick)
	r.timer.Stop()
	return r
}

// sameRegistration says whether a changed trunk keeps its binding.
func sameRegistration(a, b *Config) bool {
	return a.Kind == b.Kind && a.Host == b.Host && a.Port == b.Port && a.Transport == b.Transport &&
		a.Username == b.Username && a.Password == b.Password && a.FromUser == b.FromUser &&
		a.FromDomain == b.FromDomain && a.RegisterSec == b.RegisterSec &&
		a.OutboundProxy == b.OutboundProxy && a.Listener == b.Listener && a.ExternalHost == b.ExternalHost &&
		a.TLSServerName == b.TLSServerName && a.trust() == b.trust()
}

func (r *registration) start() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ending {
		r.set.probes.Store(r.callID, r)
		r.timer.Reset(0)
	}
}

// before has another registration begin when this one has ended: both have the same Call-ID and
// Contact, so that the registrar must not see them at once (RFC 3261 §10.2).
func (r *registration) before(next *registration) {
	r.stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over && !r.waits {
		next.follow(r.cseq)
		return
	}
	next.mu.Lock()
	r.next, next.waits = next, true
	next.mu.Unlock()
}

// follow begins, with the sequence numbers of the one before, or lets the next one begin if it has
// ended itself meanwhile.
func (r *registration) follow(cseq uint32) {
	r.mu.Lock()
	r.cseq, r.waits = cseq, false
	next := r.next
	r.mu.Unlock()
	if next != nil {
		next.follow(cseq)
		return
	}
	r.start()
}

// adopt moves the registration to a changed trunk.
func (r *registration) adopt(t *Trunk) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trunk = t
}

// renew begins a round at once: the address that we register has changed. The binding of the old one expires.
func (r *registration) renew() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ending || r.waits {
		return
	}
	r.data, r.targets, r.roundAt = nil, nil, 1
	r.timer.Reset(0)
}

// registered says whether we are registered now, and what the registrar said when.
func (r *registration) registered() (ok bool, reason string, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.isRegistered(), r.last.Reason, r.last.At
}

func (r *registration) isRegistered() bool { return !r.ending && r.until > r.set.clock.Now() }

func (r *registration) status() Registration {
	r.mu.Lock()
	defer r.mu.Unlock()
	st, now := r.last, r.set.clock.Now()
	if st.Registered = r.isRegistered(); st.Registered {
		st.Until = time.Now().Add(r.until - now)
	}
	if r.roundAt != 0 {
		st.Next = time.Now().Add(r.roundAt - now)
	}
	return st
}

// tick does what is due: it retransmits, times out an attempt, starts a round, or notices that the
// binding has expired.
func (r *registration) tick() {
	r.mu.Lock()
	if r.over {
		r.mu.Unlock()
		return
	}
	now := r.set.clock.Now()
	switch {
	case r.data != nil && now >= r.endAt:
		r.tryFailed("no reply to REGISTER")
	case r.data != nil && r.resendAt != 0 && now >= r.resendAt:
		if r.set.net.Write(r.to, r.data) == nil {
			r.set.Counts.Retransmissions.Add(1)
		}
		r.gap = min(2*r.gap, r.set.timers.T2) // timer E
		r.resendAt = now + r.gap
	case r.data == nil && r.roundAt != 0 && now >= r.roundAt:
		r.roundAt = 0
		t := r.trunk
		r.mu.Unlock()
		to, err := t.Resolved() // the first look-up of a name may take seconds
		r.mu.Lock()
		if !r.ending {
			r.beginRound(to, err)
		}
	}
	r.settle()
}

// settle arms the timer, unlocks and reports the trunk's health.
func (r *registration) settle() {
	if r.until != 0 && r.set.clock.Now() >= r.until {
		r.until = 0
	}
	t := r.trunk
	if !r.over {
		next := timing.Earliest(r.roundAt, r.until)
		if r.data != nil {
			next = timing.Earliest(next, timing.Earliest(r.resendAt, r.endAt))
		}
		if next != 0 {
			r.timer.Reset(max(next-r.set.clock.Now(), 0))
		}
	}
	r.mu.Unlock()
	t.report()
}

func (r *registration) beginRound(to []transport.Target, err error) {
	if r.trunk.fault != "" {
		r.roundFailed(0, r.trunk.fault, 0, true)
		return
	}
	if err != nil || len(to) == 0 {
		r.roundFailed(0, "host name not resolved", 0, false)
		return
	}
	r.targets, r.tooBrief = slices.Clone(to), 0
	r.nextTarget("")
}

// nextTarget sends a REGISTER to the next address that accepts it.
func (r *registration) nextTarget(failure string) {
	for len(r.targets) > 0 {
		r.to, r.targets = r.targets[0], r.targets[1:]
		r.auth = auth.Of(r.trunk.Conf.Username, r.trunk.Conf.Password)
		err := r.send()
		if err == nil {
			return
		}
		r.set.net.Marks.Fail(r.to, 0)
		failure = "not sent: " + err.Error()
	}
	r.roundFailed(0, failure, 0, false)
}

// tryFailed continues with the next address: the current one is silent, overloaded, or unreachable.
func (r *registration) tryFailed(reason string) {
	r.data = nil
	if r.ending {
		r.end()
		return
	}
	r.set.net.Marks.Fail(r.to, 0)
	r.nextTarget(reason)
}

// roundFailed schedules the next round: soon if the far side may recover, after a growing but
// bounded pause if somebody has to change something.
func (r *registration) roundFailed(code int, reason string, after time.Duration, hard bool) {
	r.data, r.targets = nil, nil
	if r.ending {
		r.end()
		return
	}
	base := r.set.timers.RegisterRetry
	limit := 4 * base
	if hard {
		limit = 60 * base
	}
	wait := min(base<<min(r.failures, 10), limit)
	wait = wait*3/4 + rand.N(wait/4+1) //nolint:gosec // spreads load, is no secret
	wait = max(wait, min(after, message.MaxRetryAfter))
	r.failures++
	r.result(code, reason)
	r.roundAt = r.set.clock.Now() + wait
	r.set.log.Warn().Str("trunk", string(r.trunk.Conf.ID)).Int("code", code).Dur("again_in_ms", wait).
		Msg("not registered with the carrier")
}

func (r *registration) result(code int, reason string) {
	r.last.Code, r.last.Reason, r.last.At = code, reason, time.Now()
	if code != 0 {
		r.last.Reason = strconv.Itoa(code) + " " + reason
	}
}

// send starts a transaction with the current target.
func (r *registration) send() error {
	t, s := r.trunk, r.set
	r.cseq++
	asked := r.asked
	if r.ending {
		asked = 0
	}
	b := t.registerLines(r.to, r.callID, r.cseq)
	b = append(b, "Contact: <sip:"+r.user+"@"+t.SentBy(r.to)+t.Params+">\r\nExpires: "+strconv.Itoa(asked)+"\r\n"+
		"Supported: path\r\n"...) // RFC 3327 §5.1
	b = r.auth.AppendTo(b)
	b = append(b, "Content-Length: 0\r\n\r\n"...)
	now := s.clock.Now()
	r.data, r.gap, r.resendAt = b, s.timers.T1, 0
	r.endAt = now + s.timers.Transaction() // timer F
	if !r.to.Reliable() {
		r.resendAt = now + r.gap
		err := s.net.Write(r.to, b)
		if err != nil {
			r.data = nil
		}
		return err
	}
	seq := r.cseq
	err := s.net.Push(r.to, transport.Queued{Data: b, After: func(left bool, err error) {
		if left {
			return
		}
		r.mu.Lock()
		if r.over || r.data == nil || r.cseq != seq {
			r.mu.Unlock()
			return
		}
		r.tryFailed("not sent: " + err.Error())
		r.settle()
	}})
	if err != nil {
		r.data = nil
	}
	return err
}

// registeredUser is the user part of the Contact that a trunk registers: the same in every process.
func (t *Trunk) registeredUser() string { return message.DeriveUser("register/" + string(t.Conf.ID)) }

// registerLines writes a REGISTER up to what it asks for.
func (t *Trunk) registerLines(to transport.Target, callID string, cseq uint32) []byte {
	domain := cmp.Or(message.BracketHost(message.CleanHost(t.Conf.FromDomain)),
		message.BracketHost(message.CleanHost(t.Conf.Host)))
	aor := "sip:" + message.EscapeUser(cmp.Or(t.Conf.FromUser, t.Conf.Username)) + "@" + domain
	b := message.AppendStart(nil, "REGISTER", t.registrar(), to.Transport, t.SentBy(to),
		message.DeriveBranch(callID, cseq, "REGISTER"))
	b = append(b, t.RouteLine...)
	b = append(b, "From: <"+aor+">;tag="+message.DeriveTag(callID)+"\r\nTo: <"+aor+">\r\n"...)
	b = message.AppendCallID(b, callID, cseq, "REGISTER")
	return append(b, t.AgentLines...)
}

// registrar is the Request-URI of a REGISTER.
func (t *Trunk) registrar() string { return "sip:" + t.HostPort + t.Params }

// onResponse handles a response to the running REGISTER.
func (r *registration) onResponse(m *sip.Response, seq uint32) {
	r.mu.Lock()
	if r.over || r.data == nil || seq != r.cseq {
		r.mu.Unlock()
		return
	}
	if m.StatusCode < 200 {
		if r.resendAt != 0 { // Proceeding: timer E at T2
			r.gap = r.set.timers.T2
			r.resendAt = r.set.clock.Now() + r.gap
		}
		r.mu.Unlock()
		return
	}
	r.data = nil
	r.onFinal(m)
	r.settle()
}

func (r *registration) onFinal(m *sip.Response) {
	code, after := m.StatusCode, time.Duration(0)
	if h := m.GetHeader("retry-after"); h != nil {
		after = message.ParseRetryAfter(h.Value())
	}
	switch {
	case code < 300:
		r.onGranted(m)
	case (code == 401 || code == 407) && r.auth.Answer(m, "REGISTER", r.trunk.registrar()):
		r.again()
	case code == 423 && !r.ending && r.tooBrief < maxTooBrief && r.lengthen(m):
		r.tooBrief++
		r.auth = auth.Of(r.trunk.Conf.Username, r.trunk.Conf.Password)
		r.again()
	case code == 503 && len(r.targets) > 0 && !r.ending:
		r.result(code, m.Reason)
		r.set.net.Marks.Fail(r.to, after)
		r.nextTarget("")
	default:
		// Somebody has to fix a problem with our account; one with the server will pass.
		r.roundFailed(code, m.Reason, after, code < 500 && code != 408)
	}
}

// again resends the REGISTER to the same target.
func (r *registration) again() {
	if err := r.send(); err != nil {
		r.tryFailed("not sent: " + err.Error())
	}
}

func (r *registration) onGranted(m *sip.Response) {
	if r.ending {
		r.end()
		return
	}
	granted := granted(m, r.user, r.asked)
	if granted <= 0 {
		r.roundFailed(m.StatusCode, "the registrar keeps no address of ours", 0, true)
		return
	}
	route, ok := serviceRouteOf(m)
	if !ok {
		r.set.log.Warn().Str("trunk", string(r.trunk.Conf.ID)).
			Msg("the registrar's Service-Route is not one of loose-routing SIP URIs; calls go without it")
	}
	r.route.Store(route)
	lifetime := time.Duration(granted) * time.Second
	now := r.set.clock.Now()
	if r.until == 0 {
		r.set.log.Info().Str("trunk", string(r.trunk.Conf.ID)).Dur("for_ms", lifetime).Msg("registered with the carrier")
	}
	r.set.net.Marks.Clear(r.to)
	r.result(m.StatusCode, m.Reason)
	r.failures, r.targets = 0, nil
	r.until = now + lifetime
	r.roundAt = now + max(lifetime/2, lifetime-time.Minute)
}

// lengthen applies the Min-Expires of a 423 (RFC 3261 §10.2.8).
func (r *registration) lengthen(m *sip.Response) bool {
	h := m.GetHeader("min-expires")
	if h == nil {
		return false
	}
	n, ok := message.ParseSeconds(h.Value())
	if !ok || n <= r.asked || n > maxRegister {
		return false
	}
	r.asked = n
	return true
}

// stop ends the registration: the binding is removed in the background if there may be one. done is
// closed when that has finished.
func (r *registration) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ending {
		return
	}
	mayBeBound := r.until != 0 || r.data != nil
	r.ending, r.targets, r.data, r.roundAt, r.until = true, nil, nil, 0, 0
	r.auth = auth.Of(r.trunk.Conf.Username, r.trunk.Conf.Password)
	if !mayBeBound || r.send() != nil {
		r.end()
		return
	}
	r.endAt = min(r.endAt, r.set.clock.Now()+unregisterTimeout)
	r.timer.Reset(min(timing.Earliest(r.resendAt, r.endAt)-r.set.clock.Now(), unregisterTimeout))
}

func (r *registration) end() {
	if r.over {
		return
	}
	r.over, r.data = true, nil
	r.timer.Stop()
	r.set.probes.CompareAndDelete(r.callID, r)
	close(r.done)
	if r.next != nil {
		r.next.follow(r.cseq)
	}
}

// granted is the lifetime in seconds that a registrar granted to the Contact with that user (RFC
// 3261 §10.2.4): its own parameter, otherwise the Expires header, otherwise the requested one. A
// registrar that rewrites addresses may return a single Contact that we do not recognise as ours.
func granted(m *sip.Response, user string, asked int) int {
	seconds := asked
	if h := m.GetHeader("expires"); h != nil {
		if n, ok := message.ParseSeconds(h.Value()); ok {
			seconds = n
		}
	}
	var elements []string
	for _, name := range [...]string{"contact", "m"} {
		for _, h := range m.GetHeaders(name) {
			elements = append(elements, message.SplitList(h.Value())...)
		}
	}
	for _, e := range elements {
		if len(elements) > 1 && !strings.Contains(message.AddrSpec(e), ":"+user+"@") {
			continue
		}
		for _, p := range message.SplitParams(e)[1:] {
			name, v, _ := strings.Cut(p, "=")
			if n, ok := message.ParseSeconds(v); ok && strings.EqualFold(strings.TrimSpace(name), "expires") {
				seconds = n
			}
		}
		break
	}
	return min(seconds, maxRegister)
}
