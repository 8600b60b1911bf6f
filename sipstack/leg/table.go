package leg

import (
	"hash/maphash"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"dialler/engine"
	"dialler/sipstack/auth"
	"dialler/sipstack/message"
	"dialler/sipstack/timing"
	"dialler/sipstack/transport"
	"dialler/sipstack/trunk"

	"github.com/emiago/sipgo/sip"
	"github.com/rs/zerolog"
)

const shardCount = 64

// Table holds all legs that are known here. Its methods are safe for concurrent use and do not wait
// for the network.
type Table struct {
	env
	log      zerolog.Logger
	seed     maphash.Seed
	shards   [shardCount]shard
	attempts [shardCount]attemptShard
	refused  refusedCalls
	calls    sync.Map // Call-ID → *leg, of the calls that far sides began

	stop, fenceOver chan struct{}
}

type shard struct {
	mu   sync.RWMutex
	legs map[engine.LegID]*leg
}

type attemptShard struct {
	mu   sync.Mutex
	legs map[engine.AttemptID][]*leg
}

// NewTable makes a table without legs.
func NewTable(c Config, clock timing.Clock, net *transport.Sockets, trunks *trunk.Set) *Table {
	k := &Table{
		env: env{conf: c, clock: clock, net: net, trunks: trunks}, log: c.Log, seed: maphash.MakeSeed(),
		stop: make(chan struct{}), fenceOver: make(chan struct{}),
	}
	k.gone, trunks.Talks = k.remove, k.talks
	for i := range k.shards {
		k.shards[i].legs = map[engine.LegID]*leg{}
		k.attempts[i].legs = map[engine.AttemptID][]*leg{}
	}
	if c.Fence != nil {
		go k.keepFence(k.conf.Fence.Lease()) // of now, not of when it first runs
	} else {
		close(k.fenceOver)
	}
	return k
}

// Close stops the timers of all legs.
func (k *Table) Close() {
	close(k.stop)
	<-k.fenceOver
	k.each(func(l *leg) {
		l.mu.Lock()
		if l.timer != nil {
			l.timer.Stop()
		}
		l.mu.Unlock()
	})
}

// Known counts the legs with state here, ended ones included.
func (k *Table) Known() (n int) {
	for i := range k.shards {
		sh := &k.shards[i]
		sh.mu.RLock()
		n += len(sh.legs)
		sh.mu.RUnlock()
	}
	return n
}

// Calling says whether a leg to a number is live here.
func (k *Table) Calling(to engine.PhoneNumber) bool { return k.called.has(to) }

// PlaceLeg sends the INVITE of a leg; its events follow, the first one being LegSent or LegNotSent.
// It may call sink before it returns. A leg that is known already, ended or not, is left unchanged,
// and sink is not called. With Config.OneCall the first leg of an attempt is not sent while another
// leg to its number is live here.
func (k *Table) PlaceLeg(p engine.PlaceLeg, sink func(engine.LegEvent)) {
	if p.Incoming {
		k.accept(p, sink)
		return
	}
	t := k.trunks.ForLeg(p.Trunk, p.URI, p.Password)
	l := k.newLeg(p.Leg, p.Attempt, t, sink)
	if f := k.conf.Fence; f != nil {
		l.begun = f.Lease()
	}
	l.inv.sendBy, l.inv.offer, l.inv.cseq, l.inv.headers = p.SendBy, p.Offer, 1, p.Headers
	l.parties.set(l.trunk, l.s.net.First().External(), p.From, p.To, p.URI)
	_, n, _ := p.Leg.Attempt()
	free := k.called.begins(p.To, k.conf.OneCall && n == 1)
	if free {
		l.callee = p.To
	}
	if k.add(l) != nil {
		k.called.over(l.callee)
		k.Count.Duplicates.Add(1)
		k.log.Error().Str("attempt_id", string(p.Attempt)).Str("leg", string(p.Leg)).
			Msg("leg placed twice; the second is ignored")
		return
	}
	if !free {
		l.mu.Lock()
		l.notSent(engine.NotSentHeld, "another call to the number is live")
		l.unlock()
		return
	}
	if why := t.Unusable(); why != "" {
		l.mu.Lock()
		l.notSent(engine.NotSentTrunk, why)
		l.unlock()
		return
	}
	k.withTargets(t, func(to []transport.Target) {
		l.mu.Lock()
		l.inv.begin(to)
		l.unlock()
	})
}

// talks says whether an answered call over a trunk goes on.
func (k *Table) talks(t *trunk.Trunk) (yes bool) {
	k.each(func(l *leg) {
		l.mu.Lock()
		yes = yes || l.trunk == t && l.phase == phaseConfirmed
		l.mu.Unlock()
	})
	return yes
}

// ConfirmLeg sends the ACK of the leg's 2xx: call it when the dialog state of
// LegAnswered is durable. From then on a repeated 2xx is acknowledged again.
func (k *Table) ConfirmLeg(id engine.LegID) {
	if l := k.leg(id); l != nil {
		l.mu.Lock()
		if l.phase == phaseAnswered && l.fenced() {
			l.endFenced()
		}
		l.confirm()
		l.unlock()
	}
}

// CancelLeg stops an unanswered leg. CancelNotSent means that no INVITE was sent and none will be.
// CancelOwed means that CANCEL was sent, or will be after the first provisional response; the
// result follows as events. A 2xx that crosses the CANCEL is reported as LegAnswered and then ended
// with ACK and BYE without a further command; LegClosed follows.
func (k *Table) CancelLeg(id engine.LegID) engine.CancelOutcome {
	l := k.leg(id)
	if l == nil {
		return engine.CancelUnknown
	}
	l.mu.Lock()
	defer l.unlock()
	return l.cancel()
}

// HangUpLeg ends an answered leg with BYE, after its ACK if ConfirmLeg was not called; LegClosed
// follows when the BYE is answered or times out. An unanswered leg is cancelled instead; on an
// ended leg HangUpLeg does nothing.
func (k *Table) HangUpLeg(id engine.LegID, cause engine.HangUpCause) {
	l := k.leg(id)
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.unlock()
	switch l.phase {
	case phaseAnswered, phaseConfirmed:
		l.hangUp(cause)
	case phaseQueued, phaseCalling, phaseProceeding, phaseOffered:
		l.cancel()
	case phaseClosing, phaseSilent, phaseWatch, phaseOver, phaseGone:
	}
}

// AttachLeg gives the legs of an attempt a new owner: sink receives all their events, past ones
// from Seq 1 and future ones. It lists the legs that are known here.
func (k *Table) AttachLeg(a engine.AttemptID, sink func(engine.LegEvent)) []engine.LegID {
	legs := k.ofAttempt(a)
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

// DetachLegs removes the owner of an attempt's legs; they continue, and their events are kept until
// AttachLeg.
func (k *Table) DetachLegs(a engine.AttemptID) {
	for _, l := range k.ofAttempt(a) {
		l.mu.Lock()
		l.sink = nil
		l.unlock()
	}
}

// ForgetLegs says that the end of the attempt is durable: the events of its legs need no longer be
// kept. A live leg is kept until its end.
func (k *Table) ForgetLegs(a engine.AttemptID) {
	for _, l := range k.ofAttempt(a) {
		l.mu.Lock()
		l.forgotten = true
		if l.phase == phaseOver {
			l.setPurge()
		}
		l.unlock()
	}
}

// Status is one leg of the inventory.
type Status struct {
	Leg      engine.LegID
	Attempt  engine.AttemptID
	Trunk    engine.TrunkID
	State    string    // queued, calling, proceeding, answered, confirmed, closing, silent, watched, over
	Since    time.Time // of the state
	Lives    bool      // ringing or talking, and nobody has asked for its end
	Final    bool      // its last event was emitted
	Attached bool      // a sink listens
	Seq      int       // of its last event
}

// Legs lists the legs that are known here for reconciliation, including ended ones that were not
// forgotten.
func (k *Table) Legs() []Status {
	var out []Status
	k.each(func(l *leg) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.phase == phaseGone || (l.phase == phaseOver && l.forgotten) {
			return
		}
		out = append(out, Status{
			Leg: l.id, Attempt: l.attempt, Trunk: l.trunk.Conf.ID, State: l.phase.String(), Since: l.since,
			Lives: l.phase < phaseClosing && l.phase != phaseOffered || l.phase == phaseSilent, Final: l.phase == phaseOver,
			Attached: l.sink != nil, Seq: l.seq,
		})
	})
	return out
}

// Ladder lists the messages of an attempt's legs that are still known here, in
// the order in which they crossed the socket.
func (k *Table) Ladder(a engine.AttemptID) []engine.SIPMessage {
	var out []engine.SIPMessage
	for _, l := range k.ofAttempt(a) {
		l.mu.Lock()
		out = append(out, l.ladder.Messages(l.s.clock, l.id)...)
		l.mu.Unlock()
	}
	return out
}

// SendDigit sends one key (0-9, *, #, A-D) of an answered leg in an INFO (application/dtmf-relay),
// after the keys already queued. It returns false when the leg is not answered, the key is invalid,
// or too many keys are queued.
func (k *Table) SendDigit(id engine.LegID, key byte, duration time.Duration) bool {
	l := k.leg(id)
	if l == nil || message.Digit(string(key)) == 0 {
		return false
	}
	l.mu.Lock()
	defer l.unlock()
	if l.phase != phaseConfirmed {
		return false
	}
	ms := min(max(duration.Milliseconds(), 40), 8000)
	return l.txs.sendInTurn(&clientTx{method: sip.INFO, dlg: l.dlg, headers: "Content-Type: application/dtmf-relay\r\n",
		body: []byte("Signal=" + strings.ToUpper(string(key)) + "\r\nDuration=" + strconv.FormatInt(ms, 10) + "\r\n")})
}

// AnswerRefer answers the REFER that LegReferred reported: with 202 and the NOTIFY that RFC 3515
// §2.4.4 requires at once, or with 603. It returns false when there is none to answer: it was
// answered before, or declined after 16*T1 without an answer.
func (k *Table) AnswerRefer(id engine.LegID, accept bool) bool {
	l := k.leg(id)
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.unlock()
	return l.refer.answer(accept && l.phase == phaseConfirmed)
}

// NotifyRefer reports the progress of the transfer that the far side asked for: the status code of
// the transferred call and its reason phrase (RFC 3515 §2.4.5). A final one (200 and above) ends
// the implicit subscription. It also works after the end of the leg, as long as the stack knows it.
func (k *Table) NotifyRefer(id engine.LegID, code int, reason string) {
	l := k.leg(id)
	if l == nil || code < 100 || code > 699 {
		return
	}
	l.mu.Lock()
	defer l.unlock()
	if l.phase != phaseGone {
		l.refer.notify(code, reason)
	}
}

// withTargets calls f with the trunk's addresses: at once when they are known, otherwise from a
// goroutine when its name is resolved.
func (k *Table) withTargets(t *trunk.Trunk, f func([]transport.Target)) {
	if t.Conf.Host == "" {
		f(nil)
		return
	}
	if to := t.CallTargets(); len(to) > 0 {
		f(to)
		return
	}
	go func() { f(t.ResolvedCallTargets()) }()
}

func (k *Table) newLeg(id engine.LegID, a engine.AttemptID, t *trunk.Trunk, sink func(engine.LegEvent)) *leg {
	l := &leg{attempt: a, sink: sink, since: time.Now(), endpoint: endpoint{
		s: &k.env, id: id, callID: string(id), trunk: t, parties: parties{fromTag: message.DeriveTag(string(id))},
	}}
	l.txs.from, l.txs.leg, l.answers.from = &l.endpoint, l, &l.endpoint
	l.inv = invitation{leg: l, auth: auth.Of(t.Conf.Username, t.Conf.Password), route: t.CallRoute()}
	l.session.leg = l
	return l
}

func (k *Table) hash(id string) uint64 { return maphash.String(k.seed, id) % shardCount }

func (k *Table) leg(id engine.LegID) *leg {
	sh := &k.shards[k.hash(string(id))]
	sh.mu.RLock()
	defer sh.mu.RUnlock()
	return sh.legs[id]
}

// enlist adds a leg to the table, or returns the existing one with its id. It does not add it to
// its attempt.
func (k *Table) enlist(l *leg) (known *leg) {
	sh := &k.shards[k.hash(string(l.id))]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if known = sh.legs[l.id]; known != nil {
		return known
	}
	sh.legs[l.id] = l
	k.Count.Live.Add(1)
	if l.recovered {
		k.Count.Recovered.Add(1)
	}
	return nil
}

// add adds a leg to its attempt, or returns the existing one with its id.
func (k *Table) add(l *leg) (known *leg) {
	if known = k.enlist(l); known != nil {
		return known
	}
	if l.callID != string(l.id) {
		k.calls.Store(l.callID, l)
	}
	as := &k.attempts[k.hash(string(l.attempt))]
	as.mu.Lock()
	as.legs[l.attempt] = append(as.legs[l.attempt], l)
	as.mu.Unlock()
	return nil
}

// ofCall is the leg of a Call-ID.
func (k *Table) ofCall(callID string) *leg {
	if l, ok := k.calls.Load(callID); ok {
		return l.(*leg) //nolint:forcetypeassert // nothing else is put there
	}
	return k.leg(engine.LegID(callID))
}

// remove drops a leg.
func (k *Table) remove(id engine.LegID, a engine.AttemptID) {
	sh := &k.shards[k.hash(string(id))]
	sh.mu.Lock()
	if l := sh.legs[id]; l != nil {
		k.calls.CompareAndDelete(l.callID, l)
	}
	delete(sh.legs, id)
	sh.mu.Unlock()
	as := &k.attempts[k.hash(string(a))]
	as.mu.Lock()
	defer as.mu.Unlock()
	rest := slices.DeleteFunc(as.legs[a], func(l *leg) bool { return l.id == id })
	if len(rest) == 0 {
		delete(as.legs, a)
	} else {
		as.legs[a] = rest
	}
}

func (k *Table) ofAttempt(a engine.AttemptID) []*leg {
	as := &k.attempts[k.hash(string(a))]
	as.mu.Lock()
	defer as.mu.Unlock()
	return append([]*leg(nil), as.legs[a]...)
}

func (k *Table) each(f func(*leg)) {
	for i := range k.shards {
		sh := &k.shards[i]
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
