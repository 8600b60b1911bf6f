package leg

import (
	"slices"
	"strings"
	"time"

	"dialler/sipstack/message"
	"dialler/sipstack/timing"
	"dialler/sipstack/transport"

	"github.com/emiago/sipgo/sip"
)

// keptAnswers bounds how many requests of the far side are remembered per leg.
const keptAnswers = 4

// answer is a server transaction inside a dialog (RFC 3261 §17.2): a repeated request gets the same
// bytes again and is not acted on twice. The answer to an INVITE is repeated until its ACK comes.
type answer struct {
	method sip.RequestMethod
	branch string
	cseq   uint32
	to     transport.Target
	data   []byte // nil means not answered yet
	code   int
	gap    time.Duration
	// resendAt is timer G, endAt timer H (64*T1); 0 once the ACK has come.
	resendAt, endAt time.Duration
	offered         bool // our 2xx contains an offer; the ACK answers it
}

// answers are the last requests of the far side with what they got. The leg is locked
// in all methods.
type answers struct {
	from *endpoint
	last []answer
}

// reply answers a request and remembers the answer.
func (as *answers) reply(r *sip.Request, src transport.Target, code int, phrase, headers string, sdp []byte) *answer {
	data, to := as.from.respond(r, src, code, phrase, headers, sdp)
	a := as.remember(r)
	a.data, a.to, a.code = data, to, code
	if r.Method == sip.INVITE {
		now, t := as.from.s.clock.Now(), &as.from.s.conf.Timers
		a.endAt = now + t.Transaction()
		if code < 300 || !to.Reliable() {
			a.gap = t.T1
			a.resendAt = now + a.gap
		}
	}
	return a
}

// remember adds a request that is, or will be, answered.
func (as *answers) remember(r *sip.Request) *answer {
	if a := as.answered(r); a != nil {
		return a
	}
	if len(as.last) >= keptAnswers {
		oldest := max(slices.IndexFunc(as.last, func(a answer) bool { return a.endAt == 0 }), 0)
		as.last = slices.Delete(as.last, oldest, oldest+1)
	}
	as.last = append(as.last, answer{method: r.Method, branch: strings.Clone(message.BranchOf(r)), cseq: r.CSeq().SeqNo})
	return &as.last[len(as.last)-1]
}

// answered finds an earlier request.
func (as *answers) answered(r *sip.Request) *answer {
	branch := message.BranchOf(r)
	for i := range as.last {
		if a := &as.last[i]; a.method == r.Method && a.cseq == r.CSeq().SeqNo && a.branch == branch {
			return a
		}
	}
	return nil
}

// unacked finds a re-INVITE of the far side whose 2xx has no ACK yet.
func (as *answers) unacked() *answer {
	for i := range as.last {
		if a := &as.last[i]; a.endAt != 0 && a.code < 300 {
			return a
		}
	}
	return nil
}

// onAck ends the repetition of our answer to a re-INVITE; offered: it held our offer.
func (as *answers) onAck(r *sip.Request) (offered bool) {
	for i := range as.last {
		if a := &as.last[i]; a.method == sip.INVITE && a.cseq == r.CSeq().SeqNo && a.endAt != 0 {
			a.resendAt, a.endAt = 0, 0
			offered = offered || a.offered
		}
	}
	return offered
}

// quiet ends the repetition of our answers: the far side has ended the call.
func (as *answers) quiet() {
	for i := range as.last {
		as.last[i].resendAt, as.last[i].endAt = 0, 0
	}
}

// onCancel answers a CANCEL: a re-INVITE is answered at once, so that it changes
// nothing (RFC 3261 §9.2).
func (as *answers) onCancel(r *sip.Request, src transport.Target) {
	branch := message.BranchOf(r)
	code, phrase := 481, "Call/Transaction Does Not Exist"
	if slices.ContainsFunc(as.last, func(a answer) bool { return a.method == sip.INVITE && a.branch == branch }) {
		code, phrase = 200, "OK"
	}
	as.from.respond(r, src, code, phrase, as.from.trunk.UserAgentLine, nil)
}

// tick is timers G and H of all answers to INVITEs. It is true when a 2xx has got no
// ACK at all.
func (as *answers) tick(now time.Duration) (unacked bool) {
	for i := range as.last {
		a := &as.last[i]
		switch {
		case a.endAt != 0 && now >= a.endAt:
			a.resendAt, a.endAt = 0, 0
			unacked = unacked || a.code < 300
		case a.resendAt != 0 && now >= a.resendAt:
			if as.from.write(a.to, a.data) == nil {
				as.from.s.Count.Retransmissions.Add(1)
			}
			a.gap = min(2*a.gap, as.from.s.conf.Timers.T2)
			a.resendAt = now + a.gap
		}
	}
	return unacked
}

// next is when tick has something to do; 0: never.
func (as *answers) next() (at time.Duration) {
	for i := range as.last {
		at = timing.Earliest(at, timing.Earliest(as.last[i].resendAt, as.last[i].endAt))
	}
	return at
}
