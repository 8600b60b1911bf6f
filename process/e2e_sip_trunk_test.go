package process

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"dialler/bench/carrier"
	"dialler/engine"
	"dialler/sipstack"
)

func TestATrunkIsAskedAsItsSettingsSay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 200*time.Millisecond)
	type set = map[string]any
	header := func(name, value string) any { return set{"name": name, "value": value} }
	var padding []any
	for i := range 10 {
		padding = append(padding, header(fmt.Sprintf("X-Padding-%d", i), strings.Repeat("x", 100)))
	}
	cases := []sipCase{
		{file: "outbound-proxy", trunk: set{"host": "carrier.example", "port": 5060, "outbound_proxy": "127.0.0.1:PORT"}},
		{file: "large-over-tcp", args: []string{"-t", "t1"}, trunk: set{"extra_headers": padding}},
		{file: "number-e164"},
		{file: "number-e164-no-plus", trunk: set{"number_format": "e164_no_plus"}},
		{file: "number-national", trunk: set{"number_format": "national", "number_country": "DE"}},
		{file: "number-international", trunk: set{"number_format": "international"}},
		{file: "caller-from-domain", trunk: set{"from_domain": "acme.example"}},
		{file: "caller-from-user", trunk: set{"from_user": "acme-7", "from_domain": "acme.example",
			"caller_id_header": "p_asserted_identity"}},
		{file: "caller-preferred", trunk: set{"caller_id_header": "p_preferred_identity"}},
		{file: "caller-private", trunk: set{"caller_id_header": "p_asserted_identity", "privacy": "id"}},
		{file: "headers-of-trunk", trunk: set{"user_agent": "acme/2.1",
			"extra_headers": []any{header("X-Account", "42"), header("X-Tag", `a; b="c"`)}}},
		{file: "header-identity",
			metadata: set{"sip_identity": `eyJh.eyJk.sig;info=<https://cert.example/a.pem>;alg=ES256;ppt="shaken"`},
			then: func(c *sipCall) {
				if c.row.Attestation != "TN-Validation-Passed-A" {
					c.t.Errorf("attestation %q", c.row.Attestation)
				}
			}},
		{file: "external-host", trunk: set{"external_host": "203.0.113.9"}},
	}
	for i := range cases {
		cases[i].requests, cases[i].want = "INVITE ACK BYE", servedRow
	}
	w.run(cases)
}

func TestTheKeepaliveSaysWhetherATrunkLives(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{timers: sipstack.Timers{T1: 20 * time.Millisecond}}, 200*time.Millisecond)
	w.run([]sipCase{{file: "keepalive-404", requests: "INVITE ACK BYE", want: servedRow, before: func(c *sipCall) {
		eventually(c.t, "the trunk is up", func() bool {
			return w.shownTrunk(fmt.Sprintf("sipp-%d", c.sipp.port)).Status.Health == "up"
		})
	}, then: func(c *sipCall) {
		if log := c.sipp.report(); !strings.Contains(log, "SIP/2.0 404") ||
			strings.Index(log, "SIP/2.0 404") > strings.Index(log, "INVITE sip:") {
			c.t.Error("OPTIONS was not answered before the call")
		}
	}}})
	// Nobody at all: never up, and found broken by a single call.
	s := play(t, &sipCase{file: "keepalive-silent", args: repeats})
	w.trunk("silent", "127.0.0.1", s.port, nil)
	w.unanswered("silent")
	w.trunk("silent", "127.0.0.1", s.port, map[string]any{"active": false})
	nobody, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = nobody.Close() }()
	w.trunk("nobody", "127.0.0.1", nobody.LocalAddr().(*net.UDPAddr).Port, nil)
	w.ended(w.dialout(newNumber()), engine.OutcomeTrunkError)
	if at := w.shownTrunk("nobody").Status; at.Health != "broken" || at.RetryAt == nil {
		t.Errorf("%+v", at)
	}
	if r := w.crm("POST", "/api/v1/sip/dialout", map[string]any{"bot_id": ourBot,
		"to_number": newNumber()}); r.status != 503 || r.code() != "no_capacity" {
		t.Errorf("a second call: %s", r)
	}
}

// unanswered waits until a trunk has left OPTIONS unanswered.
func (w *world) unanswered(id string) {
	w.t.Helper()
	eventually(w.t, "OPTIONS were not answered", func() bool {
		at := w.shownTrunk(id).Status
		if at.Health != "unproven" {
			w.t.Fatalf("%+v", at)
		}
		return at.Reason == "no reply to OPTIONS"
	})
}

func TestACarrierThatDoesNotAnswerOptionsIsProvenByACall(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{timers: sipstack.Timers{T1: 10 * time.Millisecond}}, 200*time.Millisecond)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}, Options: -1})
	w.unanswered("model")
	w.ended(w.dialout(newNumber()), engine.OutcomeCompleted)
	if at := w.shownTrunk("model").Status; at.Health != "up" || at.Reason != "calls are answered; no reply to OPTIONS" {
		t.Errorf("%+v", at)
	}
	host, port, err := splitHostPort(model.Addr())
	if err != nil {
		t.Fatal(err)
	}
	w.trunk("model", host, port, map[string]any{"options_s": 0})
	if at := w.shownTrunk("model").Status; at.Health != "unproven" || at.CheckedAt != nil {
		t.Errorf("%+v", at)
	}
	w.ended(w.dialout(newNumber()), engine.OutcomeCompleted)
	if at := w.shownTrunk("model").Status; at.Health != "up" || at.CheckedAt != nil {
		t.Errorf("%+v", at)
	}
	w.quiet()
}

// leaving is a trunk over TCP that answers one OPTIONS and then disappears: up by its keepalive,
// but unreachable.
func (w *world) leaving(id string) {
	w.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	gone := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		_ = l.Close()
		if err != nil {
			gone <- err
			return
		}
		defer func() { _ = c.Close() }()
		var head []string
		in := bufio.NewScanner(c)
		for in.Scan() && in.Text() != "" {
			for _, name := range []string{"Via:", "From:", "To:", "Call-ID:", "CSeq:"} {
				if strings.HasPrefix(in.Text(), name) {
					head = append(head, in.Text())
				}
			}
		}
		_, err = fmt.Fprintf(c, "SIP/2.0 200 OK\r\n%s\r\nContent-Length: 0\r\n\r\n", strings.Join(head, "\r\n"))
		gone <- err
	}()
	w.t.Cleanup(func() { _ = l.Close() })
	w.trunk(id, "127.0.0.1", l.Addr().(*net.TCPAddr).Port, map[string]any{"transport": "tcp", "priority": 0})
	if err := <-gone; err != nil {
		w.t.Fatal(err)
	}
	eventually(w.t, "it is up, and its connection closed", func() bool {
		for _, h := range w.p.sip.Health() {
			if h.Trunk == engine.TrunkID(id) {
				return h.Life == engine.TrunkAlive && w.p.sip.OpenConnections() == 0
			}
		}
		return false
	})
}

// A refused connection has certainly sent nothing: the next trunk gets the call at once, and
// without one nothing is consumed.
func TestAnInviteThatCannotLeaveGoesToTheNextTrunk(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 200*time.Millisecond)
	w.leaving("gone")
	id := w.dialout(newNumber())
	w.ended(id, engine.OutcomeTrunkError)
	if a := w.stored(id); a.Consumed || a.Legs[0].SentAt != nil || a.SIPCode != 0 {
		t.Errorf("%+v", a)
	}
	s := play(t, &sipCase{file: "answer-bot-hangs-up"})
	w.trunk("next", "127.0.0.1", s.port, map[string]any{"priority": 1})
	w.leaving("gone")
	id = w.dialout(newNumber())
	w.ended(id, engine.OutcomeCompleted)
	s.satisfied()
	if a := w.stored(id); a.Trunk != "next" || len(a.Legs) != 2 || a.Legs[0].SentAt != nil || a.Legs[1].SIPCode != 200 {
		t.Errorf("%+v", a)
	}
	w.quiet()
}
