package media

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"time"

	"dialler/media/jitter"
)

// RTCP (RFC 3550 §6): the reports that we send and those that we receive.

const (
	rtcpSR, rtcpRR, rtcpSDES, rtcpBye = 200, 201, 202, 203

	// reportEvery is the minimum interval of a session of two (§6.2); it is varied by half either
	// way and divided by e − 1.5 (§6.3.1).
	reportEvery   = 5 * time.Second
	reconsider    = 1.21828
	reportCap     = 128
	reportRoom    = reportCap + 32 // with the index and tag of SRTCP
	ntpEpoch      = 2208988800     // seconds from 1900 to 1970
	roundTripMost = 10 * time.Second
)

// heard counts the packets of the source that is heard (appendix A.1 and A.3).
type heard struct {
	known         bool
	ssrc          uint32
	first, newest uint32 // extended sequence numbers
	received      uint32
	// At the last report.
	expectedThen, receivedThen uint32
	// The last sender report: the middle 32 bits of its timestamp, and its arrival time.
	sr   uint32
	srAt int64
}

// count counts a packet.
func (h *heard) count(ssrc uint32, seq uint16) {
	step := int16(seq - uint16(h.newest)) //nolint:gosec // RFC 1982 arithmetic
	if !h.known || ssrc != h.ssrc || step > jitter.RestartGap || step < -jitter.RestartGap {
		*h = heard{known: true, ssrc: ssrc, first: 1<<16 | uint32(seq), newest: 1<<16 | uint32(seq), received: 1, sr: h.sr,
			srAt: h.srAt}
		return
	}
	h.received++
	if step > 0 {
		h.newest += uint32(step)
	}
}

// block writes a report block (§6.4.1).
func (h *heard) block(b []byte, jitter float64, now int64) []byte {
	expected := h.newest - h.first + 1
	interval, got := expected-h.expectedThen, h.received-h.receivedThen
	h.expectedThen, h.receivedThen = expected, h.received
	var fraction uint32
	if interval > got {
		fraction = min((interval-got)<<8/interval, 255)
	}
	lost := min(max(int64(expected)-int64(h.received), -1<<23), 1<<23-1)
	b = binary.BigEndian.AppendUint32(b, h.ssrc)
	b = binary.BigEndian.AppendUint32(b, fraction<<24|uint32(lost)&0xFFFFFF) //nolint:gosec // 24 bits of two's complement
	b = binary.BigEndian.AppendUint32(b, h.newest-1<<16)
	b = binary.BigEndian.AppendUint32(b, uint32(jitter))
	b = binary.BigEndian.AppendUint32(b, h.sr)
	var since uint32
	if h.sr != 0 {
		since = uint32((now - h.srAt) * 65536 / int64(time.Second)) //nolint:gosec // wraps after hours
	}
	return binary.BigEndian.AppendUint32(b, since)
}

// told is what the far side's reports say of our stream.
type told struct {
	reports   uint64
	lost      int32         // packets, since it began
	worst     uint8         // the greatest fraction lost, of 256
	jitter    uint32        // timestamp units
	roundTrip time.Duration // 0: not known
}

// take reads a compound packet; ntp is its arrival time, the middle 32 bits. Reading stops at the
// first malformed packet.
func (t *told) take(b []byte, ours uint32, h *heard, ntp uint32, now int64) {
	for len(b) >= 8 && b[0]>>6 == 2 {
		size := 4 * (int(binary.BigEndian.Uint16(b[2:])) + 1)
		if size > len(b) || size < 8 {
			return
		}
		p := b[:size]
		b = b[size:]
		blocks := 8
		switch p[1] {
		case rtcpSR:
			if size < 28 {
				return
			}
			blocks = 28
			if h.known && binary.BigEndian.Uint32(p[4:]) == h.ssrc {
				h.sr, h.srAt = binary.BigEndian.Uint32(p[10:]), now
			}
		case rtcpRR:
		default:
			continue
		}
		for i := range int(p[0] & 31) {
			at := blocks + 24*i
			if at+24 > size {
				return
			}
			if binary.BigEndian.Uint32(p[at:]) == ours {
				t.block(p[at:at+24], ntp)
			}
		}
	}
}

func (t *told) block(b []byte, ntp uint32) {
	t.reports++
	t.worst = max(t.worst, b[4])
	t.lost = int32(binary.BigEndian.Uint32(b[4:])<<8) >> 8 //nolint:gosec // 24 bits of two's complement
	t.jitter = binary.BigEndian.Uint32(b[12:])
	lsr, dlsr := binary.BigEndian.Uint32(b[16:]), binary.BigEndian.Uint32(b[20:])
	if lsr == 0 {
		return
	}
	if rtt := time.Duration(ntp-lsr-dlsr) * time.Second / 65536; rtt < roundTripMost { // else it wrapped below zero
		t.roundTrip = rtt
	}
}

// ntpTime converts a time to NTP format: seconds since 1900, and 2^-32 of them.
func ntpTime(t time.Time) uint64 {
	return uint64(t.Unix()+ntpEpoch)<<32 | uint64(t.Nanosecond())<<32/uint64(time.Second) //nolint:gosec // after 1900
}

// untilReport is the time until the next report.
func untilReport() int64 {
	return int64(float64(reportEvery) * (0.5 + rand.Float64()) / reconsider) //nolint:gosec // a spread, no secret
}

// appendReport writes SR or RR, SDES with the CNAME, and BYE at the end of the
// call; mu is held.
func (c *call) appendReport(b []byte, at time.Time, now int64, bye bool) []byte {
	first := len(b)
	kind := byte(rtcpRR)
	if c.sent > c.reported {
		kind = rtcpSR
	}
	c.reported = c.sent
	b = append(b, 2<<6, kind, 0, 0)
	b = binary.BigEndian.AppendUint32(b, c.ssrc)
	if kind == rtcpSR {
		b = binary.BigEndian.AppendUint64(b, ntpTime(at))
		b = binary.BigEndian.AppendUint32(b, c.ts)
		b = binary.BigEndian.AppendUint32(b, uint32(c.sent))   //nolint:gosec // wraps (§6.4.1)
		b = binary.BigEndian.AppendUint32(b, uint32(c.octets)) //nolint:gosec // wraps
	}
	if c.heard.known {
		b[first]++
		b = c.heard.block(b, c.jitter, now)
	}
	b = sized(b, first)

	first = len(b)
	b = append(b, 2<<6|1, rtcpSDES, 0, 0)
	b = binary.BigEndian.AppendUint32(b, c.ssrc)
	b = append(b, 1, byte(len(c.e.cname))) //nolint:gosec // it is made short
	b = append(append(b, c.e.cname...), 0)
	for (len(b)-first)%4 != 0 {
		b = append(b, 0)
	}
	b = sized(b, first)
	if bye {
		first = len(b)
		b = append(b, 2<<6|1, rtcpBye, 0, 0)
		b = sized(binary.BigEndian.AppendUint32(b, c.ssrc), first)
	}
	return b
}

// sized fills in the length of the packet that begins at first.
func sized(b []byte, first int) []byte {
	binary.BigEndian.PutUint16(b[first+2:], uint16((len(b)-first)/4-1)) //nolint:gosec // short
	return b
}

// reporting returns the report that is due and its destination; nil means none is due. mu is held.
func (c *call) reporting(now int64, bye bool) (b []byte, to netip.AddrPort) {
	if !c.answered || !c.ans.RTCP.IsValid() || c.ans.RTCP.Addr().IsUnspecified() {
		return nil, to
	}
	b = c.appendReport(make([]byte, 0, reportRoom), time.Now(), now, bye)
	if c.secure != nil {
		b = c.secure.SealReport(b)
	}
	switch {
	case c.ans.Mux:
		return b, c.dest
	case c.dest == c.ans.Remote:
	case c.reporter.Addr() == c.dest.Addr(): // latched
		return b, c.reporter
	case c.dest.Port() < 65535:
		return b, netip.AddrPortFrom(c.dest.Addr(), c.dest.Port()+1)
	}
	return b, c.ans.RTCP
}

// reportDue sends the report that is due at a tick; mu is held, and released meanwhile.
func (c *call) reportDue(now int64, bye bool) {
	c.nextReport = now + untilReport()
	b, to := c.reporting(now, bye)
	mux := c.ans.Mux
	c.mu.Unlock()
	c.sock.report(b, to, mux)
	c.mu.Lock()
}

// report sends a report from the RTCP port, or with mux from the RTP port (RFC 5761).
func (s *socket) report(b []byte, to netip.AddrPort, mux bool) {
	if len(b) == 0 {
		return
	}
	l := s.rtcp.Load()
	if mux {
		l = s.rtp.Load()
	}
	if l == nil {
		return
	}
	if _, err := l.conn.WriteToUDPAddrPort(b, to); err != nil {
		s.e.counters.sendErrors.Add(1)
		return
	}
	s.e.counters.rtcpSent.Add(1)
}
