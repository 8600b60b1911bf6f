package carrier

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"dialler/bench/draw"
	"dialler/engine"
)

// SIPp shares no code with ours: it must find the carrier's SIP correct.

// patientT1 avoids retransmissions when SIPp is late: SIPp treats one for an ended call as an
// error.
const patientT1 = 5 * time.Second

func sipp(t *testing.T, args ...string) {
	t.Helper()
	path, err := exec.LookPath("sipp")
	if err != nil {
		t.Fatal("sipp is not installed; these tests need it (Debian: apt-get install sip-tester)")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, append(args, "-nostdin", "-i", "127.0.0.1", "-timeout", "50", "-timeout_error",
		"-max_socket", "1000")...)
	cmd.Dir = t.TempDir() // its logs
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("sipp: %v\n%s", err, out[max(0, len(out)-3000):])
	}
}

func TestSippCallsOverUDPAndTCP(t *testing.T) {
	f := func(transport string) {
		t.Helper()
		c := start(t, Config{T1: patientT1, Media: true, Profile: []Behaviour{{Kind: Human}}})
		sipp(t, "-sn", "uac", c.Addr(), "-t", transport, "-m", "60", "-r", "60", "-d", "50", "-s", "+4915100000009")
		until(t, c, "all calls are over", func(g Ledger) bool { return g.Summary().Ended == 60 })
		s := c.Ledger().Summary()
		if s.EverAnswer != 60 || s.ByeBy[Caller] != 60 || s.Duplicates != 0 || s.AckMissing != 0 || s.RTPSent == 0 {
			t.Fatalf("%s: %+v", transport, s)
		}
		if len(s.Violations) != 0 {
			t.Fatalf("%s: violations %v", transport, s.Violations)
		}
	}
	f("u1")
	f("t1")
	f("tn")
}

func TestSippSurvivesALossyNetwork(t *testing.T) {
	// T1 stays SIPp's own: if the carrier's transactions timed out before its caller's, it would
	// answer 481.
	const calls = 60
	c := start(t, Config{Loss: 0.05, Profile: []Behaviour{{Kind: Human}}})
	sipp(t, "-sn", "uac", c.Addr(), "-m", strconv.Itoa(calls), "-r", "60", "-d", "50", "-s", "+4915100000007")
	// SIPp takes a repeated 200 of the INVITE for the answer to its BYE, so a call that lost both
	// ACK and BYE stays up; that is not tested here.
	s := c.Ledger().Summary()
	// Whatever was lost, no phone rang twice.
	if s.EverAnswer != calls || s.Duplicates != 0 || c.Ledger().Stray()["lost"] == 0 {
		t.Fatalf("%+v, %v", s, c.Ledger().Stray())
	}
}

// authScenario is SIPp's uac scenario with digest authentication.
const authScenario = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE scenario SYSTEM "sipp.dtd">
<scenario name="uac with credentials">
  <send retrans="500"><![CDATA[
INVITE sip:[service]@[remote_ip]:[remote_port] SIP/2.0
Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch]
From: <sip:user@[local_ip]:[local_port]>;tag=[call_number]
To: <sip:[service]@[remote_ip]>
Call-ID: [call_id]
CSeq: 1 INVITE
Contact: <sip:user@[local_ip]:[local_port]>
Max-Forwards: 70
Content-Type: application/sdp
Content-Length: [len]

v=0
o=- 1 1 IN IP4 127.0.0.1
s=-
c=IN IP4 127.0.0.1
t=0 0
m=audio 40000 RTP/AVP 8

]]></send>
  <recv response="407" auth="true"></recv>
  <send><![CDATA[
ACK sip:[service]@[remote_ip]:[remote_port] SIP/2.0
[last_Via:]
[last_From:]
[last_To:]
[last_Call-ID:]
CSeq: 1 ACK
Max-Forwards: 70
Content-Length: 0

]]></send>
  <send retrans="500"><![CDATA[
INVITE sip:[service]@[remote_ip]:[remote_port] SIP/2.0
Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch]
From: <sip:user@[local_ip]:[local_port]>;tag=[call_number]
To: <sip:[service]@[remote_ip]>
Call-ID: [call_id]
CSeq: 2 INVITE
Contact: <sip:user@[local_ip]:[local_port]>
[authentication username=user password=secret]
Max-Forwards: 70
Content-Type: application/sdp
Content-Length: [len]

v=0
o=- 1 1 IN IP4 127.0.0.1
s=-
c=IN IP4 127.0.0.1
t=0 0
m=audio 40000 RTP/AVP 8

]]></send>
  <recv response="100" optional="true"></recv>
  <recv response="183"></recv>
  <recv response="200" rrs="true"></recv>
  <send><![CDATA[
ACK [next_url] SIP/2.0
Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch]
[last_From:]
[last_To:]
[last_Call-ID:]
CSeq: 2 ACK
Max-Forwards: 70
Content-Length: 0

]]></send>
  <recv request="BYE"></recv>
  <send><![CDATA[
SIP/2.0 200 OK
[last_Via:]
[last_From:]
[last_To:]
[last_Call-ID:]
[last_CSeq:]
Content-Length: 0

]]></send>
</scenario>
`

func TestSippAnswersAChallengeAndACalleeWhoHangsUp(t *testing.T) {
	file := filepath.Join(t.TempDir(), "auth.xml")
	if err := os.WriteFile(file, []byte(authScenario), 0o600); err != nil {
		t.Fatal(err)
	}
	const to = "+4915100000008"
	c := start(t, Config{
		T1:          patientT1,
		Credentials: &Credentials{Username: "user", Password: "secret"},
		Script: map[engine.PhoneNumber][]Behaviour{to: {{
			Kind: Human, Progress: EarlyMedia, Talk: draw.Exactly(50 * time.Millisecond),
		}}},
	})
	sipp(t, "-sf", file, c.Addr(), "-m", "20", "-r", "40", "-s", to, "-auth_uri", to+"@"+c.Addr())
	until(t, c, "all BYEs are answered", func(g Ledger) bool {
		n := 0
		for _, row := range g.Calls() {
			if row.ByeCode == 200 {
				n++
			}
		}
		return n == 20
	})
	s := c.Ledger().Summary()
	if s.EverAnswer != 20 || s.ByeBy[Callee] != 20 || s.Duplicates != 0 || len(s.Violations) != 0 {
		t.Fatalf("%+v", s)
	}
	for _, row := range c.Ledger().Calls() {
		if row.Invites != 2 || row.AuthRetries != 1 {
			t.Fatalf("row: %+v", row)
		}
	}
}
