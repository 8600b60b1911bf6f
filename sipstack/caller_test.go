package sipstack_test

import (
	"strings"
	"testing"

	"dialler/engine"
	"dialler/sipstack"

	"github.com/emiago/sipgo/sip"
)

// invited returns the INVITE of one leg over a trunk with the given configuration.
func invited(t *testing.T, change func(*sipstack.TrunkConfig), leg func(*engine.PlaceLeg)) *sip.Request {
	t.Helper()
	u := script{sip.INVITE: answers("100 Trying", "486 Busy Here"), sip.REGISTER: answers("200 OK")}.start(t)
	s := newStack(t, sipstack.Config{ExternalHost: "192.0.2.9",
		WriteNumber: func(n engine.PhoneNumber, f sipstack.NumberFormat, country string) string {
			return string(f) + country + strings.TrimPrefix(n.E164(), "+") // what a format looks like is not this package's
		}})
	setTrunk(s, u.port(), change)
	eventually(t, "a trunk that registers has done so", func() bool {
		return len(s.Registrations()) == 0 || s.Registrations()[0].Registered
	})
	l := listen(t, nil)
	a, id := newLeg()
	cmd := placeCommand(a, id)
	if leg != nil {
		leg(&cmd)
	}
	s.PlaceLeg(cmd, l.sink)
	l.kind(id, engine.LegRefused)
	ack := u.request(sip.ACK, 1)
	invite := u.request(sip.INVITE, 1)
	if header(ack, "From") != header(invite, "From") {
		t.Errorf("ACK is from %s, the INVITE from %s", header(ack, "From"), header(invite, "From"))
	}
	return invite
}

// header gives the values of a header as they were written, joined by "|".
func header(m sip.Message, name string) string {
	var out []string
	for _, h := range m.GetHeaders(strings.ToLower(name)) {
		out = append(out, h.Value())
	}
	return strings.Join(out, "|")
}

func TestTheCallerIDStandsWhereTheTrunkWantsIt(t *testing.T) {
	f := func(change func(*sipstack.TrunkConfig), from, asserted, preferred, privacy string) {
		t.Helper()
		m := invited(t, change, nil)
		value, _, _ := strings.Cut(header(m, "From"), ";tag=")
		if value != from || header(m, "P-Asserted-Identity") != asserted || header(m, "P-Preferred-Identity") != preferred ||
			header(m, "Privacy") != privacy {
			t.Errorf("From %q, asserted %q, preferred %q, privacy %q", value, header(m, "P-Asserted-Identity"),
				header(m, "P-Preferred-Identity"), header(m, "Privacy"))
		}
	}
	const number = "sip:e164493012345678@192.0.2.9"
	f(nil, "<"+number+">", "", "", "")
	f(func(c *sipstack.TrunkConfig) { c.FromDomain, c.CallerIDHeader = "acme.example", sipstack.CallerIDNone },
		"<sip:e164493012345678@acme.example>", "", "", "")
	f(func(c *sipstack.TrunkConfig) { c.Kind = engine.TrunkRegistered }, "<sip:e164493012345678@127.0.0.1>", "", "", "")
	f(func(c *sipstack.TrunkConfig) {
		c.FromUser, c.FromDomain, c.CallerIDHeader = "acme user", "acme.example", sipstack.CallerIDAsserted
	}, "<sip:acme%20user@acme.example>", "<sip:e164493012345678@acme.example>", "", "")
	f(func(c *sipstack.TrunkConfig) { c.CallerIDHeader = sipstack.CallerIDPreferred }, "<"+number+">", "", "<"+number+">",
		"")
	// RFC 3325 §9.3: with "id", From must not reveal it either.
	f(func(c *sipstack.TrunkConfig) { c.CallerIDHeader, c.Privacy = sipstack.CallerIDAsserted, "id;critical" },
		`"Anonymous" <sip:anonymous@anonymous.invalid>`, "<"+number+">", "", "id;critical")
	f(func(c *sipstack.TrunkConfig) { c.FromUser, c.Privacy = "account", "id" },
		`"Anonymous" <sip:anonymous@anonymous.invalid>`, "", "", "id")
	f(func(c *sipstack.TrunkConfig) { c.CallerIDHeader, c.Privacy = sipstack.CallerIDAsserted, "user" }, "<"+number+">",
		"<"+number+">", "", "user")
	f(func(c *sipstack.TrunkConfig) { c.Privacy = "none" }, "<"+number+">", "", "", "none")
}

func TestBothNumbersHaveTheTrunksFormat(t *testing.T) {
	m := invited(t, func(c *sipstack.TrunkConfig) {
		c.NumberFormat, c.NumberCountry, c.CallerIDHeader = sipstack.NumberNational, "DE", sipstack.CallerIDAsserted
	}, nil)
	const to, from = "sip:nationalDE4915112345678@", "<sip:nationalDE493012345678@"
	if !strings.HasPrefix(m.Recipient.String(), to) || !strings.HasPrefix(header(m, "To"), "<"+to) ||
		!strings.HasPrefix(header(m, "From"), from) || !strings.HasPrefix(header(m, "P-Asserted-Identity"), from) {
		t.Errorf("%s, To %s, From %s", m.Recipient.String(), header(m, "To"), header(m, "From"))
	}
}

func TestNoSettingCanWriteASecondHeader(t *testing.T) {
	const evil = "x\r\nX-Injected: yes\r\n\r\nbody"
	m := invited(t, func(c *sipstack.TrunkConfig) {
		c.FromUser, c.FromDomain, c.Privacy, c.UserAgent, c.CallerIDHeader =
			evil, "x\r\ny z", evil, evil, sipstack.CallerIDAsserted
		c.ExtraHeaders = []sipstack.Header{{Name: "X-Account\r\nX-Injected", Value: evil}, {Name: "\r\n", Value: "nothing"}}
	}, func(p *engine.PlaceLeg) {
		p.From, p.To = engine.PhoneNumber("+49"+evil), engine.PhoneNumber("+49"+evil)
		p.Headers = []engine.SIPHeader{{Name: "Identity", Value: evil}}
	})
	if h := header(m, "X-Injected"); h != "" {
		t.Errorf("X-Injected: %q", h)
	}
	if string(m.Body()) != string(testOffer) {
		t.Errorf("body %q", m.Body())
	}
}

func TestATrunkHasItsOwnUserAgentAndHeaders(t *testing.T) {
	m := invited(t, func(c *sipstack.TrunkConfig) {
		c.UserAgent = "acme/2"
		c.ExtraHeaders = []sipstack.Header{{Name: "X-Account", Value: "42"}, {Name: "X-Tag", Value: "ä; b=\"c\""}}
	}, func(p *engine.PlaceLeg) {
		p.Headers = []engine.SIPHeader{{Name: "Identity",
			Value: `eyJh.eyJk.sig;info=<https://cert.example/a.pem>;alg=ES256;ppt="shaken"`}}
	})
	for name, want := range map[string]string{
		"User-Agent": "acme/2", "X-Account": "42", "X-Tag": "ä; b=\"c\"",
		"Identity": `eyJh.eyJk.sig;info=<https://cert.example/a.pem>;alg=ES256;ppt="shaken"`,
	} {
		if got := header(m, name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
