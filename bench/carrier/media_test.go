package carrier

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"dialler/bench/carrier/media"
	"dialler/bench/draw"
	"dialler/bench/ports"
	"dialler/bench/voice"
)

// phone is the caller's RTP side.
type phone struct {
	t    testing.TB
	conn *net.UDPConn
	to   netip.AddrPort
	seq  uint16
	ssrc uint32
}

func newPhone(t testing.TB) *phone {
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &phone{t: t, conn: conn, ssrc: 77}
}

func (p *phone) port() int { return p.conn.LocalAddr().(*net.UDPAddr).Port }

func (p *phone) offer() string { return fmt.Sprintf(sdpTemplate, p.port()) }

// target takes the carrier's address from its SDP.
func (p *phone) target(sdpText string) {
	p.t.Helper()
	_, rest, ok := strings.Cut(sdpText, "m=audio ")
	text, _, _ := strings.Cut(rest, " ")
	port, err := strconv.Atoi(text)
	if !ok || err != nil || port == 0 || port%2 != 0 {
		p.t.Fatalf("no even RTP port in %q", sdpText)
	}
	p.to = netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(port))
}

// rtpPacket is a received packet, decoded by hand.
type rtpPacket struct {
	marker  bool
	pt      byte
	seq     uint16
	ts      uint32
	payload []byte
}

func (p *phone) next() rtpPacket {
	p.t.Helper()
	buf := make([]byte, 2048)
	_ = p.conn.SetReadDeadline(time.Now().Add(patience))
	n, err := p.conn.Read(buf)
	if err != nil || n < 12 || buf[0] != 0x80 {
		p.t.Fatalf("no RTP: %d bytes, %v", n, err)
	}
	return rtpPacket{
		buf[1]&0x80 != 0, buf[1] & 0x7f, binary.BigEndian.Uint16(buf[2:]),
		binary.BigEndian.Uint32(buf[4:]), bytes.Clone(buf[12:n]),
	}
}

func (p *phone) send(payload []byte) {
	b := make([]byte, 12, 12+len(payload))
	b[0] = 0x80
	binary.BigEndian.PutUint16(b[2:], p.seq)
	binary.BigEndian.PutUint32(b[4:], uint32(p.seq)*voice.FrameSamples)
	binary.BigEndian.PutUint32(b[8:], p.ssrc)
	p.seq++
	if _, err := p.conn.WriteToUDPAddrPort(append(b, payload...), p.to); err != nil {
		p.t.Fatal(err)
	}
}

// call sets up an answered call with media.
func (p *phone) call(u *uac) *leg {
	l := u.leg(number)
	l.sdp = p.offer()
	l.established()
	p.target(l.answer.body)
	return l
}

func TestHumanSaysHelloAndListens(t *testing.T) {
	c := start(t, Config{Media: true, Script: script(number, Behaviour{Kind: Human})})
	p := newPhone(t)
	l := p.call(newUAC(t, c))
	var loud, first, last int
	var before rtpPacket
	const frames = 130 // 2.6 s
	for i := range frames {
		r := p.next()
		if r.pt != 0 || len(r.payload) != voice.FrameSamples || r.marker != (i == 0) {
			t.Fatalf("packet %d: pt %d, %d bytes, marker %v", i, r.pt, len(r.payload), r.marker)
		}
		if i > 0 && (r.seq != before.seq+1 || r.ts != before.ts+voice.FrameSamples) {
			t.Fatalf("packet %d: %d/%d after %d/%d", i, r.seq, r.ts, before.seq, before.ts)
		}
		before = r
		if voice.PCMU.Level(r.payload) > media.Audible {
			if loud == 0 {
				first = i
			}
			loud++
			last = i
		}
	}
	if length := (last - first + 1) * 20; length < 500 || length > 1300 || loud < 20 {
		t.Fatalf("the hello lasts %d ms with %d loud frames", length, loud)
	}
	l.bye()
	l.expect(200)
	if row := l.row(); row.RTP.Sent < frames {
		t.Fatalf("row: %+v", row.RTP)
	}
}

func TestChattererSpeaksTheWholeCall(t *testing.T) {
	c := start(t, Config{Media: true, Script: script(number,
		Behaviour{Kind: Human, Chatter: draw.Exactly(200 * time.Millisecond)})})
	p := newPhone(t)
	l := p.call(newUAC(t, c))
	var loud []int // per second
	for i := range 200 {
		if i%50 == 0 {
			loud = append(loud, 0)
		}
		if voice.PCMU.Level(p.next().payload) > media.Audible {
			loud[len(loud)-1]++
		}
	}
	// The hello takes at most two seconds including the silence around it.
	if loud[3] < 45 {
		t.Fatalf("loud frames of each second: %v", loud)
	}
	l.bye()
	l.expect(200)
}

func TestMachineGreetsAndBeepsWhenTheLedgerSays(t *testing.T) {
	c := start(t, Config{Media: true, Script: script(number, Behaviour{Kind: Machine})})
	p := newPhone(t)
	l := p.call(newUAC(t, c))
	row := l.row()
	if after := row.BeepAt.Sub(row.AnsweredAt); after < 4*time.Second || after > 10*time.Second {
		t.Fatalf("beep after %v", after)
	}
	// The clip is known to be right (package voice); here it is enough that speech lasts longer
	// than a person's hello.
	loud, last := 0, 0
	for i := range 150 {
		if voice.PCMU.Level(p.next().payload) > media.Audible {
			loud++
			last = i
		}
	}
	if loud < 70 || last < 120 {
		t.Fatalf("%d loud frames, the last at %d", loud, last)
	}
}

func TestRTPIsCountedByWhereItComesFrom(t *testing.T) {
	c := start(t, Config{Media: true, Codecs: []string{"PCMU"}, Script: script(number, Behaviour{Kind: Quiet})})
	p := newPhone(t)
	l := p.call(newUAC(t, c))
	silence := bytes.Repeat([]byte{0xf8}, voice.FrameSamples) // line noise
	for range 3 {
		p.send(silence)
	}
	until(t, c, "three packets are in", func(g Ledger) bool { return l.row().RTP.Received == 3 })
	if !l.row().RTP.AudioAt.IsZero() {
		t.Fatal("silence was heard")
	}
	p.seq += 2 // two are lost
	p.send(bytes.Repeat([]byte{0x80, 0x00}, voice.FrameSamples/2))
	stranger := newPhone(t)
	stranger.to = p.to
	stranger.send(silence)
	until(t, c, "all packets are in", func(g Ledger) bool {
		r := l.row().RTP
		return r.Received == 4 && r.Strange == 1
	})
	p.send(silence)
	until(t, c, "the last packet is in", func(g Ledger) bool { return l.row().RTP.Received == 5 })
	if r := l.row().RTP; r.Lost != 2 || r.AudioAt.IsZero() || !r.FirstAt.Before(r.AudioAt) || r.LastAudioAt != r.AudioAt ||
		!r.LastAt.After(r.AudioAt) {
		t.Fatalf("counts: %+v", r)
	}
	l.bye()
	l.expect(200)
	if s := c.Ledger().Summary(); s.RTPReceived != 5 || s.RTPStrange != 1 {
		t.Fatalf("summary: %+v", s)
	}
}

func TestDigitsAreSentAsTelephoneEvents(t *testing.T) {
	c := start(t, Config{Media: true, Script: script(number,
		Behaviour{Kind: Quiet, Digits: "1#", Press: draw.Exactly(40 * time.Millisecond)})})
	p := newPhone(t)
	l := p.call(newUAC(t, c))
	type event struct {
		number                byte
		ends, packets, marked int
		duration              uint16
	}
	var got []event
	stamp := uint32(0)
	for len(got) < 2 || got[1].ends < 3 {
		r := p.next()
		if r.pt != 101 {
			continue
		}
		if len(got) == 0 || r.ts != stamp {
			got = append(got, event{number: r.payload[0]})
			stamp = r.ts
		}
		e := &got[len(got)-1]
		e.packets++
		e.duration = max(e.duration, binary.BigEndian.Uint16(r.payload[2:]))
		if r.marker {
			e.marked++
		}
		if r.payload[1]&0x80 != 0 {
			e.ends++
		}
	}
	for i, want := range []byte{1, 11} {
		if e := got[i]; e.number != want || e.ends != 3 || e.packets != 8 || e.duration != 800 || e.marked != 1 {
			t.Fatalf("event %d: %+v", i, e)
		}
	}
	l.bye()
	l.u.skipTo("200", func(r *reply) bool { return r.code == 200 })
}

func TestEarlyMediaIsHeardBeforeTheAnswer(t *testing.T) {
	c := start(t, Config{Media: true, Script: script(number, Behaviour{Kind: NoAnswer, Progress: EarlyMedia})})
	p := newPhone(t)
	l := newUAC(t, c).leg(number)
	l.sdp = p.offer()
	l.invite()
	l.expect(100)
	p.target(l.expect(183).body)
	for i := 0; ; i++ {
		if r := p.next(); voice.PCMU.Level(r.payload) > 1000 {
			break
		}
		if i > 300 {
			t.Fatal("no ringback tone")
		}
	}
	l.cancel()
	l.expect(200)
	l.expect(487)
	l.ack()
}

func TestCodecIsTheCallersFirstThatIsSpoken(t *testing.T) {
	f := func(codecs []string, offer string, want string, pt byte) {
		t.Helper()
		c := start(t, Config{Media: true, Codecs: codecs, Script: script(number, Behaviour{Kind: Quiet})})
		p := newPhone(t)
		l := newUAC(t, c).leg(number)
		l.sdp = strings.Replace(p.offer(), "RTP/AVP 0 8 101", "RTP/AVP "+offer, 1)
		l.invite()
		l.expect(100)
		l.expect(180)
		if want == "" {
			l.expect(488)
			l.ack()
			return
		}
		r := l.expect(200)
		l.ack()
		if !strings.Contains(r.body, "RTP/AVP "+want+" 101\r\n") {
			t.Fatalf("answer %q", r.body)
		}
		if got := p.next().pt; got != pt {
			t.Fatalf("payload type %d", got)
		}
	}
	f(nil, "0 8 101", "0", 0)
	f(nil, "8 0 101", "8", 8)
	f([]string{"PCMA"}, "0 8 101", "8", 8)
	f(nil, "9 18 8 101", "8", 8)
	f([]string{"PCMA"}, "0 101", "", 0)
	f(nil, "9 18", "", 0)
}

func TestMuteAndDeafAreOneWayAudio(t *testing.T) {
	c := start(t, Config{Media: true, Script: script(number, Behaviour{Kind: Human, Mute: true},
		Behaviour{Kind: Human, Deaf: true})})
	p := newPhone(t)
	u := newUAC(t, c)
	l := p.call(u)
	p.send(bytes.Repeat([]byte{0xff}, voice.FrameSamples))
	until(t, c, "the packet is in", func(Ledger) bool { return l.row().RTP.Received == 1 })
	l.bye()
	l.expect(200)
	if sent := l.row().RTP.Sent; sent != 0 {
		t.Fatalf("a mute callee sent %d packets", sent)
	}
	deaf := p.call(u)
	if !strings.Contains(deaf.answer.body, "a=sendonly") {
		t.Fatalf("answer %q", deaf.answer.body)
	}
	p.next()
}

func TestHoldByTheCalleeAndByTheCaller(t *testing.T) {
	c := start(t, Config{T1: fastT1, Media: true,
		Script: script(number, Behaviour{Kind: Quiet, Hold: draw.Exactly(30 * time.Millisecond)})})
	p := newPhone(t)
	l := p.call(newUAC(t, c))
	re := l.u.skipTo("re-INVITE", func(r *reply) bool { return r.method == "INVITE" })
	if !strings.Contains(re.body, "a=sendonly") {
		t.Fatalf("re-INVITE %q", re.body)
	}
	// While it is pending, one of ours is glare.
	l.u.send(l.request("INVITE", "z9hG4bKglare", l.to, "", p.offer(), 2))
	l.u.skipTo("491", func(r *reply) bool { return r.code == 491 })
	l.ok(re, strings.Replace(p.offer(), "a=ptime:20", "a=recvonly", 1))
	l.u.skipTo("ACK", func(r *reply) bool { return r.method == "ACK" })

	// Our hold: the callee stops sending, and resumes afterwards.
	hold := func(cseq int, direction, want string) {
		t.Helper()
		l.u.send(l.request("INVITE", "z9hG4bKhold"+direction, l.to, "", p.offer()+"a="+direction+"\r\n", cseq))
		r := l.u.skipTo("200", func(r *reply) bool { return r.code == 200 && r.get("CSeq") == fmt.Sprint(cseq, " INVITE") })
		if !strings.Contains(r.body, "a="+want) {
			t.Fatalf("answer to %s: %q", direction, r.body)
		}
		l.u.send(l.request("ACK", "z9hG4bKack"+direction, l.to, "", "", cseq))
	}
	hold(3, "sendonly", "recvonly")
	held := l.row().RTP.Sent
	hold(4, "inactive", "inactive")
	if now := l.row().RTP.Sent; now > held+1 {
		t.Fatalf("%d packets while held", now-held)
	}
	hold(5, "sendrecv", "sendrecv")
	until(t, c, "the audio is back", func(Ledger) bool { return l.row().RTP.Sent > held+3 })
	if row := l.row(); row.Reinvites != 3 || len(row.Violations) != 0 {
		t.Fatalf("row: %+v", row)
	}
}

func TestAHoldThatIsDueBeforeTheACKComesAfterIt(t *testing.T) {
	c := start(t, Config{T1: fastT1, Script: script(number, Behaviour{Kind: Human, Hold: draw.Exactly(time.Millisecond)})})
	l := newUAC(t, c).leg(number).invite()
	l.expect(100)
	l.expect(180)
	l.expect(200)
	l.repeated(200) // longer than the time to the hold
	l.ack()
	re := l.u.skipTo("re-INVITE", func(r *reply) bool { return r.method == "INVITE" })
	l.ok(re, l.sdp)
	l.u.skipTo("ACK", func(r *reply) bool { return r.method == "ACK" })
}

func TestOfferlessInvite(t *testing.T) {
	c := start(t, Config{Media: true, Script: script(number, Behaviour{Kind: Quiet})})
	p := newPhone(t)
	l := newUAC(t, c).leg(number)
	l.sdp = ""
	l.invite()
	l.expect(100)
	l.expect(180)
	if r := l.expect(200); !strings.Contains(r.body, "RTP/AVP 0 8 101") {
		t.Fatalf("offer %q", r.body)
	}
	l.u.send(l.request("ACK", l.branch+"ack", l.to, "", p.offer(), l.cseq))
	p.next()
}

func TestMediaStaysOnLoopback(t *testing.T) {
	c := start(t, Config{Media: true, Script: script(number, Behaviour{Kind: Human})})
	l := newUAC(t, c).leg(number)
	l.sdp = strings.Replace(l.sdp, "c=IN IP4 127.0.0.1", "c=IN IP4 192.0.2.1", 1)
	l.invite()
	l.expect(100)
	l.expect(180)
	l.expect(488)
	l.ack()
}

func TestPortsOfARangeAreSharedOut(t *testing.T) {
	first := ports.Of(t)
	c := start(t, Config{Media: true, RTPPortMin: first - 1, RTPPortMax: first + 3,
		Script: script(number, Behaviour{Kind: Quiet})})
	u := newUAC(t, c)
	seen := map[int]bool{}
	for range 2 {
		p := newPhone(t)
		p.call(u)
		seen[int(p.to.Port())] = true
	}
	if !seen[first] || !seen[first+2] {
		t.Fatalf("ports %v", seen)
	}
	l := u.leg(number).invite()
	l.expect(100)
	l.expect(180)
	l.expect(500) // the range is used up
	l.ack()
}

func TestARecordingIsHeardWholeFromTheACKOn(t *testing.T) {
	var pcm []int16
	for i := range 3*voice.FrameSamples + 40 { // the last frame is padded
		pcm = append(pcm, int16(1000*(i%17)-8000))
	}
	data := voice.PCMA.Encode(nil, pcm)
	file := append([]byte("RIFF\x00\x00\x00\x00WAVEfmt "+
		"\x10\x00\x00\x00\x06\x00\x01\x00\x40\x1f\x00\x00\x40\x1f\x00\x00\x01\x00\x08\x00data"),
		byte(len(data)), byte(len(data)>>8), 0, 0)
	path := filepath.Join(t.TempDir(), "hello.wav")
	if err := os.WriteFile(path, append(file, data...), 0o600); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var told []Frame
	c := start(t, Config{Media: true, Script: script(number, Behaviour{Kind: Human, Recording: path}), Tap: func(f Frame) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, Frame{f.CallID, bytes.Clone(f.Payload), f.Said})
	}})
	p := newPhone(t)
	l := p.call(newUAC(t, c))
	want := voice.PCMU.Encode(nil, append(voice.PCMA.Decode(nil, data), make([]int16, voice.FrameSamples-40)...))
	silence := voice.PCMU.Encode(nil, make([]int16, voice.FrameSamples))
	want = append(want, append(bytes.Clone(silence), silence...)...)
	var got []byte
	for range 6 {
		got = append(got, p.next().payload...)
	}
	if !bytes.Equal(got, want) {
		t.Error("something else is heard")
	}
	p.send(want[:voice.FrameSamples])
	until(t, c, "the frame is heard", func(Ledger) bool {
		mu.Lock()
		defer mu.Unlock()
		return len(told) == 1
	})
	if f := told[0]; f.CallID != l.row().CallID || !bytes.Equal(f.Payload, want[:voice.FrameSamples]) || f.Said < 6 {
		t.Errorf("%s, %d bytes after %d frames", f.CallID, len(f.Payload), f.Said)
	}
	l.bye()
	l.expect(200)
}
