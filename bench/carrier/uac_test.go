package carrier

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait of a test on a busy machine.
const patience = 30 * time.Second

// fastT1 makes 64*T1 bearable.
const fastT1 = 20 * time.Millisecond

func start(t testing.TB, cfg Config) *Carrier {
	t.Helper()
	c, err := Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// until waits for a condition on the ledger.
func until(t testing.TB, c *Carrier, what string, cond func(Ledger) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := c.Ledger().Wait(ctx, cond); err != nil {
		rows := c.Ledger().Calls()
		t.Fatalf("waited in vain until %s; %+v, stray %v, first rows %+v",
			what, rows.Summary(), c.Ledger().Stray(), rows[:min(3, len(rows))])
	}
}

// uac is a caller that speaks raw SIP over one UDP socket.
type uac struct {
	t       testing.TB
	carrier *Carrier
	conn    *net.UDPConn
	local   string
	n       int
	// confirmed are the responses that were acknowledged, by Call-ID and CSeq: the carrier may have
	// repeated one just before (RFC 3261 §13.3.1.4).
	confirmed map[[2]string]bool
	had       map[string]bool // all messages received, verbatim
}

// leg is one call of the uac.
type leg struct {
	u           *uac
	id, number  string
	from, to    string // header values; the response adds the tag to to
	branch      string
	cseq        int
	target      string
	routes      []string
	sdp         string
	extra       string // header lines of the INVITE
	answer      *reply
	byeCSeqOffs int
}

// reply is a message from the carrier.
type reply struct {
	first   string
	code    int // 0 for a request
	method  string
	headers map[string][]string
	body    string
	again   bool // it repeats an earlier one
}

func (r *reply) get(name string) string {
	if v := r.headers[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

func newUAC(t testing.TB, c *Carrier) *uac {
	t.Helper()
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &uac{t: t, carrier: c, conn: conn, local: conn.LocalAddr().String(), confirmed: map[[2]string]bool{},
		had: map[string]bool{}}
}

const sdpTemplate = "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n" +
	"m=audio %d RTP/AVP 0 8 101\r\na=rtpmap:101 telephone-event/8000\r\na=ptime:20\r\n"

func (u *uac) leg(number string) *leg {
	u.n++
	id := fmt.Sprintf("%s-%d-%s", u.t.Name(), u.n, u.local)
	return &leg{
		u: u, id: strings.ReplaceAll(id, "/", "_"), number: number, cseq: 1, branch: "z9hG4bK" + strconv.Itoa(u.n),
		from: fmt.Sprintf("<sip:+4930555@127.0.0.1>;tag=f%d", u.n), to: "<sip:" + number + "@127.0.0.1>",
		target: "sip:" + number + "@" + u.carrier.Addr(), sdp: fmt.Sprintf(sdpTemplate, 40000),
	}
}

func (u *uac) send(text string) {
	u.t.Helper()
	to := net.UDPAddrFromAddrPort(netip.MustParseAddrPort(u.carrier.Addr()))
	if _, err := u.conn.WriteToUDP([]byte(text), to); err != nil {
		u.t.Fatal(err)
	}
}

func (l *leg) request(method, branch, to, extra, body string, cseq int) string {
	s := method + " " + l.target + " SIP/2.0\r\nVia: SIP/2.0/UDP " + l.u.local + ";rport;branch=" + branch +
		"\r\nMax-Forwards: 70\r\nFrom: " + l.from + "\r\nTo: " + to + "\r\nCall-ID: " + l.id +
		"\r\nCSeq: " + strconv.Itoa(cseq) + " " + method + "\r\nContact: <sip:dialler@" + l.u.local + ">\r\n" + extra
	for _, r := range l.routes {
		s += "Route: " + r + "\r\n"
	}
	if body != "" {
		s += "Content-Type: application/sdp\r\n"
	}
	return s + "Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
}

func (l *leg) invite() *leg {
	l.u.t.Helper()
	to, _, _ := strings.Cut(l.to, ";tag=")
	l.u.send(l.request("INVITE", l.branch, to, l.extra, l.sdp, l.cseq))
	return l
}

func (l *leg) cancel() {
	to, _, _ := strings.Cut(l.to, ";tag=")
	l.u.send(l.request("CANCEL", l.branch, to, "", "", l.cseq))
}

// ack confirms the last final response.
func (l *leg) ack() {
	branch := l.branch
	if l.answer != nil && l.answer.code < 300 {
		branch += "ack"
	}
	l.u.send(l.request("ACK", branch, l.to, "", "", l.cseq))
}

func (l *leg) bye() {
	l.byeCSeqOffs++
	l.u.send(l.request("BYE", l.branch+"bye"+strconv.Itoa(l.byeCSeqOffs), l.to, "", "", l.cseq+l.byeCSeqOffs))
}

// next reads a message that is not a repetition: the carrier repeats a message when a test on a
// busy machine answers late. The test fails when none arrives.
func (u *uac) next() *reply {
	u.t.Helper()
	for {
		if r := u.any(); !r.again {
			return r
		}
	}
}

// any reads one message, whether repeated or not; it fails the test when none arrives.
func (u *uac) any() *reply {
	u.t.Helper()
	r := u.tryNext(patience)
	if r == nil {
		u.t.Fatalf("no message from the carrier; ledger: %+v, stray %v", u.carrier.Ledger().Calls(),
			u.carrier.Ledger().Stray())
	}
	return r
}

// tryNext returns nil when nothing arrives for d, apart from responses already confirmed.
func (u *uac) tryNext(d time.Duration) *reply {
	u.t.Helper()
	buf := make([]byte, 65536)
	_ = u.conn.SetReadDeadline(time.Now().Add(d))
	for {
		n, err := u.conn.Read(buf)
		if err != nil {
			return nil
		}
		r := parseReply(u.t, buf[:n])
		r.again = u.had[string(buf[:n])]
		u.had[string(buf[:n])] = true
		if r.code < 200 || !u.confirmed[[2]string{r.get("Call-ID"), r.get("CSeq")}] {
			return r
		}
	}
}

func parseReply(t testing.TB, b []byte) *reply {
	t.Helper()
	head, body, ok := bytes.Cut(b, []byte("\r\n\r\n"))
	if !ok {
		t.Fatalf("not a message: %q", b)
	}
	lines := strings.Split(string(head), "\r\n")
	r := &reply{first: lines[0], headers: map[string][]string{}, body: string(body)}
	if rest, ok := strings.CutPrefix(lines[0], "SIP/2.0 "); ok {
		r.code, _ = strconv.Atoi(rest[:3])
	} else {
		r.method, _, _ = strings.Cut(lines[0], " ")
	}
	for _, line := range lines[1:] {
		name, value, ok := strings.Cut(line, ": ")
		if !ok {
			t.Fatalf("malformed header line %q in %q", line, b)
		}
		r.headers[name] = append(r.headers[name], value)
	}
	if want := strconv.Itoa(len(r.body)); r.get("Content-Length") != want {
		t.Fatalf("Content-Length %s, body has %s", r.get("Content-Length"), want)
	}
	return r
}

// settle reads everything that the carrier has sent so far.
func (u *uac) settle() {
	u.t.Helper()
	l := u.leg("+4930")
	u.send(l.request("OPTIONS", l.branch, l.to, "", "", 1))
	u.skipTo("answer to OPTIONS", func(r *reply) bool { return r.get("Call-ID") == l.id })
}

// repeated reads a message, which must be a repeated response with this code.
func (l *leg) repeated(code int) {
	l.u.t.Helper()
	if r := l.u.any(); !r.again || r.code != code || r.get("Call-ID") != l.id {
		l.u.t.Fatalf("got %q, want %d again", r.first, code)
	}
}

// expect reads the next message of the leg, which must have this code.
func (l *leg) expect(code int) *reply {
	l.u.t.Helper()
	r := l.u.next()
	if r.code != code {
		l.u.t.Fatalf("got %q, want %d", r.first, code)
	}
	if id := r.get("Call-ID"); id != l.id {
		l.u.t.Fatalf("Call-ID %q, want %q", id, l.id)
	}
	if code > 100 && strings.Contains(r.get("CSeq"), "INVITE") {
		l.to = r.get("To")
		if !strings.Contains(l.to, ";tag=") {
			l.u.t.Fatalf("%q has no To tag", r.first)
		}
		if code >= 200 {
			l.answer = r
		}
	}
	return r
}

// skipTo reads past retransmissions to a message that f accepts.
func (u *uac) skipTo(what string, f func(*reply) bool) *reply {
	u.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if r := u.tryNext(time.Until(deadline)); r != nil && f(r) {
			return r
		}
	}
	u.t.Fatalf("no %s from the carrier", what)
	return nil
}

// established returns the leg once it is answered and confirmed.
func (l *leg) established() *leg {
	l.u.t.Helper()
	l.invite()
	l.expect(100)
	l.expect(180)
	l.expect(200)
	l.ack()
	until(l.u.t, l.u.carrier, "the ACK is in", func(g Ledger) bool {
		row, ok := g.Call(l.id)
		return ok && !row.AckAt.IsZero()
	})
	l.u.confirmed[[2]string{l.id, strconv.Itoa(l.cseq) + " INVITE"}] = true
	return l
}

func (l *leg) row() Call {
	l.u.t.Helper()
	row, ok := l.u.carrier.Ledger().Call(l.id)
	if !ok {
		l.u.t.Fatalf("the ledger does not know %s", l.id)
	}
	return row
}

// ok answers a request from the carrier with 200.
func (l *leg) ok(r *reply, body string) {
	s := "SIP/2.0 200 OK\r\nVia: " + r.get("Via") + "\r\nFrom: " + r.get("From") + "\r\nTo: " + r.get("To") +
		"\r\nCall-ID: " + r.get("Call-ID") + "\r\nCSeq: " + r.get("CSeq") + "\r\n"
	if body != "" {
		s += "Content-Type: application/sdp\r\n"
	}
	l.u.send(s + "Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body)
}
