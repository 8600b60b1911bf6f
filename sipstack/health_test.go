package sipstack_test

import (
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dialler/engine"
	"dialler/sipstack"
	"dialler/sipstack/timing"

	"github.com/emiago/sipgo/sip"
)

// lives are the reported healths of a trunk.
type lives chan engine.TrunkHealth

func (c lives) note(h engine.TrunkHealth) { c <- h }

// expect waits for exactly these reports and returns the last one.
func (c lives) expect(t *testing.T, want ...engine.TrunkLife) (h engine.TrunkHealth) {
	t.Helper()
	for _, life := range want {
		select {
		case h = <-c:
			if h.Life != life || h.Trunk != trunkID {
				t.Fatalf("%+v, want %s", h, life)
			}
		case <-time.After(patience):
			t.Fatalf("never %s", life)
		}
	}
	return h
}

// round is the interval of OPTIONS in these tests, and the time in which one must be answered.
const round = 100 * time.Millisecond

func asked(c *sipstack.TrunkConfig) { c.OptionsInterval = round }

func watched(t *testing.T) (*sipstack.Stack, lives) {
	health := make(lives, 100)
	return newStack(t, sipstack.Config{Timers: sipstack.Timers{T1: 20 * time.Millisecond, OptionsRetry: round},
		OnTrunkHealth: health.note}), health
}

// options answers OPTIONS with a status that changes; "" answers nothing.
func options(now *atomic.Pointer[string], rest script) script {
	s := script{sip.OPTIONS: func(u *uas, r *sip.Request, from netip.AddrPort) {
		if status := *now.Load(); status != "" {
			u.reply(r, from, status, "far", "", "")
		}
	}}
	for method, f := range rest {
		s[method] = f
	}
	return s
}

func status(s string) *atomic.Pointer[string] {
	p := &atomic.Pointer[string]{}
	p.Store(&s)
	return p
}

func TestATrunkIsUnprovenUntilOptionsAreAnsweredBySomebodyInService(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"", "408 Request Timeout", "500 Server Internal Error", "503 Service Unavailable",
		"504 Server Time-out"} {
		now := status(first)
		u := options(now, nil).start(t)
		s, health := watched(t)
		setTrunk(s, u.port(), asked)
		if h := health.expect(t, engine.TrunkUnproven); !h.At.IsZero() {
			t.Errorf("asked at %v", h.At)
		}
		u.request(sip.OPTIONS, 2)
		want := first
		if want == "" {
			want = "no reply to OPTIONS"
		}
		if h := s.Health(); len(h) != 1 || h[0].Life != engine.TrunkUnproven || h[0].Reason != want || h[0].At.IsZero() {
			t.Errorf("%q: %+v", first, h)
		}
		answer := "404 Not Found" // as good as any other
		now.Store(&answer)
		if h := health.expect(t, engine.TrunkAlive); h.Reason != answer {
			t.Errorf("%+v", h)
		}
		now.Store(&first) // what used to be answered says something when it is not
		if h := health.expect(t, engine.TrunkLost); h.Reason != want {
			t.Errorf("%+v", h)
		}
		now.Store(&answer)
		health.expect(t, engine.TrunkAlive)
		s.RemoveTrunk(trunkID)
		if h := s.Health(); len(h) != 0 {
			t.Errorf("%+v", h)
		}
	}
}

// However rarely a trunk is asked: while it does not answer, it is asked again soon.
func TestATrunkThatDoesNotAnswerIsAskedAgainSoon(t *testing.T) {
	t.Parallel()
	now := status("503 Service Unavailable")
	u := options(now, nil).start(t)
	s, health := watched(t)
	setTrunk(s, u.port(), func(c *sipstack.TrunkConfig) { c.OptionsInterval = time.Hour })
	u.request(sip.OPTIONS, 2)
	ok := "200 OK"
	now.Store(&ok)
	health.expect(t, engine.TrunkUnproven, engine.TrunkAlive)
	// One over TCP that nobody listens at.
	setTrunk(s, 1, func(c *sipstack.TrunkConfig) { asked(c); overTCP(c) })
	if h := health.expect(t, engine.TrunkUnproven, engine.TrunkLost); !strings.HasPrefix(h.Reason, "not sent: ") {
		t.Errorf("%+v", h)
	}
}

// A carrier that ignores OPTIONS is known by its calls: by a response, and as long as a conversation
// goes on.
func TestATrunkThatIgnoresOptionsIsProvenByItsCalls(t *testing.T) {
	t.Parallel()
	for what, begins := range map[string]sipstack.TrunkConfig{
		"ignored": {OptionsInterval: round}, "never asked": {OptionsInterval: -1}, "silent when nobody speaks": {
			OptionsInterval: round, DTX: true}} {
		u := options(status(""), script{sip.INVITE: answers("200 OK"), sip.BYE: answers("200 OK")}).start(t)
		s, health := watched(t)
		setTrunk(s, u.port(), func(c *sipstack.TrunkConfig) { c.OptionsInterval, c.DTX = begins.OptionsInterval, begins.DTX })
		health.expect(t, engine.TrunkUnproven)
		l := listen(t, confirming(s, false))
		leg := place(s, l)
		l.kind(leg, engine.LegAnswered)
		if h := health.expect(t, engine.TrunkAlive); !strings.HasPrefix(h.Reason, "calls are answered") {
			t.Errorf("%s: %+v", what, h)
		}
		if begins.DTX {
			health.expect(t, engine.TrunkUnproven)
			continue
		}
		if begins.OptionsInterval > 0 {
			u.request(sip.OPTIONS, u.count(sip.OPTIONS)+4) // rounds after its 200
		}
		if len(health) > 0 {
			t.Errorf("%s: in a conversation: %+v", what, <-health)
		}
		s.HangUpLeg(leg, engine.HangUpCause{Q850: 16})
		l.kind(leg, engine.LegClosed)
		if begins.OptionsInterval < 0 {
			if u.count(sip.OPTIONS) > 0 || s.Health()[0].Life != engine.TrunkAlive {
				t.Errorf("%d OPTIONS, %+v", u.count(sip.OPTIONS), s.Health())
			}
			continue
		}
		health.expect(t, engine.TrunkUnproven) // which takes calls, unlike one that is lost
	}
}

// A carrier that stops to answer OPTIONS and goes on with calls is not lost.
func TestATrunkThatAnswersCallsInsteadOfOptionsIsNotLost(t *testing.T) {
	t.Parallel()
	now, none := status("200 OK"), ""
	u := options(now, script{sip.INVITE: answers("486 Busy Here")}).start(t)
	s, health := watched(t)
	setTrunk(s, u.port(), asked)
	health.expect(t, engine.TrunkUnproven, engine.TrunkAlive)
	now.Store(&none)
	l := listen(t, nil)
	n := u.count(sip.OPTIONS)
	eventually(t, "calls go on through rounds of OPTIONS that nobody answers", func() bool {
		l.kind(place(s, l), engine.LegRefused)
		return u.count(sip.OPTIONS) >= n+4
	})
	if len(health) > 0 {
		t.Errorf("%+v", <-health)
	}
	health.expect(t, engine.TrunkUnproven)
}

func TestARegisteredTrunkNeedsNoAnswerToOptions(t *testing.T) {
	t.Parallel()
	u := options(status(""), script{sip.INVITE: answers("486 Busy Here"),
		sip.REGISTER: registrar(grants("600"))}).start(t)
	s, health := watched(t)
	setTrunk(s, u.port(), func(c *sipstack.TrunkConfig) { registering(c); asked(c) })
	health.expect(t, engine.TrunkLost, engine.TrunkAlive)
	u.request(sip.OPTIONS, 3)
	if h := s.Health()[0]; len(health) > 0 || h.Life != engine.TrunkAlive ||
		h.Reason != "registered: 200 OK; no reply to OPTIONS" {
		t.Errorf("%+v", h)
	}
	l := listen(t, nil)
	l.expect(place(s, l), "sent refused(486)")
}

// A carrier that lost power in the middle of conversations is noticed by the first call that it does not answer,
// whatever it answered before and however rarely it is asked.
func TestACarrierThatLostPowerIsNoticedByTheNextCall(t *testing.T) {
	t.Parallel()
	for what, x := range map[string]struct {
		every time.Duration
		want  engine.TrunkLife
	}{"asked once an hour": {time.Hour, engine.TrunkLost}, "never asked": {-1, engine.TrunkUnproven}} {
		var dead atomic.Bool
		alive := func(answer func(*uas, *sip.Request, netip.AddrPort)) func(*uas, *sip.Request, netip.AddrPort) {
			return func(u *uas, r *sip.Request, from netip.AddrPort) {
				if !dead.Load() {
					answer(u, r, from)
				}
			}
		}
		ok := alive(answers("200 OK"))
		u := script{sip.OPTIONS: ok, sip.INVITE: ok, sip.BYE: ok}.start(t)
		health := make(lives, 100)
		s := newStack(t, sipstack.Config{Timers: sipstack.Timers{T1: 20 * time.Millisecond, OptionsRetry: round,
			InviteSilence: time.Second, OptionsWait: 100 * time.Millisecond}, OnTrunkHealth: health.note})
		setTrunk(s, u.port(), func(c *sipstack.TrunkConfig) { c.OptionsInterval = x.every })
		health.expect(t, engine.TrunkUnproven)
		l := listen(t, confirming(s, false))
		if x.every > 0 {
			health.expect(t, engine.TrunkAlive)
		}
		l.kind(place(s, l), engine.LegAnswered)
		if x.every < 0 {
			health.expect(t, engine.TrunkAlive)
		}
		dead.Store(true)
		// Its retransmissions end before it has been silent for long enough, as where another node lends the trunk.
		a, leg := newLeg()
		cmd := placeCommand(a, leg)
		cmd.SendBy = timing.BootNow().Add(600 * time.Millisecond)
		s.PlaceLeg(cmd, l.sink)
		if h := health.expect(t, x.want); x.every > 0 && h.Reason != "no reply to INVITE and OPTIONS" {
			t.Errorf("%s: %+v", what, h)
		}
		dead.Store(false)
		place(s, l)
		health.expect(t, engine.TrunkAlive)
	}
}
