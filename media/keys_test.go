package media

import (
	"encoding/binary"
	"testing"
	"time"

	"dialler/engine"
	"dialler/media/codec"
)

func TestKeysAreSentAsRFC4733Says(t *testing.T) {
	e, ev := start(t, nil), record(t)
	p := newPhone(t, 4)
	offer, _ := e.Open(engine.OpenMedia{Attempt: attempt(1)}, ev.sink)
	if _, err := e.SendDigits(attempt(1), "1"); err == nil {
		t.Fatal("keys were taken before the answer")
	}
	e.Answer(attempt(1), p.called(offer, "0 97", "a=rtpmap:97 telephone-event/8000"), time.Now())
	p.say(0, speech(160, 1))
	before := p.hear()
	for _, bad := range []string{"", "1 2", "E", "x"} {
		if bySIP, err := e.SendDigits(attempt(1), bad); err == nil || bySIP {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if bySIP, err := e.SendDigits(attempt(1), "5d"); err != nil || bySIP {
		t.Fatal(bySIP, err)
	}
	var heard dtmf
	got, ends, events := "", 0, 0
	seq, ts := before.SequenceNumber, uint32(0)
	var duration uint16
	for got != "5D" || ends < 6 {
		pkt := p.hear()
		if seq++; pkt.SequenceNumber != seq {
			t.Fatalf("sequence number %d after %d", pkt.SequenceNumber, seq-1)
		}
		if pkt.PayloadType != 97 {
			continue
		}
		events++
		if digit, ok := heard.packet(pkt.Timestamp, pkt.Payload); ok {
			got += string(digit)
			if !pkt.Marker || pkt.Timestamp == ts {
				t.Errorf("the first packet of %q has marker %v, timestamp %d after %d", digit, pkt.Marker, pkt.Timestamp, ts)
			}
			if ts != 0 && pkt.Timestamp-ts != keyTicks*codec.FrameBytes {
				t.Errorf("%d from tone to tone", pkt.Timestamp-ts)
			}
			ts, duration = pkt.Timestamp, 0
		} else if pkt.Marker || pkt.Timestamp != ts {
			t.Errorf("a later packet has marker %v, timestamp %d in place of %d", pkt.Marker, pkt.Timestamp, ts)
		}
		d := binary.BigEndian.Uint16(pkt.Payload[2:])
		if pkt.Payload[1]&0x80 != 0 {
			if ends++; d != toneTicks*codec.FrameBytes {
				t.Errorf("the end says %d", d)
			}
		} else if d <= duration {
			t.Errorf("a duration of %d after %d", d, duration)
		}
		duration = d
	}
	if got != "5D" || ends != 6 || events != 2*endTicks {
		t.Errorf("%q with %d ends in %d packets", got, ends, events)
	}
}

func TestKeysGoByINFOWhereTheFarSideOrTheTrunkWantsIt(t *testing.T) {
	e, ev := start(t, nil), record(t)
	p := newPhone(t, 4)
	offer, _ := e.Open(engine.OpenMedia{Attempt: attempt(1)}, ev.sink)
	e.Answer(attempt(1), p.called(offer, "0"), time.Now())
	offer, _ = e.Open(engine.OpenMedia{Attempt: attempt(2), Profile: engine.MediaProfile{DTMF: engine.DTMFByINFO}},
		ev.sink)
	e.Answer(attempt(2), p.called(offer, "0 101"), time.Now())
	for i := 1; i <= 2; i++ {
		if bySIP, err := e.SendDigits(attempt(i), "1"); !bySIP || err != nil {
			t.Errorf("call %d: %v", i, err)
		}
	}
}

func TestOurPacketsAreAsLongAsTheAnswerAsks(t *testing.T) {
	for ask, want := range map[string]int{
		"a=ptime:10": 10, "a=ptime:30": 30, "a=ptime:40": 40, "a=ptime:60": 60, "a=ptime:25": 20, "a=ptime:200": 20,
		"a=maxptime:10": 10,
	} {
		e, ev := start(t, nil), record(t)
		p := newPhone(t, 4)
		offer, _ := e.Open(engine.OpenMedia{Attempt: attempt(1)}, ev.sink)
		e.Answer(attempt(1), p.called(offer, "0 101", ask), time.Now())
		p.say(0, speech(160, 1))
		first := p.streams(e, 1)
		for i := range 6 {
			pkt := p.hear()
			if len(pkt.Payload) != 8*want || pkt.SequenceNumber != first.SequenceNumber+uint16(i)+1 {
				t.Fatalf("%s: %d bytes, number %d after %d", ask, len(pkt.Payload), pkt.SequenceNumber, first.SequenceNumber)
			}
			if i == 5 && int(pkt.Timestamp-first.Timestamp)%(8*want) != 0 {
				t.Errorf("%s: %d from packet to packet", ask, pkt.Timestamp-first.Timestamp)
			}
		}
		e.CloseMedia(attempt(1))
	}
}

func TestACallWhoseStreamIsSwitchedOffGoesOnAfterwards(t *testing.T) {
	e := start(t, func(c *Config) { c.RTPTimeout = 150 * time.Millisecond })
	ev, p := record(t), newPhone(t, 4)
	offer, _ := e.Open(engine.OpenMedia{Attempt: attempt(1)}, ev.sink)
	e.Answer(attempt(1), p.called(offer, "0 101"), time.Now())
	p.say(0, speech(160, 1))
	p.hear()
	off, err := e.Reoffer(attempt(1), "", []byte("v=0\r\no=- 1 2 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 "+
		"0\r\nm=audio 0 RTP/AVP 0\r\n"))
	if err != nil || offPort(off) != "0" {
		t.Fatalf("%s %v", off, err)
	}
	c := e.call(attempt(1))
	ticks := func() int {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.ticks
	}
	from := ticks()
	wait(t, func() bool { return ticks() > from+15 }, nil) // 300 ms, two timeouts
	ev.none()
	// Back again with another codec and another source.
	e.Reanswer(attempt(1), "", sdpAnswer(p.port(), "8 101"))
	p.ssrc, p.seq, p.ts = 5, 9, 1<<31
	for range 5 { // the first packets of a new source are on probation
		p.say(8, speech(160, 2))
	}
	wait(t, func() bool { return e.Stats().PacketsReceived >= 3 }, nil)
	for p.hear().PayloadType != 8 {
	}
	if q := e.CloseMedia(attempt(1)); q.PacketsLost != 0 || q.Codec != "PCMA" {
		t.Errorf("%+v", q)
	}
}

func offPort(sdp []byte) string {
	for _, s := range sectionsOf(sdp) {
		if s.kind == "audio" {
			return string(sdp[indexAfter(sdp, "m=audio ")])
		}
	}
	return ""
}

func indexAfter(b []byte, s string) int {
	for i := range b {
		if i >= len(s) && string(b[i-len(s):i]) == s {
			return i
		}
	}
	return 0
}
