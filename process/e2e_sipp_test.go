package process

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"dialler/bench/ports"
)

// SIPp shares no code with this program: its scenario decides whether the messages on the wire are
// correct, and its exit status reports it.

// scenario writes a SIPp scenario of one call, a line per step:
//
//	< INVITE            a request that must come
//	< BYE Reason=text   … with a header that contains the text
//	< INVITE auth a:b   … with the digest credentials of a user and password
//	> 180               a response to what came last
//	> 200 sdp           … with a session description
//	> 487 of INVITE     … to the first INVITE instead
//	> 401 challenge     … with a digest challenge
//	> BYE               a request in the dialog
//	< 200               a response that must come
//	pause 500           milliseconds
//
// The trunk's OPTIONS are answered too, each as a separate call.
func scenario(steps string) string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0"?><!DOCTYPE scenario SYSTEM "sipp.dtd"><scenario name="` + "end to end" + `">
<recv request="OPTIONS" optional="true" next="90"/>
`)
	last, used := "", 0
	for line := range strings.Lines(steps) {
		f := strings.Fields(line)
		switch {
		case len(f) == 0:
		case f[0] == "pause":
			fmt.Fprintf(&b, "<pause milliseconds=%q/>\n", f[1])
		case f[0] == "<" && f[1][0] >= '1' && f[1][0] <= '6':
			fmt.Fprintf(&b, "<recv response=%q/>\n", f[1])
		case f[0] == "<" && len(f) > 2 && f[2] == "auth":
			user, password, _ := strings.Cut(f[3], ":")
			used++
			// Other credentials are refused, and the call waits in vain.
			fmt.Fprintf(&b, `<recv request=%q><action><verifyauth assign_to="%d" username=%q password=%q/></action></recv>
<nop test="%d" next="80"/>
%s<recv request="ACK"/>
<recv request="REGISTER" timeout="100"/>
<label id="80"/>
`, f[1], used, user, password, used, response("403", f[1], "", false))
			last = f[1]
		case f[0] == "<":
			last = f[1]
			if strings.Contains(steps, "> BYE") && last == "INVITE" {
				used += 3
				b.WriteString(inviteOfBye)
				break
			}
			if len(f) == 2 {
				fmt.Fprintf(&b, "<recv request=%q/>\n", f[1])
				break
			}
			header, text, _ := strings.Cut(strings.Join(f[2:], " "), "=")
			used++
			fmt.Fprintf(&b, `<recv request=%q><action><ereg regexp=%q search_in="hdr" header="%s:" `+
				`check_it="true" assign_to="%d"/></action></recv>`+"\n",
				f[1], text, header, used)
		case f[1] == "BYE":
			b.WriteString(calleeBye)
		default:
			rest := strings.Join(f[2:], " ")
			of := last
			if _, m, ok := strings.Cut(rest, "of "); ok {
				of, _, _ = strings.Cut(m, " ")
			}
			b.WriteString(response(f[1], of, rest, last != of))
		}
	}
	b.WriteString(`<nop next="91"/>
<label id="90"/>
` + response("200", "OPTIONS", "", false) + `<label id="91"/>
<pause milliseconds="1"/>
`)
	if used > 0 {
		var ids []string
		for i := range used {
			ids = append(ids, strconv.Itoa(i+1))
		}
		b.WriteString(`<Reference variables="` + strings.Join(ids, ",") + `"/>` + "\n")
	}
	return b.String() + "</scenario>\n"
}

var phrase = map[string]string{"100": "Trying", "180": "Ringing", "183": "Session Progress", "200": "OK",
	"401": "Unauthorized",
	"403": "Forbidden", "481": "Call/Transaction Does Not Exist",
	"486": "Busy Here", "487": "Request Terminated", "503": "Service Unavailable"}

func response(code, method, with string, crossed bool) string {
	var h strings.Builder
	h.WriteString("SIP/2.0 " + code + " " + phrase[code] + "\n[last_Via:]\n[last_From:]\n[last_To:]")
	if method != "BYE" && code != "100" {
		h.WriteString(";tag=[pid]sipp[call_number]")
	}
	h.WriteString("\n[last_Call-ID:]\n")
	if crossed {
		h.WriteString("CSeq: 1 " + method + "\n")
	} else {
		h.WriteString("[last_CSeq:]\n")
	}
	h.WriteString("Contact: <sip:[local_ip]:[local_port]>\n")
	if strings.Contains(with, "challenge") {
		h.WriteString(`WWW-Authenticate: Digest realm="carrier", nonce="[call_number]abcdef", algorithm=MD5, qop="auth"` +
			"\n")
	}
	body := ""
	if strings.Contains(with, "sdp") {
		h.WriteString("Content-Type: application/sdp\n")
		body = "v=0\no=sipp 1 1 IN IP4 [local_ip]\ns=-\nc=IN IP4 [media_ip]\nt=0 0\n" +
			"m=audio [media_port] RTP/AVP 0 101\na=rtpmap:0 PCMU/8000\na=rtpmap:101 telephone-event/8000\n"
	}
	retrans := ""
	if code == "200" && method == "INVITE" {
		retrans = ` retrans="500"`
	}
	return "<send" + retrans + "><![CDATA[\n\n" + h.String() + "Content-Length: [len]\n\n" + body + "\n]]></send>\n"
}

// A BYE from the callee needs data from the INVITE.
const (
	inviteOfBye = `<recv request="INVITE"><action>
<ereg regexp=".*" search_in="hdr" header="From:" assign_to="1"/>
<ereg regexp=".*" search_in="hdr" header="To:" assign_to="2"/>
<ereg regexp="sip:[^>]*" search_in="hdr" header="Contact:" assign_to="3"/>
</action></recv>
`
	calleeBye = `<send retrans="500"><![CDATA[

BYE [$3] SIP/2.0
Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch]
From: [$2];tag=[pid]sipp[call_number]
To: [$1]
[last_Call-ID:]
CSeq: 1 BYE
Max-Forwards: 70
Reason: Q.850;cause=16;text="Normal call clearing"
Content-Length: 0

]]></send>
`
)

// sipp is a running SIPp that plays a carrier; it echoes the RTP it receives.
type sipp struct {
	t    *testing.T
	port int
	dir  string
	cmd  *exec.Cmd
	out  bytes.Buffer
	done chan struct{}
	err  error
}

func startSipp(t *testing.T, steps string) *sipp {
	t.Helper()
	file := filepath.Join(t.TempDir(), "scenario.xml")
	if err := os.WriteFile(file, []byte(scenario(steps)), 0o600); err != nil {
		t.Fatal(err)
	}
	return startSippFile(t, file)
}

// startSippFile plays the scenario of a file; args are further SIPp options.
func startSippFile(t *testing.T, file string, args ...string) *sipp {
	t.Helper()
	return startSippAt(t, "", "127.0.0.1", file, args...)
}

// startSippAt plays it at another address, in a network namespace where one is named.
func startSippAt(t *testing.T, namespace, host, file string, args ...string) *sipp {
	t.Helper()
	path, err := exec.LookPath("sipp")
	if err != nil {
		t.Fatal("sipp is not installed; make deps installs it (Debian package sip-tester)")
	}
	if file, err = filepath.Abs(file); err != nil {
		t.Fatal(err)
	}
	command := []string{path}
	if namespace != "" {
		command = []string{"ip", "netns", "exec", namespace, path}
	}
	// Between the search for free ports and SIPp's use of them, and of those next to the RTP port,
	// another process may have taken one.
	for range 5 {
		if s := launchSipp(t, host, append(command, "-sf", file), args...); s != nil {
			return s
		}
	}
	t.Fatal("SIPp found its ports taken five times")
	return nil
}

// launchSipp gives SIPp once it listens, or has placed all its calls; nil when
// its ports were taken.
func launchSipp(t *testing.T, host string, command []string, args ...string) *sipp {
	t.Helper()
	s := &sipp{t: t, dir: t.TempDir(), port: ports.Of(t), done: make(chan struct{})}
	args = append([]string{"-i", host, "-mi", host, "-p", strconv.Itoa(s.port), "-mp", strconv.Itoa(ports.Of(t)),
		"-rtp_echo", "-nostdin", "-trace_msg", "-trace_err", "-message_file", "messages.log", "-error_file", "errors.log",
		"-recv_timeout", "30000", "-timeout", "90", "-timeout_error"}, args...)
	s.cmd = exec.CommandContext(t.Context(), command[0], append(command[1:], args...)...)
	s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = s.dir, &s.out, &s.out
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { s.err = s.cmd.Wait(); close(s.done) }()
	taken := false
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		<-s.done
		if t.Failed() && !taken {
			t.Logf("SIPp on port %d:\n%s", s.port, s.report())
		}
	})
	eventually(t, "SIPp listens", func() bool {
		select {
		case <-s.done:
			if taken = strings.Contains(s.report(), "in use"); taken {
				return true
			}
			if s.err == nil {
				return true // its only outgoing call is over
			}
			t.Fatalf("SIPp ended at once: %v", s.err)
		default:
		}
		a := netip.MustParseAddr(host).As4()
		for _, table := range []string{"udp", "tcp"} {
			open, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", s.cmd.Process.Pid, table))
			at := fmt.Sprintf("%02X%02X%02X%02X:%04X ", a[3], a[2], a[1], a[0], s.port)
			if err == nil && strings.Contains(string(open), at) {
				return true
			}
		}
		return false
	})
	if taken {
		return nil
	}
	return s
}

// satisfied tells SIPp to end once its calls have ended, and fails unless each followed the
// scenario.
func (s *sipp) satisfied() {
	s.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGUSR1); err != nil {
		s.t.Fatalf("SIPp ended before it was asked to: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	select {
	case <-s.done:
	case <-ctx.Done():
		s.t.Fatal("SIPp still waits for something that never came")
	}
	if s.err != nil {
		s.t.Fatalf("SIPp found the calls wrong: %v", s.err)
	}
}

var (
	received = regexp.MustCompile(`(?s)message received \[\d+\] bytes :\s+([A-Z]+) .*?Call-ID: *(\S+)`)
	cseq     = regexp.MustCompile(`(?m)^CSeq: *(\d+)`)
)

// requests lists the requests with a Call-ID, in order and without repetitions, and every Call-ID
// of an INVITE.
func (s *sipp) requests(callID string) (methods string, invited []string) {
	s.t.Helper()
	log, err := os.ReadFile(filepath.Join(s.dir, "messages.log"))
	if err != nil {
		s.t.Fatal(err)
	}
	var list []string
	seen, counted := map[string]bool{}, map[string]bool{}
	for part := range strings.SplitSeq(string(log), "-----------------------------------------------") {
		m := received.FindStringSubmatch(part)
		if m == nil || m[1] == "SIP" {
			continue
		}
		if m[1] == "INVITE" && !seen[m[2]] {
			seen[m[2]] = true
			invited = append(invited, m[2])
		}
		n := cseq.FindStringSubmatch(part)
		if m[2] != callID || n == nil || counted[m[1]+n[1]] { // an ACK is repeated with the answer that it confirms
			continue
		}
		counted[m[1]+n[1]] = true
		if len(list) == 0 || list[len(list)-1] != m[1] {
			list = append(list, m[1])
		}
	}
	return strings.Join(list, " "), invited
}

// wireMessage is a message that SIPp sent or received.
type wireMessage struct {
	sent bool
	text string // lines end in CR LF
}

var traced = regexp.MustCompile(`(?s)message (received \[\d+\] bytes :|sent \(\d+ bytes\):)\s+(\S.*)`)

// messages lists the messages on the wire with a Call-ID, in order.
func (s *sipp) messages(callID string) (list []wireMessage) {
	s.t.Helper()
	log, err := os.ReadFile(filepath.Join(s.dir, "messages.log"))
	if err != nil {
		s.t.Fatal(err)
	}
	for part := range strings.SplitSeq(string(log), "-----------------------------------------------") {
		if m := traced.FindStringSubmatch(part); m != nil && strings.Contains(m[2], callID) {
			list = append(list, wireMessage{sent: strings.HasPrefix(m[1], "sent"), text: m[2]})
		}
	}
	return list
}

// report returns SIPp's report of its failure.
func (s *sipp) report() string {
	var b strings.Builder
	for _, name := range []string{"errors.log", "messages.log"} {
		text, _ := os.ReadFile(filepath.Join(s.dir, name))
		b.Write(text[max(0, len(text)-8000):])
	}
	out := s.out.Bytes()
	b.Write(out[max(0, len(out)-1500):])
	return b.String()
}
