package sipstack_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dialler/engine"
	"dialler/sipstack"

	"github.com/emiago/sipgo/sip"
)

// torture are the messages of RFC 4475, each with our final answer; 0 is none. The file of baddn ends before its
// headers do.
var torture = map[string]int{
	// §3.1.1: valid. 486 is the answer to each call that is offered.
	"wsinv": 481, "intmeth": 501, "esc01": 486, "escnull": 405, "esc02": 501, "lwsdisp": 200, "longreq": 486,
	"dblreq": 405, "semiuri": 200, "transports": 200, "mpart01": 405, "unreason": 0, "noreason": 0,
	// §3.1.2: invalid.
	"badinv01": 400, "clerr": 400, "ncl": 400, "scalar02": 400, "scalarlg": 0, "quotbal": 400, "ltgtruri": 400,
	"lwsruri": 400, "lwsstart": 400, "trws": 400, "escruri": 486, "baddate": 486, "regbadct": 405, "badaspec": 400,
	"baddn": 0, "badvers": 505, "mismatch01": 400, "mismatch02": 400, "bigcode": 0,
	// §3.2: transactions. §3.3: what an application makes of them. §3.4: of RFC 2543.
	"badbranch": 200, "insuf": 0, "unkscm": 416, "novelsc": 400, "unksm2": 405, "bext01": 420, "invut": 415,
	"regaut01": 405, "multi01": 400, "mcl01": 400, "bcast": 0, "zeromf": 200, "cparam01": 405, "cparam02": 405,
	"regescrt": 405, "sdp01": 486, "inv2543": 400,
	"test": 0, // of the RFC before it: no Via
}

// tortureMessages reads them where the SIP library has them.
func tortureMessages(t *testing.T) map[string]string {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/emiago/sipgo").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "sip/testdata/torture/*/*.dat"))
	if err != nil || len(files) != len(torture) {
		t.Fatalf("%d messages of %d: %v", len(files), len(torture), err)
	}
	all := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".dat")] = string(text)
	}
	return all
}

var callIDOf = regexp.MustCompile(`(?im)^(?:call-id|i)[ \t]*:[ \t]*(\S+)`)

// The far side answers at the port that a Via without one means, as those of the messages are.
func TestTheTortureMessagesAreAnsweredAndHarmNoCall(t *testing.T) {
	far := net.IPv4(127, byte(os.Getpid()>>16), byte(os.Getpid()>>8), byte(os.Getpid()))
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: far, Port: 5060})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	codes, calls := map[string][]int{}, map[string]bool{}
	ended := make(chan struct{})
	go func() { // reads what is no SIP: what came wrong comes back as it is
		defer close(ended)
		buf := make([]byte, 65535)
		for {
			n, src, err := conn.ReadFromUDPAddrPort(buf)
			if err != nil {
				return
			}
			text := string(buf[:n])
			callID := callIDOf.FindStringSubmatch(text)[1]
			mu.Lock()
			if code := 0; strings.HasPrefix(text, "SIP/2.0 ") {
				_, _ = fmt.Sscanf(text, "SIP/2.0 %d", &code)
				if !slices.Contains(codes[callID], code) {
					codes[callID] = append(codes[callID], code)
				}
			} else if m, err := sip.ParseMessage(buf[:n]); err != nil {
				t.Errorf("%v: %s", err, text)
			} else if r := m.(*sip.Request); r.Method == sip.INVITE || r.Method == sip.BYE {
				calls[callID] = true
				_, _ = conn.WriteToUDPAddrPort([]byte(response(r, "200 OK", "far",
					"Contact: <sip:"+conn.LocalAddr().String()+">\r\n", string(testOffer))), src)
			}
			mu.Unlock()
		}
	}()
	defer func() { _ = conn.Close(); <-ended }()
	s, _ := taking(t, func(s *sipstack.Stack, c engine.IncomingCall) { s.RefuseLeg(c.Leg, 486) })
	setTrunk(s, 5060, func(c *sipstack.TrunkConfig) { c.Host = far.String() })
	l := listen(t, confirming(s, false))
	leg := place(s, l)
	l.kind(leg, engine.LegAnswered)

	answers := func(callID string) []int {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(codes[callID])
	}
	send := func(text string) {
		if _, err := conn.WriteToUDPAddrPort([]byte(text), addr(s)); err != nil {
			t.Fatal(err)
		}
	}
	marks := 0
	// mark writes an OPTIONS, the answer to which comes after those to all before it.
	mark := func() (text, callID string) {
		marks++
		callID = fmt.Sprint("mark-", marks)
		return "OPTIONS sip:x SIP/2.0\r\nVia: SIP/2.0/UDP x;rport;branch=z9hG4bK" + callID + "\r\nFrom: <sip:a@b>;tag=1\r\n" +
			"To: <sip:x@y>\r\nCall-ID: " + callID + "\r\nCSeq: 1 OPTIONS\r\nContent-Length: 0\r\n\r\n", callID
	}
	for name, text := range tortureMessages(t) {
		want, has := torture[name]
		if !has {
			t.Errorf("%s is a message of none of our rows", name)
		}
		got := func() (codes []int) {
			for _, m := range callIDOf.FindAllStringSubmatch(text, -1) {
				codes = append(codes, answers(m[1])...)
			}
			return codes
		}
		send(text)
		after, mark := mark()
		send(after)
		eventually(t, "an answer after "+name, func() bool { return len(answers(mark)) == 1 })
		if want == 486 {
			eventually(t, "the refusal of "+name, func() bool { return len(got()) == 1 })
		}
		if g := got(); fmt.Sprint(g) != fmt.Sprint([]int{want}) && (want != 0 || len(g) != 0) {
			t.Errorf("%s is answered with %v instead of %d", name, g, want)
		}
	}
	// By TCP, each on a connection of its own, which ends where the boundary of the messages is lost. Calls were refused
	// before.
	// They come from another trunk, since more than a hundred at a time are a flood.
	other := net.IPv4(127, far[13]|128, far[14], far[15])
	s.SetTrunk(sipstack.TrunkConfig{ID: "other", Host: other.String(), Port: 5060, OptionsInterval: -1})
	lost := []string{"clerr", "ncl", "mcl01", "inv2543", "dblreq"}
	for name, text := range tortureMessages(t) {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: other}}
		c, err := d.Dial("tcp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		after, mark := mark()
		_, _ = io.WriteString(c, text+after)
		_ = c.SetReadDeadline(time.Now().Add(patience))
		if slices.Contains(lost, name) {
			_ = c.(*net.TCPConn).CloseWrite()
			mark = "" // the end is waited for
		}
		var said []byte
		for buf := make([]byte, 4096); err == nil && (mark == "" || !strings.Contains(string(said), mark)); {
			var n int
			n, err = c.Read(buf)
			said = append(said, buf[:n]...)
		}
		if ended := err != nil; ended == (mark != "") || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s by TCP: %v after %q", name, err, said)
		}
		if want := torture[name]; want != 0 && want != 486 && mark != "" &&
			!strings.HasPrefix(string(said), fmt.Sprintf("SIP/2.0 %d ", want)) {
			t.Errorf("%s is answered by TCP with %.40q instead of %d", name, said, want)
		}
		_ = c.Close()
	}
	if st := s.Stats(); st.LiveLegs == 0 || st.Floods != 0 {
		t.Errorf("%+v", st)
	}
	s.HangUpLeg(leg, engine.HangUpCause{Q850: 16})
	l.expect(leg, "sent answered(200) closed(200)")
	mu.Lock()
	defer mu.Unlock()
	if len(calls) != 1 {
		t.Errorf("%d calls", len(calls))
	}
}

// The responses among the messages come to a call of ours, as theirs are to nobody's.
func TestTheTortureMessagesAnswerACall(t *testing.T) {
	all := tortureMessages(t)
	ours := func(r *sip.Request, name string) string {
		text := all[name]
		for _, h := range []string{"Via", "From", "To", "Call-ID"} {
			value := r.GetHeader(h).Value()
			if h == "To" {
				value += ";tag=far"
			}
			at := regexp.MustCompile("(?m)^" + h + ": .*\r$").FindStringIndex(text)
			text = text[:at[0]] + h + ": " + value + "\r" + text[at[1]:]
		}
		if name == "scalarlg" {
			return text
		}
		return regexp.MustCompile("CSeq: [0-9]+").ReplaceAllString(text, fmt.Sprint("CSeq: ", r.CSeq().SeqNo))
	}
	u := newUAS(t, func(u *uas, m sip.Message, from netip.AddrPort) {
		r, ok := m.(*sip.Request)
		switch {
		case ok && r.Method == sip.INVITE:
			for _, name := range []string{"bigcode", "scalarlg", "bcast", "noreason", "unreason"} {
				u.send(from, ours(r, name))
			}
		case ok && r.Method == sip.BYE:
			u.reply(r, from, "200 OK", "far", "", "")
		}
	})
	s := newStack(t, sipstack.Config{})
	setTrunk(s, u.port(), nil)
	l := listen(t, confirming(s, true))
	es := l.expect(place(s, l), "sent provisional(100) answered(200) closed(200)")
	if d := fmt.Sprintf("%+v", es[2].Dialog); !strings.Contains(string(es[2].SDP), "192.0.2.198") ||
		!strings.Contains(d, "user@host198.example.com") {
		t.Errorf("%s %s", es[2].SDP, d)
	}
	if st := s.Stats(); st.Malformed != 3 {
		t.Errorf("%+v", st)
	}
}
