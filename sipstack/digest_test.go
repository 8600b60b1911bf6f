package sipstack_test

import (
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"dialler/sipstack"

	"github.com/emiago/sipgo/sip"
)

func hexOf(parts ...string) string {
	sum := sha512.Sum512_256([]byte(strings.Join(parts, ":")))
	return hex.EncodeToString(sum[:])
}

func TestTheStrongestOfSeveralChallengesIsAnsweredAsItsRFCSays(t *testing.T) {
	u := script{sip.INVITE: func(u *uas, r *sip.Request, from netip.AddrPort) {
		if header(r, "Authorization") == "" {
			u.send(from, response(r, "401 Unauthorized", "a",
				"WWW-Authenticate: Digest realm=\"r\", nonce=\"m\", algorithm=MD5, qop=\"auth\"\r\n"+
					"WWW-Authenticate: Digest realm=\"r\", nonce=\"x\", algorithm=SHA-512-256, "+
					"qop=\"auth,auth-int\", opaque=\"o\"\r\n"+
					"WWW-Authenticate: Digest realm=\"r\", nonce=\"s\", algorithm=SHA-256, qop=\"auth\"\r\n", ""))
			return
		}
		answers("486 Busy Here")(u, r, from)
	}}.start(t)
	s := newStack(t, sipstack.Config{})
	setTrunk(s, u.port(), withCredentials)
	l := listen(t, nil)
	l.expect(place(s, l), "sent refused(486)")
	r := u.request(sip.INVITE, 2)
	auth := header(r, "Authorization")
	field := func(name string) string {
		m := regexp.MustCompile(`\b` + name + `="?([^",]*)`).FindStringSubmatch(auth)
		if m == nil {
			t.Fatalf("no %s in %s", name, auth)
		}
		return m[1]
	}
	uri := r.Recipient.String()
	want := hexOf(hexOf("alice", "r", "secret"), "x", "00000001", field("cnonce"), "auth", hexOf("INVITE", uri))
	if field("response") != want || field("nc") != "00000001" || field("qop") != "auth" || field("opaque") != "o" ||
		field("uri") != uri {
		t.Fatalf("%s\nwant the response %s", auth, want)
	}
}

func TestAProxyAndTheFarSideAreAnsweredTogether(t *testing.T) {
	f := func(first, second string) {
		t.Helper()
		u := script{sip.INVITE: func(u *uas, r *sip.Request, from netip.AddrPort) {
			switch r.CSeq().SeqNo {
			case 1:
				u.send(from, response(r, "407 Proxy Authentication Required", "a", first, ""))
			case 2:
				if second != "" {
					u.send(from, response(r, "401 Unauthorized", "b", second, ""))
					return
				}
				fallthrough
			default:
				answers("486 Busy Here")(u, r, from)
			}
		}}.start(t)
		s := newStack(t, sipstack.Config{})
		setTrunk(s, u.port(), withCredentials)
		l := listen(t, nil)
		l.expect(place(s, l), "sent refused(486)")
		all := u.all(sip.INVITE)
		last := all[len(all)-1]
		if !strings.Contains(header(last, "Proxy-Authorization"), `realm="p"`) ||
			!strings.Contains(header(last, "Authorization"), `realm="u"`) {
			t.Fatalf("%s", last)
		}
	}
	const proxy, far = "Proxy-Authenticate: Digest realm=\"p\", nonce=\"1\"\r\n", "WWW-Authenticate: Digest " +
		"realm=\"u\", nonce=\"2\"\r\n"
	f(proxy, far)
	f(proxy+far, "") // a forking proxy merges both (RFC 3261 §16.7)
}

func TestChallengesThatCannotBeAnsweredAreRefusals(t *testing.T) {
	f := func(challenge string, invites int) {
		t.Helper()
		u := script{sip.INVITE: func(u *uas, r *sip.Request, from netip.AddrPort) {
			u.send(from, response(r, "401 Unauthorized", "a", challenge, ""))
		}}.start(t)
		s := newStack(t, sipstack.Config{})
		setTrunk(s, u.port(), withCredentials)
		l := listen(t, nil)
		l.expect(place(s, l), "sent refused(401)")
		if n := u.count(sip.INVITE); n != invites {
			t.Fatalf("%s: %d INVITEs", challenge, n)
		}
	}
	f("", 1)
	f("WWW-Authenticate: Basic realm=\"r\"\r\n", 1)
	f("WWW-Authenticate: Digest realm=\"r\", nonce=\"n\", qop=\"auth-int\"\r\n", 1)
	f("WWW-Authenticate: Digest realm=\"r\", nonce=\"n\", algorithm=AKAv1-MD5\r\n", 1)
	f("WWW-Authenticate: Digest realm=\"r\", nonce=\"n\"\r\n", 2) // wrong password
	f("WWW-Authenticate: Digest realm=\"r\", nonce=\"n\", stale=true\r\n", 3)
	var realms strings.Builder
	for i := range 9 {
		fmt.Fprintf(&realms, "WWW-Authenticate: Digest realm=\"r%d\", nonce=\"n\"\r\n", i)
	}
	f(realms.String(), 2)
}
