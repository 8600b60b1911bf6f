package process

import (
	"crypto/md5" // required by RFC 7616
	"crypto/sha256"
	"fmt"
	"hash"
	"regexp"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/sipstack"
)

const alice, alicesPassword = "alice", "wonderland"

var withCredentials = map[string]any{"username": alice, "password": alicesPassword}

func TestChallengesAreAnswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 200*time.Millisecond)
	refused := sipRow{outcome: engine.OutcomeTrunkError, code: 401, by: engine.PartySystem, free: true, retry: retrySoon}
	const once, twice = "INVITE ACK INVITE ACK BYE", "INVITE ACK INVITE ACK INVITE ACK BYE"
	w.run([]sipCase{
		{file: "digest-401", trunk: withCredentials, requests: once, want: servedRow, then: credentials(2)},
		{file: "digest-407", trunk: withCredentials, requests: once, want: servedRow, then: credentials(2)},
		{file: "digest-401-and-407", trunk: withCredentials, requests: twice, want: servedRow, then: credentials(5)},
		{file: "digest-sha256", trunk: withCredentials, requests: once, want: servedRow, then: credentials(2)},
		{file: "digest-one-header", trunk: withCredentials, requests: once, want: servedRow, then: credentials(2)},
		{file: "digest-without-qop", trunk: withCredentials, requests: once, want: servedRow, then: credentials(2)},
		{file: "digest-stale", trunk: withCredentials, requests: twice, want: servedRow, then: credentials(3)},
		{file: "digest-refused", trunk: withCredentials, requests: "INVITE ACK INVITE ACK", want: refused,
			then: credentials(1)},
		{file: "digest-unanswerable", trunk: withCredentials, requests: "INVITE ACK", want: refused},
		{file: "digest-bye", trunk: withCredentials, requests: "INVITE ACK BYE", want: servedRow, then: credentials(1)},
		{file: "digest-nonce-used-again", trunk: withCredentials, requests: once, want: servedRow, then: credentials(3)},
	})
}

var credentialParam = regexp.MustCompile(`(\w+)=(?:"((?:[^"\\]|\\.)*)"|([^",\s]+))`)

// credentials recomputes every digest response that the trunk received and checks that there are
// want of them, all correct (RFC 7616 §3.4.1).
func credentials(want int) func(*sipCall) {
	return func(c *sipCall) {
		c.t.Helper()
		found := 0
		for _, m := range c.sipp.messages(c.leg()) {
			method, _, _ := strings.Cut(m.text, " ")
			if method == "ACK" {
				method = "INVITE" // the ACK repeats the INVITE's (RFC 3261 §22.1)
			}
			for _, line := range strings.Split(m.text, "\r\n") {
				name, value, _ := strings.Cut(line, ": ")
				if m.sent || name != "Authorization" && name != "Proxy-Authorization" {
					continue
				}
				found++
				p := map[string]string{}
				for _, q := range credentialParam.FindAllStringSubmatch(value, -1) {
					p[q[1]] = q[2] + q[3]
				}
				if p["response"] != digestResponse(p, method) || p["username"] != alice || p["nonce"] == "" {
					c.t.Errorf("wrong credentials in %s: %s", method, value)
				}
			}
		}
		if found != want {
			c.t.Errorf("%d credentials, want %d", found, want)
		}
	}
}

func digestResponse(p map[string]string, method string) string {
	h := func() hash.Hash { return md5.New() } // required by RFC 7616
	if p["algorithm"] == "SHA-256" {
		h = sha256.New
	}
	sum := func(parts ...string) string {
		d := h()
		d.Write([]byte(strings.Join(parts, ":")))
		return fmt.Sprintf("%x", d.Sum(nil))
	}
	a1, a2 := sum(alice, p["realm"], alicesPassword), sum(method, p["uri"])
	if p["qop"] == "" {
		return sum(a1, p["nonce"], a2)
	}
	return sum(a1, p["nonce"], p["nc"], p["cnonce"], p["qop"], a2)
}

func TestAnAnswersSessionDescriptionIsRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 300*time.Millisecond)
	const whole = "INVITE ACK BYE"
	broken := sipRow{outcome: engine.OutcomeMediaError, code: 200, by: engine.PartySystem, retry: retryNever}
	var cases []sipCase
	for _, file := range []string{"sdp-pcma", "sdp-static-types", "sdp-events-96", "sdp-connection-of-media",
		"sdp-more-streams", "sdp-no-direction", "sdp-multipart", "sdp-of-183",
		"sdp-of-183-only"} {
		cases = append(cases, sipCase{file: file, requests: whole, want: servedRow, then: audio})
	}
	codecs := func(list ...string) map[string]any { return map[string]any{"media": map[string]any{"codecs": list}} }
	cases = append(cases, sipCase{file: "sdp-g722", trunk: codecs("G722", "PCMA"), requests: whole, want: servedRow,
		then: audio},
		sipCase{file: "sdp-codec-order", trunk: codecs("PCMA", "PCMU"), requests: whole, want: servedRow, then: audio})
	for _, file := range []string{"sdp-foreign-codec", "sdp-refused-stream", "sdp-missing"} {
		cases = append(cases, sipCase{file: file, requests: whole, want: broken, then: nobodyTalked})
	}
	w.run(cases)
}

// audio checks that RTP went both ways, because SIPp echoes it.
func audio(c *sipCall) {
	c.t.Helper()
	s, ok := c.bot.Session(c.id.Call())
	if q := c.row.Quality; q == nil || q.PacketsReceived == 0 || q.PacketsSent == 0 || !ok || s.FramesIn == 0 {
		c.t.Errorf("quality %+v, session %+v", q, s)
	}
}

func TestHeadersOfOthersAreUnderstood(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{timers: sipstack.Timers{}}, 200*time.Millisecond)
	const whole = "INVITE ACK BYE"
	w.run([]sipCase{
		{file: "headers-compact", requests: whole, want: servedRow},
		{file: "route-loose", requests: whole, want: servedRow, then: routes(`<sip:p1@.*lr.*<sip:p2@.*lr`)},
		{file: "route-strict", requests: whole, want: servedRow, then: routes(`<sip:phone@`)},
		{file: "route-of-200", requests: whole, want: servedRow},
		{file: "tcp", args: []string{"-t", "t1"}, trunk: map[string]any{"transport": "tcp"}, requests: whole,
			want: servedRow},
	})
}

// routes checks the Route headers of ACK and BYE, joined.
func routes(want string) func(*sipCall) {
	return func(c *sipCall) {
		c.t.Helper()
		for _, m := range c.sipp.messages(c.leg()) {
			if m.sent || strings.HasPrefix(m.text, "INVITE") {
				continue
			}
			var all []string
			for _, line := range strings.Split(m.text, "\r\n") {
				if value, ok := strings.CutPrefix(line, "Route: "); ok {
					all = append(all, value)
				}
			}
			if got := strings.Join(all, ", "); !regexp.MustCompile(want).MatchString(got) {
				c.t.Errorf("Route %q, want %s", got, want)
			}
		}
	}
}
