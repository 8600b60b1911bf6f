package sipstack_test

import (
	"strings"
	"testing"

	"dialler/engine"
	"dialler/engine/number"
	"dialler/sipstack"

	"github.com/emiago/sipgo/sip"
)

// invited gives the INVITE of one leg over a trunk that is set as said.
func invited(t *testing.T, change func(*sipstack.TrunkConfig), leg func(*engine.PlaceLeg)) *sip.Request {
	t.Helper()
	u := script{sip.INVITE: answers("100 Trying", "486 Busy Here")}.start(t)
	s := newStack(t, sipstack.Config{ExternalHost: "192.0.2.9", WriteNumber: func(n engine.PhoneNumber, f sipstack.NumberFormat, country string) string {
		return number.Written(n, number.Format(f), country)
	}})
	setTrunk(s, u.port(), change)
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
		if value != from || header(m, "P-Asserted-Identity") != asserted || header(m, "P-Preferred-Identity") != preferred || header(m, "Privacy") != privacy {
			t.Errorf("From %q, asserted %q, preferred %q, privacy %q", value, header(m, "P-Asserted-Identity"),
				header(m, "P-Preferred-Identity"), header(m, "Privacy"))
		}
	}
	const number = "sip:+493012345678@192.0.2.9"
	f(nil, "<"+number+">", "", "", "")
	f(func(c *sipstack.TrunkConfig) { c.FromDomain, c.CallerIDHeader = "acme.example", sipstack.CallerIDNone },
		"<sip:+493012345678@acme.example>", "", "", "")
	f(func(c *sipstack.TrunkConfig) { c.Kind = engine.TrunkRegistered }, "<sip:+493012345678@127.0.0.1>", "", "", "")
	f(func(c *sipstack.TrunkConfig) {
		c.FromUser, c.FromDomain, c.CallerIDHeader = "acme user", "acme.example", sipstack.CallerIDAsserted
	}, "<sip:acme%20user@acme.example>", "<sip:+493012345678@acme.example>", "", "")
	f(func(c *sipstack.TrunkConfig) { c.CallerIDHeader = sipstack.CallerIDPreferred }, "<"+number+">", "", "<"+number+">", "")
	// RFC 3325 §9.3: with "id" nobody may learn it from From either.
	f(func(c *sipstack.TrunkConfig) { c.CallerIDHeader, c.Privacy = sipstack.CallerIDAsserted, "id;critical" },
		`"Anonymous" <sip:anonymous@anonymous.invalid>`, "<"+number+">", "", "id;critical")
	f(func(c *sipstack.TrunkConfig) { c.FromUser, c.Privacy = "account", "id" },
		`"Anonymous" <sip:anonymous@anonymous.invalid>`, "", "", "id")
	f(func(c *sipstack.TrunkConfig) { c.CallerIDHeader, c.Privacy = sipstack.CallerIDAsserted, "user" }, "<"+number+">", "<"+number+">", "", "user")
	f(func(c *sipstack.TrunkConfig) { c.Privacy = "none" }, "<"+number+">", "", "", "none")
}

func TestBothNumbersHaveTheTrunksFormat(t *testing.T) {
	f := func(format sipstack.NumberFormat, country, to, from string) {
		t.Helper()
		m := invited(t, func(c *sipstack.TrunkConfig) {
			c.NumberFormat, c.NumberCountry, c.CallerIDHeader = format, country, sipstack.CallerIDAsserted
		}, nil)
		if m.Recipient.User != to || !strings.HasPrefix(header(m, "To"), "<sip:"+to+"@") ||
			!strings.HasPrefix(header(m, "From"), "<sip:"+from+"@") || !strings.HasPrefix(header(m, "P-Asserted-Identity"), "<sip:"+from+"@") {
			t.Errorf("%s %s: %s, To %s, From %s", format, country, m.Recipient.String(), header(m, "To"), header(m, "From"))
		}
	}
	f("", "", "+4915112345678", "+493012345678")
	f(sipstack.NumberE164NoPlus, "", "4915112345678", "493012345678")
	f(sipstack.NumberInternational, "", "004915112345678", "00493012345678")
	f(sipstack.NumberNational, "DE", "015112345678", "03012345678")
	f(sipstack.NumberNational, "US", "0114915112345678", "011493012345678")
}

func TestNoSettingCanWriteASecondHeader(t *testing.T) {
	const evil = "x\r\nX-Injected: yes\r\n\r\nbody"
	m := invited(t, func(c *sipstack.TrunkConfig) {
		c.FromUser, c.FromDomain, c.Privacy, c.UserAgent, c.CallerIDHeader = evil, evil, evil, evil, sipstack.CallerIDAsserted
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
		p.Headers = []engine.SIPHeader{{Name: "Identity", Value: `eyJh.eyJk.sig;info=<https://cert.example/a.pem>;alg=ES256;ppt="shaken"`}}
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
