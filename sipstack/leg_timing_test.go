package sipstack_test

import (
	"bytes"
	"fmt"
	"net"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"dialler/engine"
	"dialler/sipstack"
)

// echoUAS answers INVITE with 180 and 200 and BYE with 200 by copying lines, so that the far side
// costs as little as possible.
func echoUAS(b *testing.B) int {
	c, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		b.Fatal(err)
	}
	_ = c.SetReadBuffer(4 << 20)
	_ = c.SetWriteBuffer(4 << 20)
	ended := make(chan struct{})
	b.Cleanup(func() { _ = c.Close(); <-ended })
	contact := "Contact: <sip:" + c.LocalAddr().String() + ">\r\n"
	sdp := "Content-Type: application/sdp\r\nContent-Length: " + strconv.Itoa(len(answerSDP)) + "\r\n\r\n" + answerSDP
	go func() {
		defer close(ended)
		in, out := make([]byte, 4096), make([]byte, 0, 4096)
		for {
			n, src, err := c.ReadFromUDPAddrPort(in)
			if err != nil {
				return
			}
			reply := func(status, tail string) {
				out = append(append(out[:0], status...), "\r\n"...)
				for line := range bytes.SplitSeq(in[:n], []byte("\r\n")) {
					if len(line) == 0 {
						break
					}
					switch {
					case bytes.HasPrefix(line, []byte("Via:")), bytes.HasPrefix(line, []byte("From:")),
						bytes.HasPrefix(line, []byte("Call-ID:")), bytes.HasPrefix(line, []byte("CSeq:")):
						out = append(append(out, line...), "\r\n"...)
					case bytes.HasPrefix(line, []byte("To:")):
						out = append(out, line...)
						if !bytes.Contains(line, []byte(";tag=")) {
							out = append(out, ";tag=far"...)
						}
						out = append(out, "\r\n"...)
					}
				}
				out = append(append(out, contact...), tail...)
				_, _ = c.WriteToUDPAddrPort(out, src)
			}
			switch in[0] {
			case 'I':
				reply("SIP/2.0 180 Ringing", "Content-Length: 0\r\n\r\n")
				reply("SIP/2.0 200 OK", sdp)
			case 'B':
				reply("SIP/2.0 200 OK", "Content-Length: 0\r\n\r\n")
			}
		}
	}()
	return c.LocalAddr().(*net.UDPAddr).Port
}

func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkLeg measures a whole leg over loopback sockets: INVITE, 180, 200, ACK, BYE, 200.
// cpu-us/op covers the process, including the far side (about a third of the system calls).
func BenchmarkLeg(b *testing.B) {
	f := func(inFlight int) {
		b.Run(fmt.Sprintf("inflight=%d", inFlight), func(b *testing.B) {
			s := newStack(b, sipstack.Config{})
			setTrunk(s, echoUAS(b), nil)
			free := make(chan struct{}, inFlight)
			for range inFlight {
				free <- struct{}{}
			}
			sink := func(e engine.LegEvent) {
				switch {
				case e.Kind == engine.LegAnswered:
					s.ConfirmLeg(e.Leg)
					s.HangUpLeg(e.Leg, engine.HangUpCause{Q850: 16})
				case e.Kind.Final():
					s.ForgetLegs(e.Attempt)
					if e.Kind != engine.LegClosed {
						b.Error(e.Kind)
					}
					free <- struct{}{}
				}
			}
			b.ReportAllocs()
			before := cpu()
			for b.Loop() {
				<-free
				a, leg := newLeg()
				s.PlaceLeg(placeCommand(a, leg), sink)
			}
			for range inFlight {
				<-free
			}
			b.ReportMetric(float64((cpu()-before).Microseconds())/float64(b.N), "cpu-us/op")
			if st := s.Stats(); st.Retransmissions > 0 {
				b.Logf("%d retransmissions", st.Retransmissions)
			}
		})
	}
	f(1)
	f(64)
}

// BenchmarkLiveLegMemory reports the heap that a confirmed leg holds, each with its own offer and
// answer; one operation leaves one live leg behind.
func BenchmarkLiveLegMemory(b *testing.B) {
	s := newStack(b, sipstack.Config{})
	setTrunk(s, echoUAS(b), nil)
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	free := make(chan struct{}, 64)
	for range cap(free) {
		free <- struct{}{}
	}
	before, goroutines := heap(), runtime.NumGoroutine()
	for b.Loop() {
		<-free
		a, leg := newLeg()
		s.PlaceLeg(placeCommand(a, leg), func(e engine.LegEvent) {
			if e.Kind == engine.LegAnswered {
				s.ConfirmLeg(e.Leg)
				free <- struct{}{}
			}
		})
	}
	for range cap(free) {
		<-free
	}
	n := float64(s.Stats().LiveLegs)
	b.ReportMetric(float64(heap()-before)/n, "B/leg")
	b.ReportMetric(float64(runtime.NumGoroutine()-goroutines)/n, "goroutines/leg")
}
