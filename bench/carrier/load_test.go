package carrier

import (
	"net"
	"net/netip"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"dialler/bench/pace"
	"dialler/bench/voice"
	"dialler/engine"
)

// cpuTime returns the user + system time of this process so far.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkSippCalls600PerSecond measures INVITE, 100, 180, 200, ACK, BYE, 200 at 600 calls/s from
// a separate process; b.N is only used for the report.
//
//	go test -run - -bench Sipp -benchtime 1x ./bench/carrier
func BenchmarkSippCalls600PerSecond(b *testing.B) {
	const rate, calls = 600, 3000
	for range b.N {
		c := start(b, Config{Profile: []Behaviour{{Kind: Human}}})
		before := cpuTime(b)
		out, err := exec.Command("sipp", "-sn", "uac", c.Addr(), "-m", strconv.Itoa(calls), "-r", strconv.Itoa(rate),
			"-d", "100", "-nostdin", "-i", "127.0.0.1", "-timeout", "60").CombinedOutput()
		if err != nil {
			b.Fatalf("sipp: %v %s", err, out)
		}
		used := cpuTime(b) - before
		s := c.Ledger().Summary()
		if s.EverAnswer != calls {
			b.Fatalf("%+v", s)
		}
		b.ReportMetric(float64(used.Microseconds())/calls, "cpu-us/call")
		b.ReportMetric(used.Seconds()*rate/calls*100, "%core@600cps")
		b.ReportMetric(float64(s.Retransmits), "retransmits")
		b.ReportMetric(float64(s.PeakCPS), "peak-cps")
	}
}

// BenchmarkBusyCall measures an INVITE and its ACK through the handler, without reading a socket.
func BenchmarkBusyCall(b *testing.B) {
	c := start(b, Config{Profile: []Behaviour{Busy()}})
	u := newUAC(b, c)
	var m message
	p := peer{c: c, addr: u.conn.LocalAddr().(*net.UDPAddr).AddrPort()}
	b.ReportAllocs()
	for i := range b.N {
		l := leg{
			u: u, id: "b" + strconv.Itoa(i), number: number, cseq: 1, branch: "z9hG4bK" + strconv.Itoa(i),
			from: "<sip:a@127.0.0.1>;tag=1", to: "<sip:" + number + "@127.0.0.1>", target: "sip:" + number + "@127.0.0.1",
		}
		invite := []byte(l.request("INVITE", l.branch, l.to, "", "", 1))
		if err := m.parse(invite); err != nil {
			b.Fatal(err)
		}
		c.handle(&m, p)
		ack := []byte(l.request("ACK", l.branch, l.to, "", "", 1))
		if err := m.parse(ack); err != nil {
			b.Fatal(err)
		}
		c.handle(&m, p)
	}
}

// BenchmarkOverlaps judges 100,000 calls to 50,000 numbers.
func BenchmarkOverlaps(b *testing.B) {
	rows := make(Rows, 100000)
	for i := range rows {
		rows[i] = Call{
			CallID: strconv.Itoa(i), Number: engine.PhoneNumber("+49" + strconv.Itoa(i%50000)),
			InviteAt: at(i), EndedAt: at(i + 1000), Invites: 1,
		}
	}
	for b.Loop() {
		if len(rows.Overlaps()) != 0 {
			b.Fatal("overlaps")
		}
	}
}

// echo is the caller's side of many streams over one socket.
type echo struct {
	p  *phone
	to []netip.AddrPort
}

func (e *echo) Tick(time.Time) {
	frame := make([]byte, voice.FrameSamples)
	for _, to := range e.to {
		e.p.to = to
		e.p.send(frame)
	}
}

// BenchmarkFiveHundredStreams holds 500 calls with two-way audio for five seconds. The CPU figure
// includes the caller's sending.
//
//	go test -run - -bench Streams -benchtime 1x ./bench/carrier
func BenchmarkFiveHundredStreams(b *testing.B) {
	const streams, length = 500, 5 * time.Second
	for range b.N {
		c := start(b, Config{Media: true, Profile: []Behaviour{{Kind: Human}}})
		u := newUAC(b, c)
		e := &echo{p: newPhone(b)}
		for i := range streams {
			l := u.leg("+49151" + strconv.Itoa(10000000+i))
			l.sdp = e.p.offer()
			l.established()
			e.p.target(l.answer.body)
			e.to = append(e.to, e.p.to)
		}
		sum := func() (sent, received int) {
			s := c.Ledger().Summary()
			return s.RTPSent, s.RTPReceived
		}
		sent, received := sum()
		before := cpuTime(b)
		g := pace.Start(1)
		g.Add(e)
		timer := time.NewTimer(length)
		<-timer.C
		g.Close()
		used := cpuTime(b) - before
		sent2, received2 := sum()
		b.ReportMetric(used.Seconds()/length.Seconds()*100, "%core")
		b.ReportMetric(float64(sent2-sent)/length.Seconds()/streams, "sent-pps/stream")
		b.ReportMetric(float64(received2-received)/length.Seconds()/streams, "received-pps/stream")
	}
}
