package sipstack_test

import (
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/sipstack"

	"github.com/emiago/sipgo/sip"
)

// sessionUAS answers INVITEs with a session of a few seconds and other requests according to the
// script.
func sessionUAS(t *testing.T, expires, allow string, more script) *uas {
	invites := 0
	more[sip.INVITE] = func(u *uas, r *sip.Request, from netip.AddrPort) {
		invites++
		if f := more["re-INVITE"]; f != nil && invites > 1 {
			f(u, r, from)
			return
		}
		u.reply(r, from, "200 OK", "far", "Session-Expires: "+expires+"\r\nAllow: INVITE, ACK, BYE"+allow+"\r\n", answerSDP)
	}
	if more[sip.BYE] == nil {
		more[sip.BYE] = answers("200 OK")
	}
	return more.start(t)
}

func TestTheSessionIsRefreshedByUpdateAtHalfTime(t *testing.T) {
	u := sessionUAS(t, "3;refresher=uac", ", UPDATE",
		script{sip.UPDATE: func(u *uas, r *sip.Request, from netip.AddrPort) {
			u.reply(r, from, "200 OK", "far", "Session-Expires: 1;refresher=uac\r\nRequire: timer\r\n", "")
		}})
	s := newStack(t, sipstack.Config{})
	setTrunk(s, u.port(), nil)
	l, leg, invite := answered(t, s, u)
	if got := header(invite, "Session-Expires"); got != "1800" {
		t.Fatalf("Session-Expires: %q", got)
	}
	update := u.request(sip.UPDATE, 2)
	if header(update, "Session-Expires") != "1;refresher=uac" || header(update, "Supported") != "timer" ||
		update.Contact() == nil || len(update.Body()) != 0 || update.CSeq().SeqNo != 3 {
		t.Fatalf("%s", update)
	}
	s.HangUpLeg(leg, engine.HangUpCause{Q850: 16})
	l.expect(leg, "sent answered(200) closed(200)")
}

func TestTheSessionIsRefreshedByReinviteWithTheSameSDP(t *testing.T) {
	u := sessionUAS(t, "3;refresher=uac", "", script{"re-INVITE": func(u *uas, r *sip.Request, from netip.AddrPort) {
		if r.GetHeader("Authorization") == nil {
			u.send(from, response(r, "401 Unauthorized", "far", "WWW-Authenticate: Digest realm=\"r\", nonce=\"n\"\r\n", ""))
			return
		}
		u.reply(r, from, "200 OK", "far", "Session-Expires: 900;refresher=uac\r\n", answerSDP)
		u.reply(r, from, "200 OK", "far", "Session-Expires: 900;refresher=uac\r\n", answerSDP) // repeated: its ACK too
	}})
	s := newStack(t, sipstack.Config{})
	setTrunk(s, u.port(), withCredentials)
	l, leg, first := answered(t, s, u)
	again := u.request(sip.INVITE, 3)
	if string(again.Body()) != string(first.Body()) || toTagOf(again) != "far" ||
		header(again, "Content-Type") != "application/sdp" {
		t.Fatalf("%s", again)
	}
	acks := u.request(sip.ACK, 4)
	if acks.CSeq().SeqNo != 3 || u.all(sip.ACK)[1].CSeq().SeqNo != 2 || header(acks, "Authorization") == "" {
		t.Fatalf("%s", acks)
	}
	if hop := u.all(sip.ACK)[1]; hop.Via().Value() != u.request(sip.INVITE, 2).Via().Value() {
		t.Fatal("the ACK of a 401 belongs to its INVITE")
	}
	s.HangUpLeg(leg, engine.HangUpCause{Q850: 16})
	l.expect(leg, "sent answered(200) closed(200)")
}

func TestASessionThatTheFarSideDoesNotRefreshEnds(t *testing.T) {
	u := sessionUAS(t, "1;refresher=uas", ", UPDATE", script{})
	s := newStack(t, sipstack.Config{})
	setTrunk(s, u.port(), nil)
	l, leg, _ := answered(t, s, u)
	es := l.expect(leg, "sent answered(200) closed(200)")
	if es[2].Reason != "session timer expired" || u.count(sip.UPDATE) != 0 {
		t.Fatalf("%+v", es[2])
	}
	if lasted := es[2].At.Sub(es[1].At); lasted < 600*time.Millisecond {
		t.Fatalf("ended after %v", lasted)
	}
	if got := header(u.request(sip.BYE, 1), "Reason"); !strings.HasPrefix(got, "Q.850;cause=102") {
		t.Fatal(got)
	}
}

func TestARefreshOfTheFarSideKeepsTheSession(t *testing.T) {
	u := sessionUAS(t, "1;refresher=uas", ", UPDATE", script{})
	s := newStack(t, sipstack.Config{})
	setTrunk(s, u.port(), nil)
	l, leg, invite := answered(t, s, u)
	u.inDialog(invite, "far", "UPDATE", 1, "Supported: timer\r\nSession-Expires: 50;refresher=uac\r\n", "")
	if r := u.response(1); r.StatusCode != 422 || header(r, "Min-SE") != "90" {
		t.Fatalf("%s", r)
	}
	u.inDialog(invite, "far", "UPDATE", 2, "Supported: timer\r\nSession-Expires: 90;refresher=uac\r\n", "")
	if r := u.response(2); r.StatusCode != 200 || header(r, "Session-Expires") != "90;refresher=uac" ||
		header(r, "Require") != "timer" {
		t.Fatalf("%s", r)
	}
	u.inDialog(invite, "far", "UPDATE", 3, "Session-Expires: 90\r\n", "") // a far side without timers: we refresh
	if r := u.response(3); header(r, "Session-Expires") != "90;refresher=uas" || header(r, "Require") != "" {
		t.Fatalf("%s", r)
	}
	s.HangUpLeg(leg, engine.HangUpCause{Q850: 16})
	l.expect(leg, "sent answered(200) session closed(200)")
}

// The state stored with the answer says within which time the far side ends a session that nobody
// refreshes: the session timer that both have agreed on, provided that the far side itself runs it,
// and not only a proxy.
func TestTheDialogSaysWhenTheFarSideEndsTheSession(t *testing.T) {
	f := func(headers string, want uint32, trunk func(*sipstack.TrunkConfig)) {
		t.Helper()
		u := script{sip.BYE: answers("200 OK"), sip.INVITE: func(u *uas, r *sip.Request, from netip.AddrPort) {
			u.reply(r, from, "200 OK", "far", headers, answerSDP)
		}}.start(t)
		s := newStack(t, sipstack.Config{})
		setTrunk(s, u.port(), trunk)
		l, leg, _ := answered(t, s, u)
		if got := l.kind(leg, engine.LegAnswered).Dialog.SessionSec; got != want {
			t.Errorf("%q: %d s, want %d", headers, got, want)
		}
	}
	f("Session-Expires: 600;refresher=uas\r\n", 600, nil)
	f("Session-Expires: 600;refresher=uac\r\nRequire: timer\r\nSupported: 100rel, timer\r\n", 600, nil)
	f("x: 600;refresher=uac\r\nk: timer\r\n", 600, nil)
	f("Session-Expires: 20;refresher=uas\r\n", 90, nil) // 90 is the least that we agree to later
	f("Session-Expires: 600;refresher=uac\r\nRequire: timer\r\n", 0, nil)
	f("Session-Expires: 600\r\n", 0, nil)
	f("Supported: timer\r\n", 0, nil)
	f("Session-Expires: 600;refresher=uas\r\n", 0, func(c *sipstack.TrunkConfig) { c.SessionSec = -1 })
}

// What is stored stays true: the far side gets no longer session than that, and if it does not let
// us limit it, its actual length is reported.
func TestASessionThatMayLastForLongerThanIsStoredIsTold(t *testing.T) {
	const none = -1
	f := func(headers, want string, told int) {
		t.Helper()
		u := sessionUAS(t, "600;refresher=uas", ", UPDATE", script{})
		s := newStack(t, sipstack.Config{})
		setTrunk(s, u.port(), nil)
		l, leg, invite := answered(t, s, u)
		u.inDialog(invite, "far", "UPDATE", 1, headers, "")
		if r := u.response(1); r.StatusCode != 200 || header(r, "Session-Expires") != want {
			t.Fatalf("%q: %s", headers, r)
		}
		s.HangUpLeg(leg, engine.HangUpCause{Q850: 16})
		if told == none {
			l.expect(leg, "sent answered(200) closed(200)")
			return
		}
		es := l.expect(leg, "sent answered(200) session closed(200)")
		was, is := *es[1].Dialog, *es[2].Dialog
		if was.SessionSec = is.SessionSec; int(is.SessionSec) != told || !reflect.DeepEqual(was, is) {
			t.Errorf("%q: told %+v, want %d s", headers, is, told)
		}
	}
	f("Supported: timer\r\nSession-Expires: 300;refresher=uac\r\n", "300;refresher=uac", none)
	f("Supported: timer\r\nSession-Expires: 3600;refresher=uac\r\n", "600;refresher=uac", none)
	f("Supported: timer\r\nSession-Expires: 3600;refresher=uas\r\nMin-SE: 500\r\n", "600;refresher=uas", none)
	f("Supported: timer\r\nSession-Expires: 3600;refresher=uac\r\nMin-SE: 900\r\n", "900;refresher=uac", 900)
	f("Supported: timer\r\nSession-Expires: 800;refresher=uac\r\nMin-SE: 900\r\n", "800;refresher=uac", 800)
	f("Supported: timer\r\n", "600;refresher=uac", none)
	f("Session-Expires: 300\r\n", "300;refresher=uas", 0) // it does not support timers: a proxy added that
	f("", "", 0)
}

func TestAnAnswerToOurRefreshThatLengthensTheSessionIsTold(t *testing.T) {
	f := func(headers, want string, told uint32) {
		t.Helper()
		u := sessionUAS(t, "2;refresher=uac\r\nSupported: timer", ", UPDATE", script{
			sip.UPDATE: func(u *uas, r *sip.Request, from netip.AddrPort) {
				u.reply(r, from, "200 OK", "far", headers, "")
			}})
		s := newStack(t, sipstack.Config{})
		setTrunk(s, u.port(), nil)
		l, leg, _ := answered(t, s, u)
		if want == "session" {
			if got := l.kind(leg, engine.LegSession).Dialog.SessionSec; got != told {
				t.Errorf("%q: told %d s, want %d", headers, got, told)
			}
			return
		}
		u.request(sip.UPDATE, 2) // the first was answered
		s.HangUpLeg(leg, engine.HangUpCause{Q850: 16})
		l.expect(leg, "sent answered(200) closed(200)")
	}
	f("Session-Expires: 2;refresher=uac\r\n", "", 0)
	f("Session-Expires: 900;refresher=uac\r\n", "session", 900)
	f("", "session", 0)
}

// A call that is being ended, by this process or a later one, is no longer refreshed: if the far
// side does not receive the BYE, its session expires.
func TestACallThatIsBeingEndedIsNotRefreshed(t *testing.T) {
	u := sessionUAS(t, "600;refresher=uas", ", UPDATE", script{sip.BYE: func(*uas, *sip.Request, netip.AddrPort) {}})
	s := newStack(t, sipstack.Config{})
	setTrunk(s, u.port(), nil)
	l, leg, invite := answered(t, s, u)
	const refresh = "Supported: timer\r\nSession-Expires: 600;refresher=uac\r\n"
	refused := func(n int) {
		t.Helper()
		u.inDialog(invite, "far", "UPDATE", n, refresh, "")
		if r := u.response(n); r.StatusCode != 481 {
			t.Fatalf("%s", r)
		}
	}
	s.HangUpLeg(leg, engine.HangUpCause{Q850: 16})
	u.request(sip.BYE, 1)
	refused(1)
	dialog := l.kind(leg, engine.LegAnswered).Dialog
	addr := s.Addr()
	_ = s.Close()
	next := newStack(t, sipstack.Config{Listen: addr})
	setTrunk(next, u.port(), nil)
	refused(2) // it does not know the call yet
	next.RecoverLeg(engine.RecoveredLeg{Attempt: engine.AttemptID(strings.Split(string(leg), ".")[0]), Leg: leg,
		Trunk: trunkID, From: "+4930", To: "+4940", Dialog: dialog}, l.sink)
	u.request(sip.BYE, 2)
	refused(3)
}

func TestARefreshAnsweredWith481EndsTheCall(t *testing.T) {
	u := sessionUAS(t, "1;refresher=uac", ", UPDATE", script{sip.UPDATE: answers("481 Call/Transaction Does Not Exist")})
	s := newStack(t, sipstack.Config{Timers: fast})
	setTrunk(s, u.port(), nil)
	l, leg, _ := answered(t, s, u)
	l.expect(leg, "sent answered(200) closed(200)")
	u.request(sip.BYE, 1)
}

func TestARefusedRefreshIsTriedAgain(t *testing.T) {
	f := func(t *testing.T, status, headers string, after string) {
		t.Parallel()
		n := 0
		u := sessionUAS(t, "3;refresher=uac", ", UPDATE", script{
			sip.UPDATE: func(u *uas, r *sip.Request, from netip.AddrPort) {
				if n++; n == 1 {
					u.reply(r, from, status, "far", headers, "")
					return
				}
				u.reply(r, from, "200 OK", "far", "Session-Expires: 900;refresher=uac\r\n", "")
			},
			"re-INVITE": func(u *uas, r *sip.Request, from netip.AddrPort) {
				u.reply(r, from, "200 OK", "far", "Session-Expires: 900;refresher=uac\r\n", answerSDP)
			},
		})
		s := newStack(t, sipstack.Config{Timers: fast})
		setTrunk(s, u.port(), nil)
		_, _, _ = answered(t, s, u)
		method := sip.UPDATE
		n2 := 2
		if after == "INVITE" {
			method = sip.INVITE
		}
		again := u.request(method, n2)
		if after != "INVITE" && header(again, "Session-Expires") != after {
			t.Fatalf("%s: %s", status, again)
		}
	}
	for _, row := range [][3]string{
		{"491 Request Pending", "", "3;refresher=uac"},
		{"500 Server Internal Error", "Retry-After: 1\r\n", "3;refresher=uac"},
		{"422 Session Interval Too Small", "Min-SE: 120\r\n", "120;refresher=uac"},
		{"405 Method Not Allowed", "", "INVITE"},
	} {
		t.Run(row[0][:3], func(t *testing.T) { f(t, row[0], row[1], row[2]) })
	}
}

func TestAnIntervalThatIsTooSmallIsLengthened(t *testing.T) {
	u := script{sip.INVITE: func(u *uas, r *sip.Request, from netip.AddrPort) {
		switch r.CSeq().SeqNo {
		case 1:
			u.send(from, response(r, "422 Session Interval Too Small", "a", "Min-SE: 3600\r\n", ""))
		case 2:
			u.send(from, response(r, "422 Session Interval Too Small", "a", "Min-SE: 7200\r\n", ""))
		default:
			u.send(from, response(r, "422 Session Interval Too Small", "a", "Min-SE: 9000\r\n", ""))
		}
	}}.start(t)
	s := newStack(t, sipstack.Config{})
	setTrunk(s, u.port(), func(c *sipstack.TrunkConfig) { c.SessionSec = 600 })
	l := listen(t, nil)
	l.expect(place(s, l), "sent refused(422)") // twice at most
	last := u.request(sip.INVITE, 3)
	if header(u.request(sip.INVITE, 1), "Session-Expires") != "600" || header(last, "Session-Expires") != "7200" ||
		header(last, "Min-SE") != "7200" || toTagOf(last) != "" {
		t.Fatalf("%s", last)
	}
	if u.count(sip.INVITE) != 3 || u.request(sip.INVITE, 1).CallID().Value() != last.CallID().Value() {
		t.Fatalf("%d INVITEs", u.count(sip.INVITE))
	}
}
