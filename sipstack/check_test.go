package sipstack_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"dialler/sipstack"

	"github.com/emiago/sipgo/sip"
)

// checked checks a trunk at a loopback port, and returns its findings as lines: step, fault or warning, and the
// sentence.
func checked(t *testing.T, s *sipstack.Stack, port int, change func(*sipstack.TrunkConfig)) string {
	t.Helper()
	c := sipstack.TrunkConfig{ID: trunkID, Host: "127.0.0.1", Port: port}
	if change != nil {
		change(&c)
	}
	lines := ""
	for _, f := range s.Check(context.Background(), c, 500*time.Millisecond) {
		lines += f.Step + " "
		if f.Fault != "" {
			lines += f.Fault + " "
		}
		if f.Warning {
			lines += "warning "
		}
		lines += f.Detail + "\n"
	}
	if strings.Contains(lines, "secret") {
		t.Errorf("the password is said: %s", lines)
	}
	return lines
}

// says fails unless the findings contain each text.
func says(t *testing.T, lines string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(lines, w) {
			t.Errorf("it says\n%swant %q", lines, w)
		}
	}
}

// seen answers a request, and says as whom it sees us.
func seen(via string) func(*uas, *sip.Request, netip.AddrPort) {
	return func(u *uas, r *sip.Request, from netip.AddrPort) {
		u.send(from, strings.Replace(response(r, "200 OK", "far", "", ""), ";rport;",
			fmt.Sprintf(";"+via+";", from.Port()), 1))
	}
}

func TestACheckOfATrunkSaysWhatIsWrongWithIt(t *testing.T) {
	s := newStack(t, sipstack.Config{})
	at := func(sc script, change func(*sipstack.TrunkConfig), want ...string) {
		t.Helper()
		says(t, checked(t, s, sc.start(t).port(), change), want...)
	}
	asks := func(n int, r *sip.Request) (string, string) {
		if r.GetHeader("Authorization") == nil {
			return "401 Unauthorized", registerChallenge
		}
		return "200 OK", ""
	}
	refuses := func(int, *sip.Request) (string, string) { return "401 Unauthorized", registerChallenge }
	options := sip.OPTIONS

	at(script{options: seen("rport=%d")}, nil, "options 127.0.0.1:", " answers (200 OK) after ",
		"nat the far side sees us at the address that we say, 127.0.0.1")
	at(script{}, nil, "options trunk_silent 127.0.0.1:", "answers no OPTIONS within 500ms: ")
	at(script{}, func(c *sipstack.TrunkConfig) { c.OptionsInterval = -1 }, "options 127.0.0.1:",
		"is not asked (options_s: 0)")
	at(script{options: answers("503 Service Unavailable")}, nil, "options trunk_refused ", "out of service (503 ")
	at(script{options: seen("received=203.0.113.9;rport=%d")}, nil,
		"nat trunk_nat the far side sees us at 203.0.113.9, and we say 127.0.0.1: give --sip-external 203.0.113.9")
	at(script{options: seen("received=203.0.113.9;rport=%d")},
		func(c *sipstack.TrunkConfig) { c.ExternalHost = "203.0.113.9" },
		"nat the far side sees us at the address that we say")
	at(script{options: seen("rport=4%d")}, nil, "nat warning the far side sees our port ")
	at(script{options: answers("200 OK")}, nil, "nat the far side does not say")
	at(script{options: answers("200 OK")}, func(c *sipstack.TrunkConfig) { c.Listener = "none" },
		"settings trunk_unusable there is no SIP listener none")

	// Credentials.
	at(script{options: answers("200 OK")}, func(c *sipstack.TrunkConfig) { withCredentials(c); c.Kind = "credentials" },
		"whether user name and password are right, only a call shows")
	challenging := func(f func(int, *sip.Request) (string, string)) func(*uas, *sip.Request, netip.AddrPort) {
		return func(u *uas, r *sip.Request, from netip.AddrPort) {
			status, headers := f(0, r)
			u.send(from, response(r, status, "far", headers, ""))
		}
	}
	at(script{options: challenging(asks)}, withCredentials, "options 127.0.0.1:", "answers (200 OK)")
	at(script{options: challenging(refuses)}, withCredentials, "options trunk_credentials ", "(401 Unauthorized)")
	at(script{options: answers("200 OK"), sip.REGISTER: registrar(refuses)}, registering,
		"register trunk_credentials the registrar refuses user name and password")
	at(script{options: answers("200 OK"), sip.REGISTER: registrar(refuses)},
		func(c *sipstack.TrunkConfig) { registering(c); c.Username = "" },
		"register trunk_credentials the registrar asks for a user name and password, and the trunk has none")
	at(script{options: answers("200 OK"), sip.REGISTER: answers("403 Forbidden")}, registering,
		"register trunk_refused the registrar refuses the account (403 Forbidden)")
	at(script{sip.OPTIONS: answers("200 OK")}, registering, "register trunk_silent ", "the registrar is not reached")
	at(script{sip.REGISTER: registrar(asks)}, registering, "options warning ", "answers no OPTIONS",
		"register the registrar takes user name and password; addresses of the account: 0")
}

// What a running dialler has registered must not change.
func TestACheckOfARegisteredTrunkLeavesItsRegistrationAlone(t *testing.T) {
	var contact string
	u := script{sip.OPTIONS: answers("200 OK"), sip.REGISTER: registrar(func(_ int, r *sip.Request) (string, string) {
		if r.GetHeader("Authorization") == nil {
			return "401 Unauthorized", registerChallenge
		}
		if c := r.Contact(); c != nil {
			contact = c.Value()
		}
		return "200 OK", "Contact: " + contact + ";expires=600\r\n"
	})}.start(t)
	running := newStack(t, sipstack.Config{})
	setTrunk(running, u.port(), registering)
	eventually(t, "it is registered", func() bool { return registered(running) })
	before := u.count(sip.REGISTER)
	says(t, checked(t, newStack(t, sipstack.Config{}), u.port(), registering),
		"addresses of the account: 1, one is a running dialler's")
	for _, r := range u.all(sip.REGISTER)[before:] {
		if r.Contact() != nil || r.GetHeader("Expires") != nil {
			t.Errorf("the check sends %s", r)
		}
	}
}

func TestACheckOfATrunkConnectsAndLooksAtCertificates(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	alive := script{sip.OPTIONS: answers("200 OK")}
	u, _ := newStreamUAS(t, ca.certify("sip.carrier.example"), alive)
	s := newStack(t, sipstack.Config{})
	named := func(roots string) func(*sipstack.TrunkConfig) {
		return func(c *sipstack.TrunkConfig) { overTLS(roots)(c); c.TLSServerName = "sip.carrier.example" }
	}
	says(t, checked(t, s, u.port(), named(ca.roots)), "connection 127.0.0.1:", "tls warning ",
		"shows a certificate of sip.carrier.example, valid until ", "options 127.0.0.1:") // it ends within two weeks
	says(t, checked(t, s, u.port(), named(other.roots)), "tls trunk_tls ", "unknown authority")
	says(t, checked(t, s, u.port(), overTLS(ca.roots)), "tls trunk_tls ", "127.0.0.1")
	says(t, checked(t, s, u.port(), func(c *sipstack.TrunkConfig) { overTLS("")(c); c.TLSInsecure = true }),
		"tls warning ", "it is not checked (tls_insecure)")
	says(t, checked(t, s, u.port(), overTLS("no PEM")), "settings trunk_unusable tls_roots")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	says(t, checked(t, s, closed, overTCP), "connection trunk_unreachable 127.0.0.1:", "refused")
}

func TestACheckOfATrunkResolvesItsName(t *testing.T) {
	dns := newNameServer(t)
	s := newStack(t, sipstack.Config{Resolver: dns.resolver()})
	says(t, checked(t, s, 0, byName), "dns trunk_dns carrier.example has no address: no such host")
	first, second := script{}.start(t), script{sip.OPTIONS: answers("200 OK")}.start(t)
	dns.record("_sip._udp.carrier.example.", 1, first.port())
	dns.record("_sip._udp.carrier.example.", 2, second.port())
	t.Run("SRV", func(t *testing.T) {
		s := newStack(t, sipstack.Config{Resolver: dns.resolver()})
		says(t, checked(t, s, 0, byName), fmt.Sprintf("dns carrier.example is 127.0.0.1:%d, 127.0.0.1:%d\n", first.port(),
			second.port()), fmt.Sprintf("options warning 127.0.0.1:%d answers no", first.port()),
			fmt.Sprintf("options 127.0.0.1:%d answers (200 OK)", second.port()))
	})
}
