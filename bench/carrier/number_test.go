package carrier

import (
	"strings"
	"testing"

	"dialler/engine"
)

func TestNumbersAreOneInEveryFormat(t *testing.T) {
	f := func(uri, countryCode, want string) {
		t.Helper()
		if got := phoneNumber(uriUser([]byte(uri)), countryCode); got != engine.PhoneNumber(want) {
			t.Fatalf("%s becomes %s", uri, got.E164())
		}
	}
	f("sip:+4915112345678@host", "", "+4915112345678")
	f("sip:4915112345678@host:5060;user=phone", "", "+4915112345678")
	f("sip:+49-151-123.456(78);phone-context=x@host", "", "+4915112345678")
	f("tel:+4915112345678;ext=1", "", "+4915112345678")
	f("sip:015112345678@host", "49", "+4915112345678")
	f("sip:004915112345678@host", "49", "+4915112345678")
	f("sip:alice@host", "49", "alice")
	f("sip:host", "", "")
}

func TestInviteAndReasonsAreKept(t *testing.T) {
	c := start(t, Config{KeepInvites: true, CountryCode: "49", Script: script(number, Behaviour{Kind: NoAnswer},
		Behaviour{Kind: Human})})
	u := newUAC(t, c)
	const reason = `Q.850;cause=16;text="limit"`
	l := u.leg("015100000001")
	l.extra = "P-Asserted-Identity: <sip:+4930555@x>\r\n"
	l.invite()
	l.expect(100)
	l.expect(180)
	if row := l.row(); row.Number != number ||
		!strings.Contains(row.Invite, "\r\nP-Asserted-Identity: <sip:+4930555@x>\r\n") {
		t.Fatalf("row: %+v", row)
	}
	u.send(l.request("CANCEL", l.branch, "<sip:015100000001@127.0.0.1>", "Reason: "+reason+"\r\n", "", 1))
	l.expect(200)
	l.expect(487)
	l.ack()
	second := u.leg(number).established()
	u.send(second.request("BYE", "z9hG4bKb", second.to, "Reason: "+reason+"\r\n", "", 2))
	second.expect(200)
	if l.row().ByeReason != reason || second.row().ByeReason != reason {
		t.Fatalf("%q, %q", l.row().ByeReason, second.row().ByeReason)
	}
}
