package media

import (
	"encoding/binary"
	"fmt"
	"math"
	"net"
	"testing"
	"time"

	"github.com/pion/rtcp"
	"github.com/pion/rtp"

	"dialler/engine"
	"dialler/media/codec"
	"dialler/media/datagram"
	"dialler/media/demux"
)

// pair returns a phone on an even port, and the socket for reports above it.
func pair(t *testing.T, ssrc uint32) (*phone, *net.UDPConn) {
	t.Helper()
	a, b, err := new(Engine).bindPair(addr(1).Addr(), newPortRange(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = a.Close(), b.Close() })
	return &phone{t: t, conn: a, ssrc: ssrc, seq: 65000, ts: ssrc * 7}, b
}

// hasten makes the next report of a call due.
func hasten(e *Engine, id engine.AttemptID) {
	c := e.call(id)
	c.mu.Lock()
	c.nextReport = 1
	c.mu.Unlock()
}

func nextReport(t *testing.T, conn *net.UDPConn) []rtcp.Packet {
	t.Helper()
	buf := make([]byte, 1500)
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	for {
		n, err := conn.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		if !isRTCP(buf[:n]) {
			continue // audio
		}
		list, err := rtcp.Unmarshal(buf[:n])
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
}

func TestReportsAreSentAndByeAtTheEnd(t *testing.T) {
	for _, mux := range []bool{false, true} {
		e, ev := start(t, nil), record(t)
		p, reports := pair(t, 99)
		var extra []string
		if mux {
			reports, extra = p.conn, []string{"a=rtcp-mux"}
		}
		offer, err := e.Open(engine.OpenMedia{Attempt: attempt(1)}, ev.sink)
		if err != nil {
			t.Fatal(err)
		}
		e.Answer(attempt(1), p.called(offer, "0 101", extra...), time.Now())
		ours := p.hear()
		for _, seq := range []uint16{0, 1, 3} { // one is lost
			p.send(
				rtp.Header{Version: 2, SequenceNumber: 65535 + seq, Timestamp: uint32(seq) * 160, SSRC: p.ssrc},
				speech(160, 1),
			)
		}
		wait(t, func() bool { return e.Stats().PacketsReceived == 3 }, nil)
		hasten(e, attempt(1))
		list := nextReport(t, reports)
		sr, ok := list[0].(*rtcp.SenderReport)
		if !ok || sr.SSRC != ours.SSRC || sr.PacketCount == 0 || sr.OctetCount != 160*sr.PacketCount ||
			len(sr.Reports) != 1 {
			t.Fatalf("%v", list[0])
		}
		if age := time.Since(time.Unix(int64(sr.NTPTime>>32)-ntpEpoch, 0)); age < 0 || age > time.Minute {
			t.Errorf("the report is of %v ago", age)
		}
		if b := sr.Reports[0]; b.SSRC != 99 || b.TotalLost != 1 || b.FractionLost != 64 ||
			b.LastSequenceNumber != 1<<16+2 {
			t.Errorf("%+v", b)
		}
		if sdes, ok := list[1].(*rtcp.SourceDescription); !ok || sdes.Chunks[0].Source != ours.SSRC ||
			sdes.Chunks[0].Items[0].Type != rtcp.SDESCNAME ||
			sdes.Chunks[0].Items[0].Text == "" {
			t.Errorf("%v", list[1])
		}
		e.CloseMedia(attempt(1))
		for bye := false; !bye; {
			for _, pkt := range nextReport(t, reports) {
				if b, ok := pkt.(*rtcp.Goodbye); ok {
					bye = b.Sources[0] == ours.SSRC
				}
			}
		}
	}
}

// TestNothingIsSentAfterOurBye checks that audio ends when SIP's BYE leaves, though nobody answers
// it, and that RTCP says so once; what arrives still counts.
func TestNothingIsSentAfterOurBye(t *testing.T) {
	e := start(t, nil)
	p, reports := pair(t, 99)
	offer, err := e.Open(engine.OpenMedia{Attempt: attempt(1)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	e.AnsweredFrom(attempt(1), attempt(1).Leg(2), addr(1).Addr())
	e.Answer(attempt(1), p.called(offer, "0"), time.Now())
	p.say(0, speech(160, 1))
	p.streams(e, 1)
	e.HungUp(attempt(1), attempt(1).Leg(3)) // a far leg that was tried before
	p.hear()
	e.HungUp(attempt(1), attempt(1).Leg(2))
	c := e.call(attempt(1))
	c.mu.Lock()
	sent := c.sent
	c.mu.Unlock()
	list := nextReport(t, reports) // at the next tick, seconds before the first report would be due
	if _, bye := list[len(list)-1].(*rtcp.Goodbye); !bye {
		t.Fatalf("%v", list)
	}
	p.say(0, speech(160, 1))
	wait(t, func() bool { return e.Stats().PacketsReceived == 2 }, nil)
	w := datagram.NewWriter(datagram.BatchSize)
	for i := range int64(22 * time.Second / frameTime) { // as long as the BYE is repeated
		c.tick(w, e.now()+i*int64(frameTime))
	}
	if q := e.CloseMedia(attempt(1)); w.N != 0 || q.PacketsSent != sent || q.PacketsReceived != 2 {
		t.Fatalf("%d packets more, %+v after %d", w.N, q, sent)
	}
	_ = reports.SetReadDeadline(time.Now()) // loopback has delivered whatever was sent
	if n, err := reports.Read(make([]byte, 1500)); err == nil {
		t.Fatalf("%d bytes of RTCP after BYE", n)
	}
}

func TestTheFarSidesReportsMakeTheQualityOfTheCall(t *testing.T) {
	e, ev := start(t, nil), record(t)
	p, reports := pair(t, 99)
	offer, err := e.Open(engine.OpenMedia{Attempt: attempt(1)}, ev.sink)
	if err != nil {
		t.Fatal(err)
	}
	e.Answer(attempt(1), p.called(offer, "0"), time.Now())
	ours := p.hear()
	p.say(0, speech(160, 1))
	hasten(e, attempt(1))
	sr := nextReport(t, reports)[0].(*rtcp.SenderReport)
	answer, err := rtcp.Marshal([]rtcp.Packet{&rtcp.ReceiverReport{SSRC: 99, Reports: []rtcp.ReceptionReport{{
		SSRC: ours.SSRC, FractionLost: 128, TotalLost: 1, Jitter: 80,
		LastSenderReport: uint32(sr.NTPTime>>16) - 65536/4, // it took a quarter of a second to arrive
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	to := &net.UDPAddr{IP: p.to.IP, Port: p.to.Port + 1}
	if _, err := reports.WriteTo(answer, to); err != nil {
		t.Fatal(err)
	}
	wait(t, func() bool { return e.Stats().RTCPReceived == 1 && e.Stats().PacketsReceived == 1 }, nil)
	q := e.CloseMedia(attempt(1))
	if q.FarReports != 1 || q.FarLost != 1 || q.FarJitter != 10*time.Millisecond ||
		q.RoundTrip < 250*time.Millisecond ||
		q.RoundTrip > roundTripMost {
		t.Errorf("%+v", q)
	}
	if q.MOS < 4 || q.FarMOS >= q.MOS || q.FarMOS < 1 {
		t.Errorf("MOS %v and %v", q.MOS, q.FarMOS)
	}
}

// TestReportsFollowANAT has a far side whose RTP and RTCP come from ports that a NAT has chosen, none of
// which its SDP names: its reports make the quality of the call, and ours go where they came from.
func TestReportsFollowANAT(t *testing.T) {
	f := func(name string, mux bool, far int, plain bool) {
		t.Run(name, func(t *testing.T) {
			e := start(t, nil)
			p, reports := newPhone(t, 99), newPhone(t, 99) // two ports of the NAT
			on := engine.MediaProfile{Symmetric: engine.SymmetricOn}
			offer, err := e.Open(engine.OpenMedia{Attempt: attempt(1), Profile: on}, nil)
			if err != nil {
				t.Fatal(err)
			}
			inner := newPhone(t, 1) // what SDP names, and nothing comes from
			p.to = &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: offeredPort(t, offer)}
			extra := []string{"a=rtcp:9"}
			if mux {
				extra = []string{"a=rtcp-mux"}
				reports = p
			}
			if plain {
				extra = nil
			}
			e.Answer(attempt(1), sdpAnswer(inner.port(), "0", extra...), time.Now())
			for range demux.ProofPackets + 1 {
				p.say(0, speech(160, 1))
			}
			ours := p.hear()
			reports.to = &net.UDPAddr{IP: p.to.IP, Port: p.to.Port + far}
			say := func(by uint32) {
				b, err := rtcp.Marshal([]rtcp.Packet{&rtcp.ReceiverReport{SSRC: by, Reports: []rtcp.ReceptionReport{{
					SSRC: ours.SSRC, TotalLost: 1, Jitter: 80}}}})
				if err != nil {
					t.Fatal(err)
				}
				reports.raw(b)
			}
			if !mux {
				say(98) // nobody's: it is read before the next one
			}
			say(99)
			wait(t, func() bool { return e.Stats().RTCPReceived == 1 }, func() string { return fmt.Sprintf("%+v", e.Stats()) })
			hasten(e, attempt(1))
			if list := nextReport(t, reports.conn); list[0].(*rtcp.SenderReport).SSRC != ours.SSRC {
				t.Fatalf("%v", list)
			}
			if q := e.CloseMedia(attempt(1)); q.FarReports != 1 || q.FarLost != 1 || q.FarMOS < 1 || q.HeardFrom == "" {
				t.Fatalf("%+v", q)
			}
		})
	}
	f("a port of its own", false, 1, true)
	f("a port of its own, named in SDP", false, 1, false)
	f("muxed", true, 0, false)
}

// Published values of the E-model: G.711 without impairment has 4.4, and R of 80, 70, 60 are 4.03,
// 3.60, 3.10 (G.107 annex B).
func TestTheOpinionScoreFollowsLossDelayAndCodec(t *testing.T) {
	if m := opinion(codec.Ulaw, 0, 0, 0); m < 4.38 || m > 4.42 {
		t.Errorf("at its best %v", m)
	}
	last := 5.0
	for _, loss := range []float64{0, 0.01, 0.03, 0.1, 0.3, 1} {
		m := opinion(codec.Alaw, loss, 100*time.Millisecond, 5*time.Millisecond)
		if m >= last || m < 1 {
			t.Errorf("%v at a loss of %v, %v with less", m, loss, last)
		}
		last = m
	}
	if near, far := opinion(codec.Ulaw, 0, 100*time.Millisecond, 0), opinion(codec.Ulaw, 0, 800*time.Millisecond,
		0); far > near-0.4 {
		t.Errorf("%v at 400 ms one way, %v at 50 ms", far, near)
	}
	if opinion(codec.G722, 0, 0, 0) >= opinion(codec.Ulaw, 0, 0, 0) {
		t.Error("coded twice is no worse")
	}
	// R = 80 is a loss of x per cent with 95·x/(x+25.1) = 93.2 − 0.48 − 80.
	x := 25.1 * 12.72 / (95 - 12.72)
	if m := opinion(codec.Ulaw, x/100, 0, 0); math.Abs(m-4.03) > 0.011 {
		t.Errorf("R 80 is %v, want 4.03", m)
	}
}

func TestSequenceNumbersAreCountedAsRFC3550Says(t *testing.T) {
	var h heard
	for _, seq := range []uint16{65534, 65535, 1, 0, 2, 2} {
		h.count(7, seq)
	}
	b := h.block(nil, 0, 0)
	if h.newest-h.first != 4 || h.received != 6 || int32(binary.BigEndian.Uint32(b[4:])<<8)>>8 != -1 {
		t.Errorf("%+v %x", h, b)
	}
	h.count(8, 500) // another source
	if h.ssrc != 8 || h.received != 1 {
		t.Errorf("%+v", h)
	}
}

func TestReportsAreSpreadAroundFiveSeconds(t *testing.T) {
	sum := int64(0)
	for range 1000 {
		n := untilReport()
		if n < int64(2*time.Second) || n > int64(6200*time.Millisecond) {
			t.Fatal(time.Duration(n))
		}
		sum += n
	}
	if mean := time.Duration(sum / 1000); mean < 3800*time.Millisecond || mean > 4400*time.Millisecond {
		t.Error(mean) // 5 s by 1.21828, which reconsideration in large sessions makes 5 s
	}
}

func FuzzReports(f *testing.F) {
	good, _ := rtcp.Marshal(
		[]rtcp.Packet{
			&rtcp.SenderReport{SSRC: 1, Reports: []rtcp.ReceptionReport{{SSRC: 2, LastSenderReport: 1}}},
			&rtcp.Goodbye{Sources: []uint32{1}},
		},
	)
	f.Add(good)
	f.Add([]byte{0x9F, 201, 0, 1, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		var far told
		h := heard{known: true, ssrc: 1}
		far.take(b, 2, &h, 70000, 5)
		if far.roundTrip < 0 || far.roundTrip >= roundTripMost {
			t.Fatal(far.roundTrip)
		}
	})
}
