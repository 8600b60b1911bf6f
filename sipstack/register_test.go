package sipstack_test

import (
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"dialler/engine"
	"dialler/sipstack"

	"github.com/emiago/sipgo/sip"
)

const (
	registerChallenge = `WWW-Authenticate: Digest realm="carrier", nonce="n1", qop="auth", algorithm=SHA-256` + "\r\n"
	aMoment           = 30 * time.Millisecond // first pause after a failed registration in these tests
)

func registering(c *sipstack.TrunkConfig) { withCredentials(c); c.Kind = engine.TrunkRegistered }

// registrar answers REGISTER: n counts from 1.
func registrar(f func(n int, r *sip.Request) (status, headers string)) func(*uas, *sip.Request, netip.AddrPort) {
	return func(u *uas, r *sip.Request, from netip.AddrPort) {
		status, headers := f(u.count(sip.REGISTER), r)
		if status != "" {
			u.send(from, response(r, status, "registrar", headers, ""))
		}
	}
}

// binding echoes the Contact with a lifetime.
func binding(r *sip.Request, expires string) string {
	return "Contact: <sip:someone@192.0.2.1>;expires=7, <" + r.Contact().Address.String() + ">;expires=" + expires +
		"\r\nExpires: 9999\r\n"
}

func grants(expires string) func(int, *sip.Request) (string, string) {
	return func(_ int, r *sip.Request) (string, string) {
		if r.GetHeader("Authorization") == nil {
			return "401 Unauthorized", registerChallenge
		}
		return "200 OK", binding(r, expires)
	}
}

func registered(s *sipstack.Stack) bool {
	rs := s.Registrations()
	return len(rs) == 1 && rs[0].Registered
}

// quickRetry repeats no request within a test, so that requests can be counted.
func quickRetry() sipstack.Timers {
	return sipstack.Timers{T1: 5 * time.Second, RegisterRetry: aMoment}
}

func TestARegisteredTrunkIsUpOnlyWhileItIsRegistered(t *testing.T) {
	let := make(chan struct{})
	u := script{sip.INVITE: answers("486 Busy Here"),
		sip.REGISTER: registrar(func(n int, r *sip.Request) (string, string) {
			if r.GetHeader("Authorization") == nil {
				return "401 Unauthorized", registerChallenge
			}
			select {
			case <-let:
				return "200 OK", binding(r, "600")
			default:
				return "", "" // repeated by timer E
			}
		})}.start(t)
	health := make(lives, 10)
	s := newStack(t, sipstack.Config{Timers: sipstack.Timers{T1: 50 * time.Millisecond}, OnTrunkHealth: health.note})
	setTrunk(s, u.port(), registering)
	if h := health.expect(t, engine.TrunkLost); !strings.HasPrefix(h.Reason, "not registered") {
		t.Fatalf("%+v", h)
	}
	l := listen(t, nil)
	if e := l.kind(place(s, l), engine.LegNotSent); e.NotSent != engine.NotSentTrunk ||
		!strings.HasPrefix(e.Reason, "not registered") {
		t.Fatalf("%+v", e)
	}
	close(let)
	if h := health.expect(t, engine.TrunkAlive); h.Reason != "registered: 200 OK" || h.At.IsZero() {
		t.Fatalf("%+v", h)
	}
	l.expect(place(s, l), "sent refused(486)")
	r := s.Registrations()[0]
	if left := time.Until(r.Until); !r.Registered || r.Code != 200 || left > 600*time.Second || left < 500*time.Second ||
		r.At.IsZero() || r.Trunk != trunkID {
		t.Fatalf("%+v", r)
	}
	// Refreshed a minute before it expires.
	if next := time.Until(r.Next); next > 540*time.Second || next < 440*time.Second {
		t.Fatalf("next in %s", next)
	}
	m := u.request(sip.REGISTER, 2)
	if m.Recipient.Host != "127.0.0.1" || m.Recipient.User != "" || m.To().Address.String() != "sip:alice@127.0.0.1" ||
		m.From().Address.String() != m.To().Address.String() ||
		header(m, "Expires") != "600" || m.Contact().Address.Port != int(addr(s).Port()) {
		t.Fatalf("%s", m)
	}
	if hs := s.Health(); len(hs) != 1 || hs[0].Life != engine.TrunkAlive {
		t.Fatalf("%+v", hs)
	}
}

func TestARegistrationIsRefreshedBeforeItExpires(t *testing.T) {
	u := script{sip.REGISTER: registrar(grants("1"))}.start(t)
	s := newStack(t, sipstack.Config{Timers: quickRetry()})
	setTrunk(s, u.port(), func(c *sipstack.TrunkConfig) { registering(c); c.RegisterSec = 300 })
	eventually(t, "registered", func() bool { return registered(s) })
	first := u.request(sip.REGISTER, 1)
	last := u.request(sip.REGISTER, 6)
	if last.CallID().Value() != first.CallID().Value() || last.CSeq().SeqNo != first.CSeq().SeqNo+5 ||
		header(last, "Contact") != header(first, "Contact") || header(last, "Expires") != "300" {
		t.Fatalf("%s\n%s", first, last)
	}
}

func TestABindingThatIsNotRefreshedExpires(t *testing.T) {
	u := script{sip.REGISTER: registrar(func(n int, r *sip.Request) (string, string) {
		if n > 1 {
			return "", ""
		}
		return "200 OK", "Expires: 1\r\n" // without Contact: what was asked for, for that long
	})}.start(t)
	health := make(lives, 10)
	s := newStack(t, sipstack.Config{Timers: quickRetry(), OnTrunkHealth: health.note})
	setTrunk(s, u.port(), registering)
	health.expect(t, engine.TrunkLost, engine.TrunkAlive, engine.TrunkLost)
}

func TestMinExpiresIsAskedFor(t *testing.T) {
	u := script{sip.REGISTER: registrar(func(n int, r *sip.Request) (string, string) {
		if header(r, "Expires") == "60" {
			return "423 Interval Too Brief", "Min-Expires: 1800\r\n"
		}
		return grants("1800")(n, r)
	})}.start(t)
	s := newStack(t, sipstack.Config{Timers: quickRetry()})
	setTrunk(s, u.port(), func(c *sipstack.TrunkConfig) { registering(c); c.RegisterSec = 60 })
	eventually(t, "registered", func() bool { return registered(s) })
	if last := u.request(sip.REGISTER, 3); header(last, "Expires") != "1800" || u.count(sip.REGISTER) != 3 {
		t.Fatalf("%d\n%s", u.count(sip.REGISTER), last)
	}
}

func TestARefusedRegistrationIsTriedAgainLessAndLessOften(t *testing.T) {
	for status, want := range map[string]int{"403 Forbidden": 403, "423 Interval Too Brief": 423, "404 Not Found": 404} {
		var mu sync.Mutex
		var at []time.Time
		u := script{sip.REGISTER: registrar(func(int, *sip.Request) (string, string) {
			mu.Lock()
			defer mu.Unlock()
			at = append(at, time.Now())
			return status, "Min-Expires: 100000000\r\n"
		})}.start(t)
		s := newStack(t, sipstack.Config{Timers: quickRetry()})
		setTrunk(s, u.port(), registering)
		u.request(sip.REGISTER, 5)
		if r := s.Registrations()[0]; r.Registered || r.Code != want || !strings.Contains(r.Reason, status) {
			t.Fatalf("%+v", r)
		}
		_ = s.Close()
		mu.Lock()
		defer mu.Unlock()
		// 30, 60, 120, 240 ms, or up to a quarter less.
		for i := range 4 {
			if least := aMoment << i * 3 / 4; at[i+1].Sub(at[i]) < least {
				t.Errorf("%s: try %d came %s after the one before, at least %s expected", status, i+2, at[i+1].Sub(at[i]), least)
			}
		}
	}
}

func TestAWrongPasswordIsNotTriedInALoop(t *testing.T) {
	u := script{sip.REGISTER: registrar(func(int, *sip.Request) (string, string) {
		return "401 Unauthorized", registerChallenge
	})}.start(t)
	timers := quickRetry()
	timers.RegisterRetry = time.Minute
	s := newStack(t, sipstack.Config{Timers: timers})
	setTrunk(s, u.port(), registering)
	eventually(t, "the refusal is known", func() bool { return s.Registrations()[0].Code == 401 })
	if n := u.count(sip.REGISTER); n != 2 {
		t.Fatalf("%d REGISTERs", n)
	}
	if next := time.Until(s.Registrations()[0].Next); next < 40*time.Second || next > time.Minute {
		t.Fatal(next)
	}
}

func TestARegistrarMayAskForAPause(t *testing.T) {
	u := script{sip.REGISTER: registrar(func(int, *sip.Request) (string, string) {
		return "503 Service Unavailable", "Retry-After: 300\r\n"
	})}.start(t)
	s := newStack(t, sipstack.Config{Timers: quickRetry()})
	setTrunk(s, u.port(), registering)
	eventually(t, "the refusal is known", func() bool { return s.Registrations()[0].Code == 503 })
	if next := time.Until(s.Registrations()[0].Next); next < 240*time.Second {
		t.Fatal(next)
	}
}

func TestATrunkIsUnregisteredWhenItGoes(t *testing.T) {
	for name, end := range map[string]func(*sipstack.Stack){
		"removed": func(s *sipstack.Stack) { s.RemoveTrunk(trunkID) },
		"closed":  func(s *sipstack.Stack) { _ = s.Close() },
		"another account": func(s *sipstack.Stack) {
			s.SetTrunk(sipstack.TrunkConfig{ID: trunkID, Host: "127.0.0.1", Port: 9, OptionsInterval: -1})
		},
	} {
		u := script{sip.REGISTER: registrar(func(n int, r *sip.Request) (string, string) {
			if header(r, "Expires") == "0" && r.GetHeader("Authorization") != nil {
				return "200 OK", ""
			}
			return grants("600")(n, r)
		})}.start(t)
		s := newStack(t, sipstack.Config{Timers: quickRetry()})
		setTrunk(s, u.port(), registering)
		eventually(t, "registered", func() bool { return registered(s) })
		end(s)
		first, last := u.request(sip.REGISTER, 2), u.request(sip.REGISTER, 4)
		if header(last, "Expires") != "0" || last.GetHeader("Authorization") == nil ||
			header(last, "Contact") != header(first, "Contact") || last.CallID().Value() != first.CallID().Value() {
			t.Errorf("%s: %s", name, last)
		}
	}
}

func TestCloseDoesNotWaitForASilentRegistrar(t *testing.T) {
	u := script{sip.REGISTER: registrar(func(n int, r *sip.Request) (string, string) {
		if n > 2 {
			return "", ""
		}
		return grants("600")(n, r)
	})}.start(t)
	s := newStack(t, sipstack.Config{})
	setTrunk(s, u.port(), registering)
	eventually(t, "registered", func() bool { return registered(s) })
	closed := make(chan struct{})
	go func() { defer close(closed); _ = s.Close() }()
	select {
	case <-closed:
	case <-time.After(patience):
		t.Fatal("Close waits")
	}
}

func TestAChangeOfTheTrunkKeepsItsRegistration(t *testing.T) {
	u := script{sip.REGISTER: registrar(grants("600")), sip.INVITE: answers("486 Busy Here")}.start(t)
	s := newStack(t, sipstack.Config{Timers: quickRetry()})
	setTrunk(s, u.port(), registering)
	eventually(t, "registered", func() bool { return registered(s) })
	setTrunk(s, u.port(), func(c *sipstack.TrunkConfig) { registering(c); c.UserAgent = "other" })
	l := listen(t, nil)
	l.expect(place(s, l), "sent refused(486)")
	if n := u.count(sip.REGISTER); n != 2 || !registered(s) {
		t.Fatalf("%d REGISTERs, %+v", n, s.Registrations())
	}
}

func TestRegistrationOverTLSUsesTheConnectionOfCalls(t *testing.T) {
	ca := newAuthority(t)
	u, f := newStreamUAS(t, ca.certify("127.0.0.1"), script{sip.REGISTER: registrar(grants("600")),
		sip.INVITE: answers("486 Busy Here")})
	s := newStack(t, sipstack.Config{Timers: quickRetry()})
	setTrunk(s, u.port(), func(c *sipstack.TrunkConfig) {
		registering(c)
		overTLS(ca.roots)(c)
		c.FromDomain, c.FromUser = "carrier.example", "4930"
	})
	eventually(t, "registered", func() bool { return registered(s) })
	l := listen(t, nil)
	l.expect(place(s, l), "sent refused(486)")
	if m := u.request(sip.REGISTER, 1); f.count() != 1 || m.To().Address.String() != "sip:4930@carrier.example" ||
		!strings.Contains(header(m, "Contact"), ";transport=tls") {
		t.Fatalf("%d connections\n%s", f.count(), m)
	}
}

func TestARegistrarThatCannotBeReachedIsTriedAgain(t *testing.T) {
	u := script{sip.REGISTER: registrar(grants("600"))}.start(t)
	s := newStack(t, sipstack.Config{Timers: quickRetry()})
	setTrunk(s, u.port(), func(c *sipstack.TrunkConfig) { registering(c); overTCP(c) }) // nothing listens on TCP
	eventually(t, "the failure is known", func() bool { return strings.Contains(s.Registrations()[0].Reason, "not sent") })
	if r := s.Registrations()[0]; r.Code != 0 || r.Registered {
		t.Fatalf("%+v", r)
	}
	setTrunk(s, u.port(), registering)
	eventually(t, "registered", func() bool { return registered(s) })
}

// TestAChangedTrunkRegistersWhenItsOldBindingIsGone changes a trunk twice before its registrar has
// taken the first binding back. The requests have one Call-ID, so that a registrar refuses those
// that are out of order (RFC 3261 §10.3).
// RFC 3608: calls take the way that the registrar gives with the binding, requests of the binding do
// not.
func TestCallsGoAlongTheServiceRouteOfTheRegistrar(t *testing.T) {
	edge := script{sip.INVITE: answers("180 Ringing"), sip.CANCEL: func(u *uas, r *sip.Request, from netip.AddrPort) {
		u.send(from, response(r, "200 OK", "edge", "", ""))
		u.send(from, response(u.request(sip.INVITE, u.count(sip.INVITE)), "487 Request Terminated", "edge", "", ""))
	}}.start(t)
	first := fmt.Sprintf("<sip:127.0.0.1:%d;lr>", edge.port())
	const second = "<sip:core.example;lr;x=1>"
	for _, c := range []struct {
		name, header, want string
		proxy              bool
	}{
		{"one header", "Service-Route: " + first + ", " + second + "\r\n", first + ", " + second, false},
		{"two headers", "Service-Route: " + first + "\r\nService-Route: " + second + "\r\n", first + ", " + second, false},
		{"after the outbound proxy", "Service-Route: " + second + "\r\n", second, true},
		{"a strict router is not taken", "Service-Route: <sip:core.example>\r\n", "", false},
		{"nor what is no SIP URI", "Service-Route: " + first + ", <tel:+4930123456>\r\n", "", false},
		{"none", "", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			grant := grants("600")
			home := script{sip.INVITE: answers("180 Ringing"), sip.CANCEL: answers("200 OK"), sip.OPTIONS: answers("200 OK"),
				sip.REGISTER: registrar(func(n int, r *sip.Request) (string, string) {
					status, headers := grant(n, r)
					return status, headers + c.header
				})}.start(t)
			s := newStack(t, sipstack.Config{Timers: quickRetry()})
			setTrunk(s, home.port(), func(tc *sipstack.TrunkConfig) {
				registering(tc)
				if c.proxy {
					tc.OutboundProxy = fmt.Sprintf("127.0.0.1:%d", home.port())
				}
			})
			eventually(t, "registered", func() bool { return registered(s) })
			at, nth := home, 1
			if strings.HasPrefix(c.want, first) {
				at, nth = edge, edge.count(sip.INVITE)+1
			}
			l := listen(t, nil)
			leg := place(s, l)
			l.kind(leg, engine.LegProvisional)
			s.CancelLeg(leg)
			sent := []*sip.Request{at.request(sip.INVITE, nth), at.request(sip.CANCEL, nth)}
			if at == edge {
				sent = append(sent, edge.request(sip.ACK, nth))
			}
			for _, m := range sent {
				var routes []string
				for _, h := range m.GetHeaders("Route") {
					routes = append(routes, h.Value())
				}
				want := c.want
				if c.proxy {
					want = fmt.Sprintf("<sip:127.0.0.1:%d;lr>, ", home.port()) + want
				}
				if got := strings.Join(routes, ", "); got != want || m.Recipient.Port != home.port() {
					t.Errorf("Route %q, want %q:\n%s", got, want, m)
				}
			}
			if m := home.request(sip.REGISTER, 1); !c.proxy && m.GetHeader("Route") != nil || header(m, "Supported") != "path" {
				t.Errorf("%s", m)
			}
		})
	}
}

func TestAChangedTrunkRegistersWhenItsOldBindingIsGone(t *testing.T) {
	var mu sync.Mutex
	var said []string
	last := uint32(0)
	u := script{sip.REGISTER: registrar(func(_ int, r *sip.Request) (string, string) {
		if r.GetHeader("Authorization") == nil {
			return "401 Unauthorized", registerChallenge
		}
		mu.Lock()
		defer mu.Unlock()
		user := r.From().Address.User
		if n := r.CSeq().SeqNo; n <= last {
			said = append(said, user+" out of order")
		} else {
			last = n
		}
		if r.GetHeader("Expires").Value() == "0" {
			said = append(said, user+" leaves")
			return "200 OK", ""
		}
		said = append(said, user)
		return "200 OK", binding(r, "600")
	})}.start(t)
	s := newStack(t, sipstack.Config{Timers: quickRetry()})
	as := func(user string) {
		setTrunk(s, u.port(), func(c *sipstack.TrunkConfig) { registering(c); c.FromUser = user })
	}
	as("first")
	eventually(t, "the trunk is registered", func() bool { return registered(s) })
	as("second")
	as("third")
	eventually(t, "the changed trunk is registered", func() bool { return registered(s) })
	mu.Lock()
	defer mu.Unlock()
	if got := strings.Join(said, ", "); got != "first, first leaves, third" {
		t.Fatal(got)
	}
}

// A changed external address is registered at once, and stands in what is sent from then on.
func TestAChangedExternalAddressIsRegisteredAtOnce(t *testing.T) {
	u := script{sip.INVITE: answers("486 Busy Here"), sip.REGISTER: registrar(grants("600"))}.start(t)
	s := newStack(t, sipstack.Config{Timers: quickRetry(), Listeners: []sipstack.Listener{
		{Name: "default", Address: "127.0.0.1:0", ExternalHost: "203.0.113.7"}}})
	setTrunk(s, u.port(), registering)
	if m := u.request(sip.REGISTER, 2); m.Contact().Address.Host != "203.0.113.7" {
		t.Fatalf("%s", m)
	}
	eventually(t, "registered", func() bool { return registered(s) })
	s.SetExternalHost("", "203.0.113.8")
	for _, m := range []*sip.Request{u.request(sip.REGISTER, 3), u.request(sip.REGISTER, 4)} {
		if m.Contact().Address.Host != "203.0.113.8" || m.Via().Host != "203.0.113.8" {
			t.Fatalf("%s", m)
		}
	}
	l := listen(t, nil)
	l.expect(place(s, l), "sent refused(486)")
	if m := u.request(sip.INVITE, 1); m.Contact().Address.Host != "203.0.113.8" || m.Via().Host != "203.0.113.8" {
		t.Fatalf("%s", m)
	}
}
