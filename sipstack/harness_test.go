package sipstack_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dialler/bench/ports"
	"dialler/engine"
	"dialler/sipstack"
	"dialler/sipstack/timing"

	"github.com/emiago/sipgo/sip"
	"github.com/rs/zerolog"
)

// patience bounds every wait of these tests; it is generous because they share
// their machine.
const patience = 30 * time.Second

const trunkID = engine.TrunkID("carrier")

var testOffer = []byte("v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n" +
	"m=audio 40000 RTP/AVP 0 101\r\na=rtpmap:0 PCMU/8000\r\na=rtpmap:101 telephone-event/8000\r\na=sendrecv\r\n")

func newStack(t testing.TB, c sipstack.Config) *sipstack.Stack {
	t.Helper()
	if c.Listen == "" {
		c.Listen = "127.0.0.1:0"
	}
	c.Log = zerolog.Nop()
	s, err := sipstack.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// setTrunk points the test trunk at a loopback port.
func setTrunk(s *sipstack.Stack, port int, change func(*sipstack.TrunkConfig)) {
	c := sipstack.TrunkConfig{ID: trunkID, Host: "127.0.0.1", Port: port, OptionsInterval: -1}
	if change != nil {
		change(&c)
	}
	s.SetTrunk(c)
}

func withCredentials(c *sipstack.TrunkConfig) { c.Username, c.Password = "alice", "secret" }
func overTCP(c *sipstack.TrunkConfig)         { c.Transport = sipstack.TCP }

// listener collects the events of legs and lets tests wait for them.
type listener struct {
	t  testing.TB
	mu sync.Mutex
	// changed is closed and replaced at every event.
	changed chan struct{}
	events  []engine.LegEvent
	// react is called for each event, without the lock.
	react func(engine.LegEvent)
}

func listen(t testing.TB, react func(engine.LegEvent)) *listener {
	return &listener{t: t, changed: make(chan struct{}), react: react}
}

func (l *listener) sink(e engine.LegEvent) {
	if l.react != nil {
		l.react(e)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *listener) of(leg engine.LegID) []engine.LegEvent {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []engine.LegEvent
	for _, e := range l.events {
		if e.Leg == leg {
			out = append(out, e)
		}
	}
	return out
}

func (l *listener) wait(what string, ok func([]engine.LegEvent) bool) {
	l.t.Helper()
	deadline := time.After(patience)
	for {
		l.mu.Lock()
		done, changed, events := ok(l.events), l.changed, l.events
		l.mu.Unlock()
		if done {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			l.t.Fatalf("no %s; last events: %s", what, describe(events[max(0, len(events)-20):]))
		}
	}
}

// kind waits for an event of a kind and gives it.
func (l *listener) kind(leg engine.LegID, k engine.LegEventKind) (found engine.LegEvent) {
	l.t.Helper()
	l.wait(fmt.Sprintf("%s of %s", k, leg), func(es []engine.LegEvent) bool {
		for _, e := range es {
			if e.Leg == leg && e.Kind == k {
				found = e
				return true
			}
		}
		return false
	})
	return found
}

func describe(es []engine.LegEvent) string {
	var b strings.Builder
	for i, e := range es {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(string(e.Kind))
		if e.Code != 0 {
			fmt.Fprintf(&b, "(%d)", e.Code)
		}
	}
	return b.String()
}

// expect waits for the leg's final event, then compares all its events,
// written as "sent provisional(180) refused(486)", and their Seq.
func (l *listener) expect(leg engine.LegID, want string) []engine.LegEvent {
	l.t.Helper()
	l.wait("final event of "+string(leg), func(es []engine.LegEvent) bool {
		for _, e := range es {
			if e.Leg == leg && e.Kind.Final() {
				return true
			}
		}
		return false
	})
	got := l.of(leg)
	if s := describe(got); s != want {
		l.t.Fatalf("events of %s:\n got %s\nwant %s", leg, s, want)
	}
	for i, e := range got {
		if e.Seq != i+1 {
			l.t.Fatalf("event %d (%s) has Seq %d", i+1, e.Kind, e.Seq)
		}
		if e.At.IsZero() || e.Trunk != trunkID {
			l.t.Fatalf("event without time or trunk: %+v", e)
		}
	}
	return got
}

var attempts atomic.Uint64

// newLeg makes an ID that no other test uses.
func newLeg() (engine.AttemptID, engine.LegID) {
	a := engine.AttemptID(fmt.Sprintf("%016x%016x", time.Now().UnixNano(), attempts.Add(1)))
	return a, a.Leg(1)
}

func placeCommand(a engine.AttemptID, leg engine.LegID) engine.PlaceLeg {
	return engine.PlaceLeg{
		Attempt: a, Leg: leg, Trunk: trunkID, From: "+493012345678", To: "+4915112345678",
		SendBy: timing.BootNow().Add(time.Minute), RingTimeout: 30 * time.Second, Offer: testOffer,
	}
}

// place places a new leg.
func place(s *sipstack.Stack, l *listener) engine.LegID {
	a, leg := newLeg()
	s.PlaceLeg(placeCommand(a, leg), l.sink)
	return leg
}

// confirming confirms and, when hangUp is set, hangs up each answered leg.
func confirming(s *sipstack.Stack, hangUp bool) func(engine.LegEvent) {
	return func(e engine.LegEvent) {
		if e.Kind == engine.LegAnswered {
			s.ConfirmLeg(e.Leg)
			if hangUp {
				s.HangUpLeg(e.Leg, engine.HangUpCause{Q850: 16, Text: "Normal call clearing"})
			}
		}
	}
}

// eventually waits for a condition that has no event.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("never: %s", what)
		}
	}
}

// sippRun is a running SIPp that plays the far side.
type sippRun struct {
	t    *testing.T
	port int
	cmd  *exec.Cmd
	out  bytes.Buffer
	dir  string
	done chan error
}

// startSipp runs a scenario of testdata for a number of calls and returns when
// its socket is open. transport is u1 or t1.
func startSipp(t *testing.T, scenario, transport string, calls int) *sippRun {
	t.Helper()
	return runSipp(t, scenario, transport, calls)
}

// callBySipp runs a scenario of testdata in which the far side calls to.
func callBySipp(t *testing.T, scenario, to string, calls int) *sippRun {
	t.Helper()
	return runSipp(t, scenario, "u1", calls, "-s", "4930111", "-r", "100", to)
}

func runSipp(t *testing.T, scenario, transport string, calls int, more ...string) *sippRun {
	t.Helper()
	path, err := exec.LookPath("sipp")
	if err != nil {
		t.Fatal("sipp is not installed; install with make deps (Debian package sip-tester)")
	}
	text, err := os.ReadFile(filepath.Join("testdata", scenario+".xml"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, scenario+".xml") // SIPp writes its logs beside the scenario
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	network := "udp"
	if transport == "t1" {
		network = "tcp"
	}
	r := &sippRun{t: t, port: ports.Of(t), dir: dir, done: make(chan error, 1)}
	ctx, cancel := context.WithTimeout(context.Background(), patience+10*time.Second)
	args := append(more, "-sf", file, "-t", transport, "-i", "127.0.0.1", "-mi", "127.0.0.1",
		"-p", strconv.Itoa(r.port), "-m", strconv.Itoa(calls), "-nostdin", "-trace_err", "-trace_msg",
		"-recv_timeout", "20000", "-timeout", strconv.Itoa(int(patience.Seconds())), "-timeout_error",
		"-max_socket", "100")
	r.cmd = exec.CommandContext(ctx, path, args...)
	r.cmd.Dir = r.dir
	r.cmd.Stdout, r.cmd.Stderr = &r.out, &r.out
	if err := r.cmd.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() { r.done <- r.cmd.Wait(); close(exited) }()
	t.Cleanup(func() {
		cancel()
		<-exited
		if t.Failed() {
			t.Logf("sipp:\n%s", r.report())
		}
	})
	eventually(t, "sipp listens", func() bool {
		select {
		case <-exited:
			t.Fatalf("sipp ended at once: %s", r.report())
		default:
		}
		return bound(network, r.port)
	})
	return r
}

// wait waits until SIPp has seen all its calls, each according to the scenario.
func (r *sippRun) wait() {
	r.t.Helper()
	if err := <-r.done; err != nil {
		r.t.Fatalf("sipp found the calls wrong: %v", err)
	}
}

// report returns SIPp's report of its failure.
func (r *sippRun) report() string {
	var b strings.Builder
	for _, pattern := range []string{"*_errors.log", "*_messages.log"} {
		files, _ := filepath.Glob(filepath.Join(r.dir, pattern))
		for _, f := range files {
			text, _ := os.ReadFile(f)
			b.Write(text[max(0, len(text)-6000):])
		}
	}
	if b.Len() == 0 {
		out := r.out.Bytes()
		b.Write(out[max(0, len(out)-3000):])
	}
	return b.String()
}

// bound looks a local port up in the kernel's socket table.
func bound(network string, port int) bool {
	table, err := os.ReadFile("/proc/net/" + network)
	return err == nil && strings.Contains(string(table), fmt.Sprintf("0100007F:%04X ", port))
}

// uas is a far side on a raw UDP socket, for what SIPp cannot play. It parses with sipgo and
// records every request.
type uas struct {
	t    testing.TB
	conn *net.UDPConn
	// handle is called by the reading goroutine for every message.
	handle func(u *uas, m sip.Message, from netip.AddrPort)

	flows atomic.Pointer[flows] // nil: UDP only

	mu       sync.Mutex
	seen     []sip.Message
	src      netip.AddrPort
	answered map[string]bool // transactions that it has responded to
}

func newUAS(t testing.TB, handle func(u *uas, m sip.Message, from netip.AddrPort)) *uas {
	t.Helper()
	c, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	_ = c.SetReadBuffer(4 << 20)
	u := &uas{t: t, conn: c, handle: handle, answered: map[string]bool{}}
	ended := make(chan struct{})
	go func() { defer close(ended); u.read() }()
	t.Cleanup(func() { _ = c.Close(); <-ended })
	return u
}

func (u *uas) port() int { return u.conn.LocalAddr().(*net.UDPAddr).Port }

func (u *uas) read() {
	buf := make([]byte, 65535)
	parser := sip.NewParser()
	for {
		n, src, err := u.conn.ReadFromUDPAddrPort(buf)
		if err != nil {
			return
		}
		m, err := parser.ParseSIP(buf[:n])
		if err != nil {
			u.t.Errorf("the stack sent what is not SIP: %v\n%s", err, buf[:n])
			continue
		}
		u.take(m, src)
	}
}

func (u *uas) take(m sip.Message, src netip.AddrPort) {
	u.mu.Lock()
	u.seen = append(u.seen, m)
	u.src = src
	u.mu.Unlock()
	if u.handle != nil {
		u.handle(u, m, src)
	}
}

// transaction returns what a request has in common with its repetitions and responses.
func transaction(m sip.Message) string { return m.CSeq().Value() + " " + m.Via().Value() }

// isAnswered says whether a request is the repetition of one that was answered: on a busy machine
// the stack may repeat one that is already answered.
func (u *uas) isAnswered(r *sip.Request) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.answered[transaction(r)]
}

// count counts the requests of a method so far, without repetitions except of an ACK.
func (u *uas) count(method sip.RequestMethod) int { return len(u.all(method)) }

func (u *uas) all(method sip.RequestMethod) (out []*sip.Request) {
	had := map[string]bool{}
	for _, r := range u.copies(method) {
		if key := transaction(r); method == sip.ACK || !had[key] {
			had[key] = true
			out = append(out, r)
		}
	}
	return out
}

// copies returns the requests of a method as they came, including repetitions.
func (u *uas) copies(method sip.RequestMethod) (out []*sip.Request) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, m := range u.seen {
		if r, ok := m.(*sip.Request); ok && r.Method == method {
			out = append(out, r)
		}
	}
	return out
}

// request waits for the n-th request of a method (from 1).
func (u *uas) request(method sip.RequestMethod, n int) *sip.Request {
	u.t.Helper()
	eventually(u.t, fmt.Sprintf("%s number %d at the far side", method, n), func() bool { return u.count(method) >= n })
	return u.all(method)[n-1]
}

// repeated waits until a method has come n times, including repetitions.
func (u *uas) repeated(method sip.RequestMethod, n int) *sip.Request {
	u.t.Helper()
	eventually(u.t, fmt.Sprintf("%s %d times at the far side", method, n),
		func() bool { return len(u.copies(method)) >= n })
	return u.copies(method)[n-1]
}

func (u *uas) send(to netip.AddrPort, text string) {
	if m, err := sip.ParseMessage([]byte(text)); err == nil {
		if r, ok := m.(*sip.Response); ok && r.CSeq() != nil && r.Via() != nil {
			u.mu.Lock()
			u.answered[transaction(r)] = true
			u.mu.Unlock()
		}
	}
	if f := u.flows.Load(); f != nil {
		f.mu.Lock()
		c := f.open[to]
		f.mu.Unlock()
		if c != nil {
			_, _ = c.Write([]byte(text)) // a test may have closed it
			return
		}
	}
	if _, err := u.conn.WriteToUDPAddrPort([]byte(text), to); err != nil &&
		!errors.Is(err, net.ErrClosed) { // closed: the test has seen enough
		u.t.Errorf("far side: %v", err)
	}
}

// reply sends a response to a request of the stack; extra are whole lines.
func (u *uas) reply(r *sip.Request, to netip.AddrPort, status, tag, extra, body string) {
	u.send(to, response(r, status, tag, extra+"Contact: <sip:"+u.conn.LocalAddr().String()+">\r\n", body))
}

func response(r *sip.Request, status, tag, extra, body string) string {
	b := "SIP/2.0 " + status + "\r\nVia: " + r.Via().Value() + "\r\nFrom: " + r.From().Value() + "\r\nTo: " +
		r.To().Value()
	if _, has := r.To().Params.Get("tag"); tag != "" && !has {
		b += ";tag=" + tag
	}
	b += "\r\nCall-ID: " + r.CallID().Value() + "\r\nCSeq: " + r.CSeq().Value() + "\r\n" + extra
	if body != "" {
		b += "Content-Type: application/sdp\r\n"
	}
	return b + "Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
}

// inDialog sends a request from the far side inside the dialog of an INVITE that it answered with
// tag.
func (u *uas) inDialog(invite *sip.Request, tag, method string, cseq int, extra, body string) {
	u.mu.Lock()
	src := u.src
	u.mu.Unlock()
	branch := "z9hG4bK" + hex.EncodeToString([]byte(fmt.Sprint(method, cseq, tag)))
	b := method + " " + invite.Contact().Address.String() + " SIP/2.0\r\n" +
		"Via: SIP/2.0/UDP " + u.conn.LocalAddr().String() + ";branch=" + branch + "\r\nMax-Forwards: 70\r\n" +
		"From: " + invite.To().Value() + ";tag=" + tag + "\r\nTo: " + invite.From().Value() + "\r\n" +
		"Call-ID: " + invite.CallID().Value() + "\r\nCSeq: " + strconv.Itoa(cseq) + " " + method + "\r\n" + extra +
		"Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
	u.send(src, b)
}

// responses returns the responses to the far side's requests, and how often each came.
func (u *uas) responses() (out []*sip.Response, times map[string]int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	times = map[string]int{}
	for _, m := range u.seen {
		if r, ok := m.(*sip.Response); ok {
			if times[r.String()]++; times[r.String()] == 1 {
				out = append(out, r)
			}
		}
	}
	return out, times
}

// response waits for the n-th response to the far side's requests, without repetitions.
func (u *uas) response(n int) *sip.Response {
	u.t.Helper()
	var out []*sip.Response
	eventually(u.t, fmt.Sprintf("response number %d at the far side", n), func() bool {
		out, _ = u.responses()
		return len(out) >= n
	})
	return out[n-1]
}

// again waits until a response has come n times, byte for byte the same.
func (u *uas) again(r *sip.Response, n int) {
	u.t.Helper()
	eventually(u.t, fmt.Sprintf("%d times at the far side: %s", n, r.StartLine()), func() bool {
		_, times := u.responses()
		return times[r.String()] >= n
	})
}
