package media

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"testing"

	"github.com/pion/rtp"
	"github.com/pion/sdp/v3"

	"dialler/engine"
	"dialler/media/g711"
)

var netipNone netip.AddrPort

func TestG711(t *testing.T) {
	// Corner values of the tables of ITU-T G.711.
	for code, want := range map[byte]int16{0x00: -32124, 0x80: 32124, 0xFF: 0, 0x7F: 0, 0xFE: 8, 0x7E: -8, 0xF0: 120, 0xEF: 132} {
		if ulawToPCM[code] != want {
			t.Errorf("μ-law %#x is %d, want %d", code, ulawToPCM[code], want)
		}
	}
	for code, want := range map[byte]int16{0xD5: 8, 0x55: -8, 0xAA: 32256, 0x2A: -32256, 0xD4: 24, 0xC5: 264, 0x45: -264} {
		if alawToPCM[code] != want {
			t.Errorf("A-law %#x is %d, want %d", code, alawToPCM[code], want)
		}
	}
	for i := range 256 {
		if b := byte(i); b != 0x7F && g711.ToUlaw(ulawToPCM[b]) != b {
			t.Errorf("μ-law %#x does not come back", b)
		}
		if b := byte(i); g711.ToAlaw(alawToPCM[b]) != b {
			t.Errorf("A-law %#x does not come back", b)
		}
	}
	for s := -32768; s <= 32767; s++ { // the nearest code is chosen, within half a step
		near := func(got int16, step int) bool { d := int(got) - s; return d <= step && d >= -step }
		if got := g711.FromUlaw(g711.ToUlaw(int16(s))); !near(got, max(4, (abs(s)+132)/32+1)) && abs(s) < 32124 {
			t.Fatalf("μ-law of %d is %d", s, got)
		}
		if got := g711.FromAlaw(g711.ToAlaw(int16(s))); !near(got, max(8, abs(s)/32+1)) && abs(s) < 32256 {
			t.Fatalf("A-law of %d is %d", s, got)
		}
	}
}

func abs(i int) int { return max(i, -i) }

func TestTheOfferIsSDP(t *testing.T) {
	var d sdp.SessionDescription
	if err := d.Unmarshal(appendOffer(nil, "192.0.2.1", 4000, 77, nil)); err != nil {
		t.Fatal(err)
	}
	m := d.MediaDescriptions[0]
	if m.MediaName.Port.Value != 4000 || len(m.MediaName.Formats) != 3 || d.ConnectionInformation.Address.Address != "192.0.2.1" {
		t.Fatalf("%+v", m.MediaName)
	}
	if c, err := d.GetCodecForPayloadType(101); err != nil || c.Name != "telephone-event" {
		t.Fatalf("%v %v", c, err)
	}
}

func TestAnswers(t *testing.T) {
	const head = "v=0\r\no=- 1 1 IN IP4 10.0.0.1\r\ns=-\r\n"
	f := func(name, s string, check func(answer) bool) {
		t.Helper()
		a, err := parseAnswer([]byte(s))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !check(a) {
			t.Fatalf("%s: %+v", name, a.remote)
		}
	}
	both := func(a answer) bool { return a.heSends && a.heListens }
	f("static types without rtpmap", head+"c=IN IP4 10.0.0.2\r\nt=0 0\r\nm=audio 4000 RTP/AVP 8 0\r\n", func(a answer) bool {
		return both(a) && a.send == codecAlaw && a.sendPT == 8 && a.codecs[0] == codecUlaw && a.events == -1 && a.remote.String() == "10.0.0.2:4000"
	})
	f("address of the media, LF alone", "v=0\nc=IN IP4 10.0.0.2\nm=audio 4000 RTP/AVP 0\nc=IN IP4 10.0.0.3/127\n", func(a answer) bool { return a.remote.String() == "10.0.0.3:4000" })
	f("telephone-event and comfort noise", head+"c=IN IP4 10.0.0.2\r\nm=audio 4000 RTP/AVP 13 0 97\r\na=rtpmap:13 CN/8000\r\na=rtpmap:97 telephone-event/8000\r\n", func(a answer) bool {
		return a.send == codecUlaw && a.events == 97 && a.codecs[13] == codecNone
	})
	f("telephone-event without rtpmap", head+"c=IN IP4 10.0.0.2\r\nm=audio 4000 RTP/AVP 0 101\r\n", func(a answer) bool { return a.events == 101 })
	f("dynamic type, other case", head+"c=IN IP4 10.0.0.2\r\nm=audio 4000 RTP/AVP 96\r\na=rtpmap:96 pcma/8000/1\r\n", func(a answer) bool { return a.sendPT == 96 && a.send == codecAlaw })
	f("a codec that we do not have comes first", head+"c=IN IP4 10.0.0.2\r\nm=audio 4000 RTP/AVP 18 8\r\n", func(a answer) bool { return a.sendPT == 8 })
	f("video comes first", head+"c=IN IP4 10.0.0.2\r\nm=video 0 RTP/AVP 31\r\na=inactive\r\nm=audio 4000 RTP/AVP 0\r\na=sendonly\r\n", func(a answer) bool { return a.heSends && !a.heListens })
	f("inactive for the session", head+"c=IN IP4 10.0.0.2\r\na=inactive\r\nm=audio 4000 RTP/AVP 0\r\n", func(a answer) bool { return !a.heSends && !a.heListens })
	f("hold of RFC 2543", head+"c=IN IP4 0.0.0.0\r\nm=audio 4000 RTP/AVP 0\r\n", func(a answer) bool { return !a.heSends && !a.heListens })
	f("ssrc", head+"c=IN IP4 10.0.0.2\r\nm=audio 4000 RTP/AVP 0\r\na=ssrc:4000000000 cname:x\r\n", func(a answer) bool { return a.hasSSRC && a.ssrc == 4000000000 })
	for _, bad := range []string{
		"", "v=0", head, head + "c=IN IP4 10.0.0.2\r\nm=video 4000 RTP/AVP 31\r\n", head + "c=IN IP4 10.0.0.2\r\nm=audio 0 RTP/AVP 0\r\n",
		head + "c=IN IP4 10.0.0.2\r\nm=audio 4000 RTP/AVP 18\r\n", head + "m=audio 4000 RTP/AVP 0\r\n", head + "c=IN IP6 ::1\r\nm=audio 4000 RTP/AVP 0\r\n",
		head + "c=IN IP4 10.0.0.2\r\nm=audio 70000 RTP/AVP 0\r\n", head + "c=IN IP4 10.0.0.2\r\nm=audio 4000 UDP/TLS/RTP/SAVP 0\r\n", head + "c=IN IP4 224.0.0.1\r\nm=audio 4000 RTP/AVP 0\r\n",
	} {
		if _, err := parseAnswer([]byte(bad)); err == nil {
			t.Errorf("accepted %q", bad)
		}
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add([]byte("v=0\r\nc=IN IP4 10.0.0.2\r\nm=audio 4000 RTP/AVP 0 101\r\na=rtpmap:101 telephone-event/8000\r\na=ssrc:1 x\r\n"))
	f.Add(appendOffer(nil, "192.0.2.1", 4000, 77, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := parseAnswer(b)
		if err == nil && (a.remote.Port() == 0 || !a.remote.Addr().Is4() || a.send == codecNone || a.codecs[a.sendPT] != a.send) {
			t.Fatalf("unusable answer accepted: %+v", a.remote)
		}
	})
}

func TestAWindowThatBecomesSmallerLetsWhatIsHeldGo(t *testing.T) {
	var r reorder
	var got []uint32
	put := func(seq uint16, most int) {
		r.most = most
		r.put(seq, uint32(seq), 0, []byte{1}, func(ts uint32, _ uint8, _ []byte) { got = append(got, ts) })
	}
	put(10, 3)
	put(13, 3) // waits for 11 and 12
	put(12, 1) // in longer packets: one at most may wait now
	if !slices.Equal(got, []uint32{10, 12, 13}) || r.lost != 1 || r.holding != 0 {
		t.Fatalf("%v, %d lost, %d held", got, r.lost, r.holding)
	}
}

func TestReorder(t *testing.T) {
	f := func(in, want []uint16, lost, late uint64) {
		t.Helper()
		var r reorder
		var got []uint16
		for _, seq := range in {
			r.put(seq, uint32(seq), 0, []byte{1}, func(ts uint32, _ uint8, _ []byte) { got = append(got, uint16(ts)) })
		}
		r.flush(func(ts uint32, _ uint8, _ []byte) { got = append(got, uint16(ts)) })
		if len(got) != len(want) {
			t.Fatalf("%v gives %v", in, got)
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("%v gives %v", in, got)
			}
		}
		if r.lost != lost || r.late != late || r.holding != 0 {
			t.Fatalf("%v: lost %d, late %d", in, r.lost, r.late)
		}
	}
	type s = []uint16
	f(s{1, 2, 3}, s{1, 2, 3}, 0, 0)
	f(s{65534, 0, 65535, 1}, s{65534, 65535, 0, 1}, 0, 0)
	f(s{1, 3, 2, 5, 4}, s{1, 2, 3, 4, 5}, 0, 0)
	f(s{1, 4, 3, 2}, s{1, 2, 3, 4}, 0, 0)
	f(s{1, 3, 4, 5, 6, 2}, s{1, 3, 4, 5, 6}, 1, 1)
	f(s{1, 1, 2, 2}, s{1, 2}, 0, 2)
	f(s{1, 3, 3, 2}, s{1, 2, 3}, 0, 1)
	f(s{1, 50, 51}, s{1, 50, 51}, 48, 0)
	f(s{1, 3}, s{1, 3}, 1, 0)
	f(s{1, 9000, 9001, 9002}, s{1, 9001, 9002}, 0, 0) // a restart needs two in a row
	f(s{1, 9000, 2, 3}, s{1, 2, 3}, 0, 0)
}

func TestTheReorderingWindowFollowsTheNetwork(t *testing.T) {
	var r reorder
	seq := uint16(0)
	put := func(s uint16) { r.put(s, 0, 0, []byte{1}, func(uint32, uint8, []byte) {}) }
	lose := func(times int) {
		for range times { // one lost, ten that come
			seq++
			for range 10 {
				put(seq)
				seq++
			}
		}
	}
	put(65535)
	if lose(2); r.window() != reorderWindow {
		t.Fatalf("a window of %d after a few losses", r.window())
	}
	if lose(3 * futileWaits); r.window() != 1 {
		t.Fatalf("a window of %d where what is lost never comes", r.window())
	}
	lost := r.lost
	for range 20 { // each second packet a place later than it should
		for _, s := range []uint16{0, 3, 4, 2, 1, 5} {
			put(seq + s)
		}
		seq += 6
	}
	if r.window() != reorderWindow || r.lost-lost > 8 {
		t.Fatalf("a window of %d where they come late, %d given up", r.window(), r.lost-lost)
	}
}

func TestEventsOfRFC4733(t *testing.T) {
	var d dtmf
	f := func(ts uint32, event, flags byte, duration uint16, want byte) {
		t.Helper()
		got, ok := d.packet(ts, []byte{event, flags, byte(duration >> 8), byte(duration)})
		if ok != (want != 0) || got != want {
			t.Fatalf("digit %q, want %q", got, want)
		}
	}
	f(1000, 5, 0, 160, '5')
	f(1000, 5, 0, 320, 0)
	f(1000, 5, 0x80, 480, 0)
	f(1000, 5, 0x80, 480, 0)
	f(3000, 5, 0x80, 480, '5') // only its end arrived
	f(1000, 5, 0x80, 480, 0)   // late
	f(9000, 15, 0, 0xFFFF, 'D')
	f(9000+0xFFFF, 15, 0, 160, 0) // the next segment of a long tone
	f(200000, 16, 0, 160, 0)      // flash is no digit
	f(300000, 10, 0, 160, '*')
	if _, ok := d.packet(400000, []byte{1, 2}); ok {
		t.Fatal("a short packet was taken")
	}
}

func benchCall(b testing.TB) *call {
	e := &Engine{}
	c := &call{e: e, answered: true, ans: answer{events: 101, eventsIn: -1, send: codecUlaw, heSends: true, heListens: true}, dest: addr(4000)}
	c.ans.codecs[0] = codecUlaw
	e.cfg.RTPTimeout = 1 << 40
	_ = b
	return c
}

// incoming is a stream of packets without a loss.
type incoming struct {
	buf [sendCap]byte
	seq uint16
	pkt rtp.Packet // scratch of the receiver
	now int64
}

func newIncoming() *incoming {
	in := &incoming{}
	in.buf[0] = 0x80
	return in
}

func (in *incoming) next() []byte {
	in.seq++
	in.now += 20 * millis
	binary.BigEndian.PutUint16(in.buf[2:], in.seq)
	binary.BigEndian.PutUint32(in.buf[4:], uint32(in.now/millis)*8)
	return in.buf[:sendBytes]
}

func BenchmarkReceivePacket(b *testing.B) {
	c := benchCall(b)
	in := newIncoming()
	b.ReportAllocs()
	for b.Loop() {
		c.receive(in.next(), &in.pkt, netipNone, false, nil, in.now)
	}
}

func BenchmarkTick(b *testing.B) {
	c := benchCall(b)
	w := newWriter(batchSize)
	b.ReportAllocs()
	for b.Loop() {
		w.n = 0
		c.lastAudio, c.lastSign, c.tsKnown = 1, 1, true
		c.tick(w, 1)
	}
}

func BenchmarkRoute(b *testing.B) {
	w := newWorld()
	for i := range 50 {
		c := w.open(uint32(i), addr(1000+i), addr(1000+i))
		w.answer(c)
		w.say(c)
	}
	b.ReportAllocs()
	for b.Loop() {
		w.say(w.calls[7])
	}
}

func TestPacketsDoNotAllocate(t *testing.T) {
	c := benchCall(t)
	w := newWriter(batchSize)
	in := newIncoming()
	if n := testing.AllocsPerRun(1000, func() {
		c.receive(in.next(), &in.pkt, netipNone, false, nil, in.now)
		w.n = 0
		c.tick(w, in.now)
	}); n != 0 {
		t.Fatalf("%v allocations per packet", n)
	}
}

func BenchmarkOpen(b *testing.B) {
	e, err := New(Config{Host: "127.0.0.1", Sockets: 4})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	b.ReportAllocs()
	for b.Loop() {
		_, _ = e.Open(engine.OpenMedia{Attempt: attempt(1)}, nil)
		e.CloseMedia(attempt(1))
	}
}
