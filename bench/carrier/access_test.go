package carrier

import (
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"dialler/engine"
)

// digest answers a challenge; it is a second implementation on purpose.
func digest(challenge, method, uri, user, password, nc string) string {
	get := func(name string) string {
		_, rest, _ := strings.Cut(challenge, name+`="`)
		v, _, _ := strings.Cut(rest, `"`)
		return v
	}
	algorithm := "MD5"
	h := func(s string) string { x := md5.Sum([]byte(s)); return hex.EncodeToString(x[:]) }
	if strings.Contains(challenge, "SHA-256") {
		algorithm = "SHA-256"
		h = func(s string) string { x := sha256.Sum256([]byte(s)); return hex.EncodeToString(x[:]) }
	}
	response := h(h(user+":"+get("realm")+":"+password) + ":" + get("nonce") + ":" + nc + ":abc:auth:" + h(method+":"+uri))
	return fmt.Sprintf(`Digest username="%s", realm="%s", nonce="%s", uri="%s", response="%s", algorithm=%s, `+
		`cnonce="abc", qop=auth, nc=%s`,
		user, get("realm"), get("nonce"), uri, response, algorithm, nc)
}

// retry sends the INVITE again with credentials.
func (l *leg) retry(challenge, password, nc string) {
	l.cseq++
	l.branch += "auth"
	l.extra = "Proxy-Authorization: " + digest(challenge, "INVITE", l.target, "user", password, nc) + "\r\n"
	l.invite()
}

func (l *leg) challenged(code int) []string {
	l.u.t.Helper()
	r := l.expect(code)
	l.ack()
	if code == 401 {
		return r.headers["WWW-Authenticate"]
	}
	return r.headers["Proxy-Authenticate"]
}

func TestDigestRetryContinuesTheCall(t *testing.T) {
	f := func(code int, cred Credentials, challenges, use int) {
		t.Helper()
		cred.Username, cred.Password = "user", "secret"
		c := start(t, Config{Credentials: &cred, Script: script(number, Behaviour{Kind: Human})})
		l := newUAC(t, c).leg(number).invite()
		ch := l.challenged(code)
		if len(ch) != challenges {
			t.Fatalf("%d challenges: %q", len(ch), ch)
		}
		l.retry(ch[use], "secret", "00000001")
		l.expect(100)
		l.expect(180)
		l.expect(200)
		l.ack()
		row := l.row()
		if row.Invites != 2 || row.AuthRetries != 1 || row.Nth != 1 || row.FinalCode != 200 || row.Incarnation != 1 {
			t.Fatalf("row: %+v", row)
		}
		if d := c.Ledger().DuplicateInvites(); len(d) != 0 {
			t.Fatalf("duplicates: %+v", d)
		}
		if o := c.Ledger().Overlaps(); len(o) != 0 {
			t.Fatalf("overlaps: %+v", o)
		}
	}
	f(407, Credentials{}, 1, 0)
	f(401, Credentials{WWW: true, Realm: "else.where"}, 1, 0)
	f(407, Credentials{Algorithms: []string{"SHA-256", "MD5"}}, 2, 0)
	f(407, Credentials{Algorithms: []string{"SHA-256", "MD5"}}, 2, 1)
}

func TestWrongPasswordIsForbidden(t *testing.T) {
	c := start(t, Config{Credentials: &Credentials{Username: "user", Password: "secret"}})
	l := newUAC(t, c).leg(number).invite()
	l.retry(l.challenged(407)[0], "guess", "00000001")
	l.expect(403)
	l.ack()
	// Another INVITE after that refusal is a duplicate, not a retry.
	l.cseq++
	l.branch += "x"
	l.invite()
	l.expect(407)
	if d := c.Ledger().DuplicateInvites(); len(d) != 1 {
		t.Fatalf("duplicates: %+v", d)
	}
}

func TestStaleNonceIsRenewed(t *testing.T) {
	c := start(t, Config{
		Credentials: &Credentials{Username: "user", Password: "secret", Stale: true},
		Script:      script(number, Behaviour{Kind: Human}),
	})
	l := newUAC(t, c).leg(number).invite()
	first := l.challenged(407)[0]
	l.retry(first, "secret", "00000001")
	second := l.challenged(407)[0]
	if !strings.Contains(second, "stale=true") || strings.Contains(first, "stale") || first == second {
		t.Fatalf("challenges %q, %q", first, second)
	}
	l.retry(second, "secret", "00000001")
	l.expect(100)
	l.expect(180)
	l.expect(200)
	l.ack()
	if d := c.Ledger().DuplicateInvites(); len(d) != 0 {
		t.Fatalf("duplicates: %+v", d)
	}
}

func TestByeAndReinviteCanBeChallengedToo(t *testing.T) {
	c := start(t, Config{
		Credentials: &Credentials{Username: "user", Password: "secret", ByeToo: true},
		Script:      script(number, Behaviour{Kind: Human}),
	})
	l := newUAC(t, c).leg(number).invite()
	ch := l.challenged(407)[0]
	l.retry(ch, "secret", "00000001")
	l.expect(100)
	l.expect(180)
	l.expect(200)
	l.ack()
	l.bye()
	ch = l.expect(407).get("Proxy-Authenticate")
	if len(c.Ledger().Live()) != 1 {
		t.Fatal("an unauthorised BYE ended the call")
	}
	auth := "Proxy-Authorization: " + digest(ch, "BYE", l.target, "user", "secret", "00000001") + "\r\n"
	l.u.send(l.request("BYE", "z9hG4bKbye2", l.to, auth, "", l.cseq+2))
	l.expect(200)
	if len(c.Ledger().Live()) != 0 {
		t.Fatal("the BYE did not end the call")
	}
}

func TestRegister(t *testing.T) {
	c := start(t, Config{Credentials: &Credentials{Username: "user", Password: "secret", WWW: true}})
	u := newUAC(t, c)
	l := u.leg(number)
	u.send(l.request("REGISTER", l.branch, l.to, "Expires: 60\r\n", "", 1))
	ch := l.expect(401).get("WWW-Authenticate")
	auth := "Authorization: " + digest(ch, "REGISTER", l.target, "user", "secret", "00000001") + "\r\nExpires: 60\r\n"
	u.send(l.request("REGISTER", l.branch+"2", l.to, auth, "", 2))
	if r := l.expect(200); r.get("Contact") != "<sip:dialler@"+u.local+">;expires=60" {
		t.Fatalf("Contact %q", r.get("Contact"))
	}
}

func TestCPSLimit(t *testing.T) {
	c := start(t, Config{CPS: 0.001, CPSBurst: 2, Profile: []Behaviour{{Kind: NoAnswer, Weight: 1}}})
	u := newUAC(t, c)
	for i := range 3 {
		l := u.leg(fmt.Sprintf("+4915100000%03d", i)).invite()
		if i < 2 {
			l.expect(100)
			l.expect(180)
			continue
		}
		r := l.expect(503)
		if r.first != "SIP/2.0 503 CPS limit exceeded" || r.get("Retry-After") != "1" {
			t.Fatalf("%+v", r)
		}
		l.ack()
		if row := l.row(); row.Nth != 0 || row.FinalCode != 503 || row.Reason != "CPS limit exceeded" {
			t.Fatalf("row: %+v", row)
		}
	}
}

func TestChannelLimit(t *testing.T) {
	c := start(t, Config{Channels: 1, Profile: []Behaviour{{Kind: NoAnswer, Weight: 1}}})
	u := newUAC(t, c)
	first := u.leg(number).invite()
	first.expect(100)
	first.expect(180)
	second := u.leg("+4915100000002").invite()
	if r := second.expect(503); r.first != "SIP/2.0 503 Concurrent call limit exceeded" {
		t.Fatalf("%q", r.first)
	}
	second.ack()
	first.cancel()
	first.expect(200)
	first.expect(487)
	first.ack()
	third := u.leg("+4915100000003").invite()
	third.expect(100)
	third.expect(180)
}

func TestConfigureChangesTheCallsToCome(t *testing.T) {
	c := start(t, Config{Script: script(number, Busy())})
	u := newUAC(t, c)
	l := u.leg(number).invite()
	l.expect(100)
	l.expect(486)
	l.ack()
	if err := c.Configure(Config{Script: map[engine.PhoneNumber][]Behaviour{number: {{Kind: Human}}}}); err != nil {
		t.Fatal(err)
	}
	u.leg(number).established()
	if err := c.Configure(Config{Profile: []Behaviour{{Kind: "ghost"}}}); err == nil {
		t.Fatal("an unknown kind was accepted")
	}
}

func TestRetryMustUseTheNextCSeq(t *testing.T) {
	f := func(step int) {
		t.Helper()
		c := start(t, Config{Credentials: &Credentials{Username: "user", Password: "secret"}})
		l := newUAC(t, c).leg(number).invite()
		ch := l.challenged(407)[0]
		l.cseq += step - 1 // §22.2: incremented by one
		l.retry(ch, "secret", "00000001")
		l.u.next()
		if d := c.Ledger().DuplicateInvites(); len(d) != 1 || d[0].CallID != l.id {
			t.Fatalf("CSeq + %d: duplicates %+v", step, d)
		}
	}
	f(0)
	f(2)
}

func TestDeadCarrierComesBack(t *testing.T) {
	c := start(t, Config{T1: fastT1, Script: script(number, Behaviour{Kind: Human})})
	l := newUAC(t, c).leg(number).established()
	if err := c.Configure(Config{Dead: true}); err != nil {
		t.Fatal(err)
	}
	l.bye()
	if r := l.u.tryNext(5 * fastT1); r != nil {
		t.Fatalf("a dead carrier sent %q", r.first)
	}
	if err := c.Configure(Config{}); err != nil {
		t.Fatal(err)
	}
	l.byeCSeqOffs--
	l.bye() // the repetition
	l.expect(200)
}
