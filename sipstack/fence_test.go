package sipstack_test

import (
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"dialler/engine"
	"dialler/sipstack"
	"dialler/sipstack/timing"

	"github.com/emiago/sipgo/sip"
)

// nodeLease is one lease, fence the leases of a node.
type nodeLease struct {
	until   atomic.Int64
	since   engine.BootTime
	without time.Duration
}

func (t *nodeLease) Gap() (engine.BootTime, time.Duration) { return t.since, t.without }

func (t *nodeLease) Until() engine.BootTime { return engine.BootTime(t.until.Load()) }
func (t *nodeLease) in(d time.Duration)     { t.until.Store(int64(timing.BootNow().Add(d))) }

type fence struct {
	present atomic.Pointer[nodeLease]
	kept    atomic.Bool
}

func (f *fence) Lease() engine.NodeLease    { return f.present.Load() }
func (f *fence) Boot() engine.BootTime      { return timing.BootNow() }
func (f *fence) Kept(engine.AttemptID) bool { return f.kept.Load() }

// joined begins a new lease.
func (f *fence) joined() *nodeLease {
	t := new(nodeLease)
	t.in(time.Hour)
	f.present.Store(t)
	return t
}

func fencedStack(t *testing.T, u *uas) (*sipstack.Stack, *fence, *nodeLease) {
	t.Helper()
	f := new(fence)
	present := f.joined()
	s := newStack(t, sipstack.Config{Timers: wide, Fence: f})
	setTrunk(s, u.port(), nil)
	return s, f, present
}

// At the end of the lease, ringing calls are cancelled without a command.
func TestWhatRingsIsCancelledAtTheEndOfTheLease(t *testing.T) {
	var invite atomic.Pointer[func()]
	u := script{
		sip.INVITE: func(u *uas, r *sip.Request, from netip.AddrPort) {
			u.reply(r, from, "180 Ringing", "far", "", "")
			end := func() { u.reply(r, from, "487 Request Terminated", "far", "", "") }
			invite.Store(&end)
		},
		sip.CANCEL: func(u *uas, r *sip.Request, from netip.AddrPort) {
			u.reply(r, from, "200 OK", "far", "", "")
			(*invite.Load())()
		},
	}.start(t)
	s, f, present := fencedStack(t, u)
	l := listen(t, nil)
	leg := place(s, l)
	l.kind(leg, engine.LegProvisional)
	present.in(0)
	f.joined() // before the check: earlier calls are still over
	l.expect(leg, "sent provisional(180) fenced refused(487)")
}

// An answer that arrived while the process was suspended is in its socket buffer when it resumes,
// and the node may have joined again before that is read.
func TestAnAnswerBehindTheEndOfTheLeaseBecomesNoConversation(t *testing.T) {
	var answer atomic.Pointer[func()]
	u := script{
		sip.INVITE: func(u *uas, r *sip.Request, from netip.AddrPort) {
			take := func() { u.reply(r, from, "200 OK", "far", "", answerSDP) }
			answer.Store(&take)
			u.reply(r, from, "180 Ringing", "far", "", "")
		},
		sip.BYE: answers("200 OK"),
	}.start(t)
	s, _, present := fencedStack(t, u)
	l := listen(t, confirming(s, false))
	leg := place(s, l)
	l.kind(leg, engine.LegProvisional)
	present.in(0)
	(*answer.Load())()
	events := l.expect(leg, "sent provisional(180) fenced answered(200) closed(200)")
	if p := events[4].Proves(); p != engine.ProofBye {
		t.Errorf("the end is proven by %q", p)
	}
	u.request(sip.ACK, 1)
}

// An answer whose ACK waits for the database is ended with the lease: at once, and when the ACK is
// requested.
func TestNoACKOfAConversationLeavesBehindTheEndOfTheLease(t *testing.T) {
	for _, confirms := range []bool{false, true} {
		u := script{sip.INVITE: answers("200 OK"), sip.BYE: answers("200 OK")}.start(t)
		s, _, present := fencedStack(t, u)
		l := listen(t, nil)
		leg := place(s, l)
		l.kind(leg, engine.LegAnswered)
		present.in(0)
		if confirms {
			s.ConfirmLeg(leg)
		}
		l.expect(leg, "sent answered(200) fenced closed(200)")
		u.request(sip.ACK, 1)
	}
}

// A conversation goes on for half a minute after the lease: then the node ends it itself, unless
// the node is back or another one has the call.
func TestAConversationGoesOnForHalfAMinuteBehindTheLease(t *testing.T) {
	talking := func(t *testing.T) (*uas, *fence, *nodeLease, *listener, engine.LegID) {
		u := script{sip.INVITE: answers("200 OK"), sip.BYE: answers("200 OK")}.start(t)
		s, f, present := fencedStack(t, u)
		l := listen(t, confirming(s, false))
		leg := place(s, l)
		u.request(sip.ACK, 1)
		return u, f, present, l, leg
	}
	const looked = time.Second // several times
	t.Run("alone", func(t *testing.T) {
		t.Parallel()
		_, _, present, l, leg := talking(t)
		began := time.Now()
		present.in(looked - engine.LimboFor)
		end := l.expect(leg, "sent answered(200) fenced closed(200)")[3]
		if d := end.At.Sub(began); d < looked || d > 3*looked {
			t.Errorf("ended %v after the end of the lease, less %v", d, engine.LimboFor-looked)
		}
	})
	goesOn := func(name string, change func(*fence, *nodeLease)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u, f, present, l, leg := talking(t)
			change(f, present)
			over := time.Now().Add(looked)
			eventually(t, "a second has passed", func() bool { return time.Now().After(over) })
			if n := u.count(sip.BYE); n > 0 {
				t.Errorf("it was ended: %s", describe(l.of(leg)))
			}
		})
	}
	goesOn("within its time", func(_ *fence, p *nodeLease) { p.in(3*looked - engine.LimboFor) })
	goesOn("the node is back", func(f *fence, p *nodeLease) { p.in(-time.Minute); f.joined() })
	t.Run("the node is back too late", func(t *testing.T) {
		t.Parallel()
		_, f, present, l, leg := talking(t)
		present.in(-time.Minute)
		late := &nodeLease{since: timing.BootNow(), without: time.Minute}
		late.in(time.Hour)
		f.present.Store(late)
		l.expect(leg, "sent answered(200) fenced closed(200)")
	})
	goesOn("another node has it", func(f *fence, p *nodeLease) { f.kept.Store(true); p.in(-time.Minute) })
}

// An INVITE waits for name resolution, or for a connection: its lease ends before its send-by time.
func TestNoINVITELeavesBehindTheEndOfTheLease(t *testing.T) {
	u := newUAS(t, nil)
	s, _, present := fencedStack(t, u)
	l := listen(t, nil)
	present.in(0)
	leg := place(s, l)
	l.expect(leg, "not_sent")
	if n := u.count(sip.INVITE); n > 0 {
		t.Errorf("%d INVITEs", n)
	}
}
