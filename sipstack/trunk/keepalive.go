package trunk

import (
	"slices"
	"strconv"
	"sync"
	"time"

	"dialler/engine"
	"dialler/sipstack/message"
	"dialler/sipstack/transport"

	"github.com/emiago/sipgo/sip"
)

// keepalive probes with OPTIONS whether a trunk is alive (RFC 3261 §11). Any final response means
// it is, even a 4xx, but for those that engine.SignOfLife names.
type keepalive struct {
	trunk *Trunk

	mu       sync.Mutex
	stopped  bool
	timer    *time.Timer
	cseq     uint32
	callID   string // of the running OPTIONS; empty between two
	data     []byte
	to       transport.Target
	interval time.Duration // to the next retransmission
	next     time.Duration // on the stack's clock: the next retransmission
	end      time.Duration // timeout of the running OPTIONS

	// The result, see engine.TrunkSigns.
	options        engine.TrunkAnswer
	trusted, talks bool
	reason         string
	at             time.Time

	// A round probes one address of the trunk after another.
	rest        []transport.Target
	alive, sent bool          // some address answered, or could be asked, in this round
	began       time.Duration // when, on the stack's clock
}

func (k *keepalive) start() {
	if k.trunk.Conf.OptionsInterval < 0 {
		// A trunk without keepalives should have its name resolved early too.
		k.trunk.Targets()
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
		k.trunk.set.probes.Delete(k.callID)
	}
}

// hurry asks at once, or waits shorter for the answer to what was asked.
func (k *keepalive) hurry() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.stopped || k.timer == nil {
		return
	}
	wait := time.Duration(0)
	if now := k.trunk.set.clock.Now(); k.callID != "" {
		k.end = min(k.end, now+k.trunk.set.timers.OptionsWait)
		wait = max(min(k.next, k.end)-now, 0)
	}
	k.timer.Reset(wait)
}

// tick starts an OPTIONS, retransmits it, or times it out.
func (k *keepalive) tick() {
	s := k.trunk.set
	if k.callID0() == "" {
		if k.trunk.fault != "" {
			k.result(0, engine.TrunkUnsent, k.trunk.fault)
			return
		}
		// Outside the lock: the first look-up of a name may take seconds.
		to, err := k.trunk.Resolved()
		if err != nil || len(to) == 0 {
			k.result(0, engine.TrunkUnsent, "host name not resolved")
			return
		}
		k.round(to)
		return
	}
	k.mu.Lock()
	now := s.clock.Now()
	switch {
	case k.stopped || k.callID == "":
	case now >= k.end:
		seq := k.cseq
		k.mu.Unlock()
		reason := "no reply to OPTIONS"
		if k.trunk.doubted() != 0 {
			reason = "no reply to INVITE and OPTIONS"
		}
		k.result(seq, engine.TrunkDeclines, reason)
		return
	case !k.to.Reliable() && now >= k.next:
		if s.net.Write(k.to, k.data) == nil {
			s.Counts.Retransmissions.Add(1)
		}
		k.interval = min(2*k.interval, s.timers.T2) // timer E
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

func (k *keepalive) send(to transport.Target) {
	s, t := k.trunk.set, k.trunk
	k.mu.Lock()
	if k.stopped {
		k.mu.Unlock()
		return
	}
	k.cseq++
	callID := s.nonce + "-options-" + string(t.Conf.ID)
	k.callID = callID
	s.probes.Store(callID, k)
	k.to = to
	local := t.SentBy(to)
	branch := message.DeriveBranch(callID, k.cseq, "OPTIONS")
	uri := "sip:" + t.HostPort + t.Params
	b := message.AppendStart(nil, "OPTIONS", uri, to.Transport, local, branch)
	b = append(b, t.RouteLine...)
	b = append(b, "From: <sip:"+local+">;tag="+message.DeriveTag(callID)+"\r\nTo: <"+uri+">\r\n"...)
	b = message.AppendCallID(b, callID, k.cseq, "OPTIONS")
	b = append(b, "Contact: <sip:"+local+t.Params+">\r\nAccept: application/sdp\r\n"...)
	b = append(b, t.AgentLines...)
	b = append(b, "Content-Length: 0\r\n\r\n"...)
	k.data = b
	now := s.clock.Now()
	k.interval = s.timers.T1
	k.next = now + k.interval
	k.end = now + min(s.timers.Transaction(), t.Conf.OptionsInterval)
	if t.doubted() != 0 {
		k.end = min(k.end, now+s.timers.OptionsWait)
	}
	if to.Reliable() {
		k.next = k.end
	}
	k.timer.Reset(min(k.next, k.end) - now)
	seq := k.cseq
	k.mu.Unlock()

	var err error
	if to.Reliable() {
		err = s.net.Push(to, transport.Queued{Data: b, After: func(left bool, err error) {
			if err != nil {
				k.result(seq, engine.TrunkUnsent, "not sent: "+err.Error())
			}
		}})
	} else {
		err = s.net.Write(to, b)
	}
	if err != nil {
		k.result(seq, engine.TrunkUnsent, "not sent: "+err.Error())
	}
}

// onResponse handles a response to the running OPTIONS.
func (k *keepalive) onResponse(r *sip.Response, seq uint32) {
	k.mu.Lock()
	mine := seq == k.cseq && k.callID != ""
	if mine && r.StatusCode < 200 {
		// Proceeding: retransmit at T2 (RFC 3261 §17.1.2.2).
		k.interval = k.trunk.set.timers.T2
		mine = false
	}
	k.mu.Unlock()
	if mine {
		answer := engine.TrunkDeclines
		if engine.SignOfLife(r.StatusCode) {
			answer = engine.TrunkAnswers
		}
		k.result(seq, answer, strconv.Itoa(r.StatusCode)+" "+r.Reason)
	}
}

// round probes all addresses, best first.
func (k *keepalive) round(to []transport.Target) {
	k.mu.Lock()
	k.rest, k.alive, k.sent, k.began = slices.Clone(to[1:]), false, false, k.trunk.set.clock.Now()
	k.mu.Unlock()
	k.send(to[0])
}

// result ends the running OPTIONS and continues with the next address, or schedules the next round:
// soon if nothing answered. The trunk answers as soon as one address does, and does not when none
// has; an address that does not answer is sorted after the others until it is probed again. seq is
// the CSeq of the OPTIONS, 0 when none was sent.
func (k *keepalive) result(seq uint32, answer engine.TrunkAnswer, reason string) {
	up := answer == engine.TrunkAnswers
	s, every := k.trunk.set, k.trunk.Conf.OptionsInterval
	talks := !up && k.trunk.talks() // takes locks of legs
	k.mu.Lock()
	if k.stopped || (seq != 0 && (k.callID == "" || seq != k.cseq)) {
		k.mu.Unlock()
		return // of an OPTIONS that has ended
	}
	if k.callID != "" {
		s.probes.Delete(k.callID)
		k.callID, k.data = "", nil
		if up {
			s.net.Marks.Clear(k.to)
		} else {
			s.net.Marks.Fail(k.to, 2*(every+s.timers.Transaction()))
		}
	}
	more := len(k.rest) > 0
	k.alive, k.sent = k.alive || up, k.sent || answer != engine.TrunkUnsent
	switch now := s.clock.Now(); {
	case up:
		k.trunk.silentAt.Store(0)
		k.options, k.trusted, k.reason, k.at = engine.TrunkAnswers, true, reason, time.Now()
	case !more && !k.alive:
		if k.options = engine.TrunkUnsent; k.sent {
			k.options = engine.TrunkDeclines
		}
		k.talks, k.reason, k.at = talks, reason, time.Now()
		if k.trunk.called() > k.began+(now-k.began)/2 {
			k.trusted = false // it answers calls instead
		}
	}
	if !k.alive {
		every = k.trunk.retry()
	}
	var next transport.Target
	if more {
		next, k.rest = k.rest[0], k.rest[1:]
	} else {
		k.timer.Reset(every)
	}
	k.mu.Unlock()
	k.trunk.report()
	if more {
		k.send(next)
	}
}
