package sipstack

import (
	"errors"
	"hash/maphash"
	"net"
	"sync"
	"time"

	"dialler/engine"
	"dialler/sipstack/auth"
	"dialler/sipstack/message"
	"dialler/sipstack/timing"
	"dialler/sipstack/transport"
	"dialler/sipstack/trunk"

	"github.com/rs/zerolog"
)

const shardCount = 64

// Stack is the SIP side of the dialler. Its methods are safe for concurrent
// use and do not wait for the network.
type Stack struct {
	conf   Config
	log    zerolog.Logger
	net    *transport.Sockets
	trunks *trunk.Set

	seed     maphash.Seed
	shards   [shardCount]shard
	attempts [shardCount]attemptShard

	clock   timing.Clock
	refused refusedCalls
	count   counters
}

type shard struct {
	mu   sync.RWMutex
	legs map[engine.LegID]*leg
}

type attemptShard struct {
	mu   sync.Mutex
	legs map[engine.AttemptID][]*leg
}

// New opens the sockets and starts to serve them. Errors: the listening
// address is malformed or taken.
func New(c Config) (*Stack, error) {
	c.Timers.SetDefaults()
	if c.Resolver == nil {
		c.Resolver = net.DefaultResolver
	}
	if c.UserAgent == "" {
		c.UserAgent = "dialler"
	}
	if len(c.Listeners) == 0 {
		c.Listeners = []transport.Listener{{Name: "default", Address: c.Listen, ExternalHost: c.ExternalHost}}
	}
	net, err := transport.Open(c.Listeners, c.Resolver, c.Timers.Flow, c.Log)
	if err != nil {
		return nil, err
	}
	s := &Stack{
		conf: c, log: c.Log, net: net,
		seed:  maphash.MakeSeed(),
		clock: timing.StartClock(),
	}
	s.trunks, err = trunk.NewSet(trunk.SetConfig{
		Timers: c.Timers, Clock: s.clock, Log: c.Log, Net: net, UserAgent: c.UserAgent, WriteNumber: c.WriteNumber,
		OnHealth: c.OnTrunkHealth,
	})
	if err != nil {
		return nil, errors.Join(err, net.Close())
	}
	for i := range s.shards {
		s.shards[i].legs = map[engine.LegID]*leg{}
		s.attempts[i].legs = map[engine.AttemptID][]*leg{}
	}
	s.net.Serve(s.trunks.IsPeer, s.onMessage)
	return s, nil
}

// Close takes our addresses back from registrars, as far as they answer within
// two seconds, then closes the sockets and stops all timers. Nothing else is
// sent and no event is given: calls that still live are left to a later life's
// RecoverLeg.
func (s *Stack) Close() error {
	if !s.trunks.Unregister() {
		return nil // closed before
	}
	s.net.Shut()
	s.trunks.StopAsking()
	err := s.net.Close()
	s.each(func(l *leg) {
		l.mu.Lock()
		if l.timer != nil {
			l.timer.Stop()
		}
		l.mu.Unlock()
	})
	return err
}

// PlaceLeg sends the INVITE of a leg; the events say how it went, the first
// one being LegSent or LegNotSent. It may call sink before it returns. A leg
// that is known already, ended or not, is left as it is, and sink is not
// called.
func (s *Stack) PlaceLeg(p engine.PlaceLeg, sink func(engine.LegEvent)) {
	t := s.trunks.ForLeg(p.Trunk, p.URI, p.Password)
	l := s.newLeg(p.Leg, p.Attempt, t, sink)
	l.sendBy, l.offer, l.cseq, l.headers = p.SendBy, p.Offer, 1, p.Headers
	l.setParties(p.From, p.To, p.URI)
	if s.add(l) != nil {
		s.count.duplicates.Add(1)
		s.log.Error().Str("attempt_id", string(p.Attempt)).Str("leg", string(p.Leg)).Msg("leg placed twice; the second is ignored")
		return
	}
	if why := t.Unusable(); why != "" {
		l.mu.Lock()
		l.notSent(engine.NotSentTrunk, why)
		l.unlock()
		return
	}
	s.withTargets(t, func(to []transport.Target) {
		l.mu.Lock()
		l.begin(to)
		l.unlock()
	})
}

// withTargets calls f with the trunk's addresses: at once when they are known,
// else from a goroutine when its name is resolved.
func (s *Stack) withTargets(t *trunk.Trunk, f func([]transport.Target)) {
	if t.Conf.Host == "" {
		f(nil)
		return
	}
	if to := t.Targets(); len(to) > 0 {
		f(to)
		return
	}
	go func() {
		to, _ := t.Resolved()
		f(to)
	}()
}

// ConfirmLeg sends the ACK of the leg's 2xx: call it when the dialog state of
// LegAnswered is durable. From then on a repeated 2xx is acknowledged again.
func (s *Stack) ConfirmLeg(id engine.LegID) {
	if l := s.leg(id); l != nil {
		l.mu.Lock()
		l.confirm()
		l.unlock()
	}
}

// CancelLeg stops a leg that is not answered. CancelNotSent: no INVITE left
// and none will. CancelOwed: CANCEL was sent, or goes out after the first
// provisional response; what comes of the leg follows as events. A 2xx that
// crosses the CANCEL is reported as LegAnswered and ended with ACK and BYE
// without being asked; LegClosed follows.
func (s *Stack) CancelLeg(id engine.LegID) engine.CancelOutcome {
	l := s.leg(id)
	if l == nil {
		return engine.CancelUnknown
	}
	l.mu.Lock()
	defer l.unlock()
	return l.cancel()
}

// HangUpLeg ends an answered leg with BYE, after its ACK if ConfirmLeg was not
// called; LegClosed follows when the BYE is answered or given up. A leg that
// is not answered is cancelled instead; on an ended one it does nothing.
func (s *Stack) HangUpLeg(id engine.LegID, cause engine.HangUpCause) {
	l := s.leg(id)
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.unlock()
	switch l.phase {
	case phaseAnswered, phaseConfirmed:
		l.hangUp(cause)
	case phaseQueued, phaseCalling, phaseProceeding:
		l.cancel()
	case phaseClosing, phaseSilent, phaseWatch, phaseOver, phaseGone:
	}
}

// AttachLeg gives the legs of an attempt a new owner: sink gets all their
// events from Seq 1 and those to come. It lists the legs that are known here.
func (s *Stack) AttachLeg(a engine.AttemptID, sink func(engine.LegEvent)) []engine.LegID {
	legs := s.ofAttempt(a)
	ids := make([]engine.LegID, 0, len(legs))
	for _, l := range legs {
		l.mu.Lock()
		if l.phase < phaseOver || (l.phase == phaseOver && !l.forgotten) {
			ids = append(ids, l.id)
			l.sink, l.delivered = sink, 0
		}
		l.unlock()
	}
	return ids
}

// DetachLegs takes the owner away from an attempt's legs; they go on, and
// their events wait for AttachLeg.
func (s *Stack) DetachLegs(a engine.AttemptID) {
	for _, l := range s.ofAttempt(a) {
		l.mu.Lock()
		l.sink = nil
		l.unlock()
	}
}

// ForgetLegs says that the end of the attempt is durable: the events of its
// legs need not be kept. A leg that still lives is kept until its end.
func (s *Stack) ForgetLegs(a engine.AttemptID) {
	for _, l := range s.ofAttempt(a) {
		l.mu.Lock()
		l.forgotten = true
		if l.phase == phaseOver {
			l.setPurge()
		}
		l.unlock()
	}
}

// LegStatus is one leg of the inventory.
type LegStatus struct {
	Leg      engine.LegID
	Attempt  engine.AttemptID
	Trunk    engine.TrunkID
	State    string    // queued, calling, proceeding, answered, confirmed, closing, silent, watched, over
	Since    time.Time // of the state
	Final    bool      // its last event was emitted
	Attached bool      // a sink listens
	Seq      int       // of its last event
}

// Legs lists the legs that are known here, ended ones that nobody has
// forgotten included, for reconciliation.
func (s *Stack) Legs() []LegStatus {
	var out []LegStatus
	s.each(func(l *leg) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.phase == phaseGone || (l.phase == phaseOver && l.forgotten) {
			return
		}
		out = append(out, LegStatus{
			Leg: l.id, Attempt: l.attempt, Trunk: l.trunk.Conf.ID, State: l.phase.String(), Since: l.since,
			Final: l.phase == phaseOver, Attached: l.sink != nil, Seq: l.seq,
		})
	})
	return out
}

func (s *Stack) newLeg(id engine.LegID, a engine.AttemptID, t *trunk.Trunk, sink func(engine.LegEvent)) *leg {
	return &leg{
		s: s, id: id, attempt: a, trunk: t, sink: sink, since: time.Now(),
		fromTag: message.DeriveTag(string(id)),
		auth:    auth.Of(t.Conf.Username, t.Conf.Password),
	}
}

func (s *Stack) hash(id string) uint64 { return maphash.String(s.seed, id) % shardCount }

func (s *Stack) leg(id engine.LegID) *leg {
	sh := &s.shards[s.hash(string(id))]
	sh.mu.RLock()
	defer sh.mu.RUnlock()
	return sh.legs[id]
}

// enlist enters a leg, or gives the one that has its id. Its attempt does not
// know it.
func (s *Stack) enlist(l *leg) (known *leg) {
	sh := &s.shards[s.hash(string(l.id))]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if known = sh.legs[l.id]; known != nil {
		return known
	}
	sh.legs[l.id] = l
	s.count.live.Add(1)
	return nil
}

// add enters a leg among those of its attempt, or gives the one that has its id.
func (s *Stack) add(l *leg) (known *leg) {
	if known = s.enlist(l); known != nil {
		return known
	}
	as := &s.attempts[s.hash(string(l.attempt))]
	as.mu.Lock()
	as.legs[l.attempt] = append(as.legs[l.attempt], l)
	as.mu.Unlock()
	return nil
}

// remove drops a leg that is gone.
func (s *Stack) remove(l *leg) {
	sh := &s.shards[s.hash(string(l.id))]
	sh.mu.Lock()
	delete(sh.legs, l.id)
	sh.mu.Unlock()
	as := &s.attempts[s.hash(string(l.attempt))]
	as.mu.Lock()
	defer as.mu.Unlock()
	var rest []*leg
	for _, x := range as.legs[l.attempt] {
		if x != l {
			rest = append(rest, x)
		}
	}
	if len(rest) == 0 {
		delete(as.legs, l.attempt)
	} else {
		as.legs[l.attempt] = rest
	}
}

func (s *Stack) ofAttempt(a engine.AttemptID) []*leg {
	as := &s.attempts[s.hash(string(a))]
	as.mu.Lock()
	defer as.mu.Unlock()
	return append([]*leg(nil), as.legs[a]...)
}

func (s *Stack) each(f func(*leg)) {
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.RLock()
		legs := make([]*leg, 0, len(sh.legs))
		for _, l := range sh.legs {
			legs = append(legs, l)
		}
		sh.mu.RUnlock()
		for _, l := range legs {
			f(l)
		}
	}
}
