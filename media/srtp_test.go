package media

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	pionsdp "github.com/pion/sdp/v3"
	pionsrtp "github.com/pion/srtp/v3"

	"dialler/engine"
	"dialler/media/codec"
	"dialler/media/datagram"
	"dialler/media/sdp"
	"dialler/media/srtp"
)

// secured is a phone that uses SRTP.
type secured struct {
	*phone
	suite   int        // that it chose
	key     sdp.Master // its own
	encrypt *pionsrtp.Context
	decrypt *pionsrtp.Context
}

func srtpContext(t testing.TB, m sdp.Master, suite int) *pionsrtp.Context {
	t.Helper()
	s := &sdp.Suites[suite]
	key, salt := s.Split(&m)
	c, err := pionsrtp.CreateContext(key, salt, s.Profile, pionsrtp.SRTPReplayProtection(64))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// offeredKeys gives the keys of an offer by suite.
func offeredKeys(t testing.TB, offer []byte) (keys []sdp.Master) {
	t.Helper()
	if !bytes.Contains(offer, []byte(" RTP/SAVP ")) {
		t.Fatalf("the offer is %q", offer)
	}
	return keysOf(t, offer)
}

// keysOf gives the keys of an offer that has them, by suite.
func keysOf(t testing.TB, offer []byte) []sdp.Master {
	t.Helper()
	keys := keysIn(t, offer)
	if len(keys) != len(sdp.Suites) {
		t.Fatalf("%d keys are offered", len(keys))
	}
	return keys
}

func keysIn(t testing.TB, text []byte) (keys []sdp.Master) {
	t.Helper()
	var d pionsdp.SessionDescription
	if err := d.Unmarshal(text); err != nil {
		t.Fatal(err)
	}
	for _, a := range d.MediaDescriptions[0].Attributes {
		if a.Key != "crypto" {
			continue
		}
		c, ok := sdp.ParseCrypto([]byte(a.Value))
		if !ok || c.Tag != len(keys)+1 || c.Suite != len(keys) {
			t.Fatalf("offered a crypto that we could not read: tag %d", c.Tag)
		}
		keys = append(keys, c.Key)
	}
	return keys
}

func (p *secured) line() string {
	line := sdp.AppendCrypto(nil, p.suite+1, p.suite, &p.key)
	return strings.TrimSpace(string(line)) + "|2^31"
}

// securely opens an attempt with SRTP and answers it.
func securely(t testing.TB, e *Engine, n, suite int, ev *events) (*secured, []byte) {
	t.Helper()
	p, offer := ringSecurely(t, e, n, suite, ev)
	e.Answer(attempt(n), p.answer(), time.Now())
	return p, offer
}

// ringSecurely opens an attempt with SRTP.
func ringSecurely(t testing.TB, e *Engine, n, suite int, ev *events) (*secured, []byte) {
	t.Helper()
	offer, err := e.Open(
		engine.OpenMedia{Attempt: attempt(n), Profile: engine.MediaProfile{SRTP: engine.SRTPRequired}},
		ev.sink,
	)
	if err != nil {
		t.Fatal(err)
	}
	p := &secured{phone: newPhone(t, uint32(n)), suite: suite}
	copy(p.key[:], speech(len(p.key), byte(n)))
	keys := offeredKeys(t, offer)
	p.encrypt, p.decrypt = srtpContext(t, p.key, suite), srtpContext(t, keys[suite], suite)
	for line := range strings.Lines(string(offer)) {
		var port int
		if _, err := fmt.Sscanf(line, "m=audio %d RTP/SAVP 0 8 101", &port); err == nil {
			p.to = &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}
		}
	}
	return p, offer
}

func (p *secured) answer() []byte {
	return bytes.ReplaceAll(sdpAnswer(p.port(), "0 101", p.line()), []byte("RTP/AVP"), []byte("RTP/SAVP"))
}

// protected returns the next packet as it goes over the wire.
func (p *secured) protected(payload []byte) []byte {
	p.t.Helper()
	b, err := (&rtp.Packet{Header: rtp.Header{Version: 2, SequenceNumber: p.seq, Timestamp: p.ts, SSRC: p.ssrc},
		Payload: payload}).Marshal()
	if err != nil {
		p.t.Fatal(err)
	}
	p.seq++
	p.ts += uint32(len(payload))
	if b, err = p.encrypt.EncryptRTP(nil, b, nil); err != nil {
		p.t.Fatal(err)
	}
	return b
}

func (p *secured) say(payload []byte) { p.raw(p.protected(payload)) }

// hearUntil collects audio until it has total bytes that are not silence.
func (p *secured) hearUntil(total int) []byte {
	p.t.Helper()
	var out []byte
	_ = p.conn.SetReadDeadline(time.Now().Add(patience))
	for len(out) < total {
		buf := make([]byte, 2000)
		n, _, err := p.conn.ReadFromUDP(buf)
		if err != nil {
			p.t.Fatal(err)
		}
		plain, err := p.decrypt.DecryptRTP(nil, buf[:n], nil)
		if err != nil {
			p.t.Fatalf("what we sent does not decrypt: %v", err)
		}
		for _, b := range plain[rtpHeaderBytes:] {
			if b != codec.UlawSilence {
				out = append(out, b)
			}
		}
	}
	return out
}

func TestSRTPPassesBothWaysAcrossARollOver(t *testing.T) {
	for suite := range sdp.Suites {
		t.Run(sdp.Suites[suite].Name, func(t *testing.T) {
			e, b, ev := start(t, nil), newBot(t), record(t)
			p, _ := securely(t, e, 1, suite, ev)
			c := e.call(attempt(1))
			c.mu.Lock()
			c.seq = 65530 // it wraps soon
			c.mu.Unlock()
			p.seq = 65526
			e.AttachBot(attach(attempt(1), b.url()))
			s := b.session()
			ev.next(engine.MediaBotConnected)
			said := speech(160*20, 3)
			for i := 0; i < len(said); i += 160 {
				p.say(said[i : i+160])
			}
			if got := s.hearUntil(len(said)); !bytes.Equal(got, said) {
				t.Fatal("the bot heard something else")
			}
			reply := speech(160*20, 5)
			s.say(reply)
			if got := p.hearUntil(len(reply)); !bytes.Equal(got, reply) {
				t.Fatal("the callee heard something else")
			}
			if q := e.CloseMedia(attempt(1)); q.PacketsReceived != 20 || q.PacketsLost != 0 {
				t.Fatalf("wrong counts %+v", q)
			}
		})
	}
}

// The roll-over counter counts from the first packet, which may come before the answer (RFC 3711
// §3.3.1).
func TestSRTPThatRollsOverBeforeTheAnswerIsHeardAfterIt(t *testing.T) {
	for suite := range sdp.Suites {
		t.Run(sdp.Suites[suite].Name, func(t *testing.T) {
			e, b, ev := start(t, nil), newBot(t), record(t)
			p, _ := ringSecurely(t, e, 1, suite, ev)
			e.HearEarly(attempt(1), p.answer())
			p.seq = 65530
			for range 10 {
				p.say(speech(codec.FrameBytes, 1))
			}
			e.quiesce(t)
			e.Answer(attempt(1), p.answer(), time.Now())
			e.AttachBot(attach(attempt(1), b.url()))
			s := b.session()
			ev.next(engine.MediaBotConnected)
			said := speech(20*codec.FrameBytes, 3)
			for i := 0; i < len(said); i += codec.FrameBytes {
				p.say(said[i : i+codec.FrameBytes])
			}
			if got := s.hearUntil(len(said)); !bytes.Equal(got, said) {
				t.Error("the bot heard something else")
			}
		})
	}
}

// offerOf reopens an attempt, which returns the same offer.
func (e *Engine) offerOf(t testing.TB, n int) []byte {
	t.Helper()
	offer, err := e.Open(
		engine.OpenMedia{Attempt: attempt(n), Profile: engine.MediaProfile{SRTP: engine.SRTPRequired}},
		nil,
	)
	if err != nil {
		t.Fatal(err)
	}
	return offer
}

func TestForgedAndReplayedPacketsAreDroppedAndCounted(t *testing.T) {
	e, ev := start(t, nil), record(t)
	p, _ := securely(t, e, 1, 0, ev)
	first := p.protected(speech(160, 1))
	p.raw(first)
	p.raw(first)
	good := p.encrypt
	p.encrypt = srtpContext(t, sdp.Master{1}, 0)
	p.say(speech(160, 2))
	p.encrypt = good
	p.seq--
	p.phone.say(0, speech(160, 3)) // in clear
	p.say(speech(160, 4))
	wait(t, func() bool {
		s := e.Stats()
		return s.PacketsReceived == 2 && s.SRTPReplayed == 1 && s.SRTPForged == 2
	}, func() string { return fmt.Sprintf("%+v", e.Stats()) })
}

func TestAnSRTCPReportIsALifeSignOnlyWhenItIsGenuine(t *testing.T) {
	e, ev := start(t, nil), record(t)
	p, _ := securely(t, e, 1, 0, ev)
	report, err := rtcp.Marshal([]rtcp.Packet{&rtcp.ReceiverReport{SSRC: p.ssrc}, &rtcp.SourceDescription{}})
	if err != nil {
		t.Fatal(err)
	}
	genuine, err := p.encrypt.EncryptRTCP(nil, report, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := e.call(attempt(1))
	signed := func() int64 {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.lastSign
	}
	at := signed()
	p.raw(report)
	wait(t, func() bool { return e.Stats().SRTPForged == 1 }, nil)
	if signed() != at {
		t.Fatal("a report in clear was a sign of life")
	}
	p.raw(genuine)
	wait(t, func() bool { return signed() > at }, nil)
	c.mu.Lock()
	sealed := c.secure.SealReport(report)
	c.mu.Unlock()
	if got, err := p.decrypt.DecryptRTCP(nil, sealed, nil); err != nil || !bytes.Equal(got, report) {
		t.Fatalf("a report of ours does not decrypt: %v", err)
	}
}

func TestEveryOfferHasKeysOfItsOwnUntilItIsOfferedAgain(t *testing.T) {
	e, ev := start(t, nil), record(t)
	_, offer := securely(t, e, 1, 0, ev)
	_, other := securely(t, e, 2, 0, ev)
	keys, others := offeredKeys(t, offer), offeredKeys(t, other)
	if keys[0] == keys[1] || keys[0] == others[0] || keys[1] == others[1] || keys[0] == (sdp.Master{}) {
		t.Fatal("a key is used twice")
	}
	if !bytes.Equal(offer, e.offerOf(t, 1)) {
		t.Fatal("the same attempt has another offer")
	}
	if s := fmt.Sprintf("%v %+v %s %x", keys[0], keys, keys[0], keys[0]); strings.Trim(s, "[key] ") != "" {
		t.Fatalf("a key is printed: %s", s)
	}
}

func TestAnAttemptThatIsTriedOnAnotherTrunkIsOfferedAsThatTrunkWants(t *testing.T) {
	e := start(t, nil)
	secure := engine.OpenMedia{Attempt: attempt(1), Profile: engine.MediaProfile{SRTP: engine.SRTPRequired}}
	a, _ := e.Open(secure, nil)
	b, _ := e.Open(engine.OpenMedia{Attempt: attempt(1)}, nil)
	c, _ := e.Open(secure, nil)
	if bytes.Contains(b, []byte("crypto")) || bytes.Contains(b, []byte("SAVP")) {
		t.Fatalf("a trunk without SRTP is offered %s", b)
	}
	if offeredKeys(t, a)[0] == offeredKeys(t, c)[0] {
		t.Fatal("a key is offered to two trunks")
	}
}

func TestAnAnswerWithoutAnAcceptableCryptoFails(t *testing.T) {
	key := base64.StdEncoding.EncodeToString(make([]byte, 30))
	f := func(name string, want error, profile engine.MediaProfile, proto string, lines ...string) {
		t.Run(name, func(t *testing.T) {
			e, ev := start(t, nil), record(t)
			if _, err := e.Open(engine.OpenMedia{Attempt: attempt(1), Profile: profile}, ev.sink); err != nil {
				t.Fatal(err)
			}
			e.Answer(
				attempt(1),
				bytes.ReplaceAll(sdpAnswer(4000, "0", lines...), []byte("RTP/AVP"), []byte(proto)),
				time.Now(),
			)
			if got := ev.next(engine.MediaFailed); got.Error != want.Error() {
				t.Fatalf("failed with %q, want %q", got.Error, want)
			}
		})
	}
	secure := engine.MediaProfile{SRTP: engine.SRTPRequired}
	const s80, s32, gcm = "AES_CM_128_HMAC_SHA1_80", "AES_CM_128_HMAC_SHA1_32", "AEAD_AES_128_GCM"
	f("plain RTP", sdp.ErrInsecure, secure, "RTP/AVP", "a=crypto:4 "+s80+" inline:"+key)
	f("SRTP not asked for", sdp.ErrProtocol, engine.MediaProfile{}, "RTP/SAVP", "a=crypto:4 "+s80+" inline:"+key)
	f("no crypto", sdp.ErrCrypto, secure, "RTP/SAVP")
	f("another suite", sdp.ErrCrypto, secure, "RTP/SAVP", "a=crypto:1 F8_128_HMAC_SHA1_80 inline:"+key)
	f("a tag that was not offered", sdp.ErrCrypto, secure, "RTP/SAVP", "a=crypto:6 "+s80+" inline:"+key)
	f("the other suite's tag", sdp.ErrCrypto, secure, "RTP/SAVP", "a=crypto:4 "+s32+" inline:"+key)
	f("a short key", sdp.ErrCrypto, secure, "RTP/SAVP", "a=crypto:4 "+s80+" inline:"+key[:36])
	f("a long key", sdp.ErrCrypto, secure, "RTP/SAVP", "a=crypto:4 "+s80+" inline:"+key+key)
	f("no base64", sdp.ErrCrypto, secure, "RTP/SAVP", "a=crypto:4 "+s80+" inline:"+strings.Repeat("?", 40))
	f("a key of another suite's length", sdp.ErrCrypto, secure, "RTP/SAVP", "a=crypto:2 "+gcm+" inline:"+key)
	f("another method", sdp.ErrCrypto, secure, "RTP/SAVP", "a=crypto:4 "+s80+" uri:"+key)
	f("without encryption", sdp.ErrCrypto, secure, "RTP/SAVP", "a=crypto:4 "+s80+" inline:"+key+" UNENCRYPTED_SRTP")
	f("an MKI without length", sdp.ErrCrypto, secure, "RTP/SAVP", "a=crypto:4 "+s80+" inline:"+key+"|1:0")
}

func TestARefreshedSessionKeepsItsKeysAndANewKeyIsTaken(t *testing.T) {
	f := func(suite int, restart bool) {
		t.Run(fmt.Sprintf("%s, roll-overs from zero %v", sdp.Suites[suite].Name, restart), func(t *testing.T) {
			e, ev := start(t, nil), record(t)
			p, _ := securely(t, e, 1, suite, ev)
			p.seq = 65534
			for range 4 {
				p.say(speech(160, 1))
			}
			received := func(n uint64) {
				t.Helper()
				wait(
					t,
					func() bool { return e.Stats().PacketsReceived == n },
					func() string { return fmt.Sprintf("%+v", e.Stats()) },
				)
			}
			received(4)
			e.Answer(attempt(1), p.answer(), time.Now()) // a session timer's re-INVITE
			p.say(speech(160, 1))
			received(5)
			p.key = sdp.Master{7}
			e.Answer(attempt(1), p.answer(), time.Now())
			p.encrypt = srtpContext(t, p.key, suite)
			if !restart {
				p.encrypt.SetROC(p.ssrc, 1)
			}
			p.say(speech(160, 2))
			p.say(speech(160, 3))
			received(7)
		})
	}
	for _, restart := range []bool{false, true} {
		f(0, restart) // GCM destroys a packet that it cannot open
		f(3, restart)
	}
}

// TestOptionalSRTPFollowsTheAnswer checks both ends of what RFC 8643 calls opportunistic: RTP/AVP
// with a=crypto is offered, and an answer with keys means SRTP, one without plain RTP.
func TestOptionalSRTPFollowsTheAnswer(t *testing.T) {
	f := func(name, profile string, suite int) {
		t.Run(name, func(t *testing.T) {
			e, b, ev := start(t, nil), newBot(t), record(t)
			offer, err := e.Open(
				engine.OpenMedia{Attempt: attempt(1), Profile: engine.MediaProfile{SRTP: engine.SRTPOptional}}, ev.sink)
			if err != nil {
				t.Fatal(err)
			}
			p := &secured{phone: newPhone(t, 7), suite: max(suite, 0), key: sdp.Master{5}}
			var extra []string
			want := ""
			text := p.called(offer, "0 101") // it finds RTP/AVP
			if suite >= 0 {
				keys := keysOf(t, offer)
				p.encrypt, p.decrypt = srtpContext(t, p.key, suite), srtpContext(t, keys[suite], suite)
				extra, want = []string{p.line()}, sdp.Suites[suite].Name
				text = p.called(offer, "0 101", extra...)
			}
			e.Answer(attempt(1), bytes.ReplaceAll(text, []byte("RTP/AVP"), []byte(profile)), time.Now())
			e.AttachBot(attach(attempt(1), b.url()))
			s := b.session()
			ev.next(engine.MediaBotConnected)
			word, reply := speech(320, 3), speech(320, 5)
			var heard []byte
			if suite >= 0 {
				p.say(word[:160])
				p.say(word[160:])
				s.say(reply)
				heard = p.hearUntil(len(reply))
			} else {
				p.phone.say(0, word[:160])
				p.phone.say(0, word[160:])
				s.say(reply)
				heard = p.phone.hearUntil(len(reply), codec.UlawSilence)
			}
			if got := s.hearUntil(len(word)); !bytes.Equal(got, word) || !bytes.Equal(heard, reply) {
				t.Fatal("one of them heard something else")
			}
			if q := e.CloseMedia(attempt(1)); q.SRTP != want || q.PacketsLost != 0 {
				t.Fatalf("%+v, want %q", q, want)
			}
		})
	}
	f("RTP", "RTP/AVP", -1)
	f("SRTP", "RTP/AVP", 0)
	f("another suite, by RTP/SAVP", "RTP/SAVP", 3)
}

// A far side that takes keys up later, or gives them up, keeps its call.
func TestOptionalSRTPFollowsLaterOffers(t *testing.T) {
	e := start(t, nil)
	optional := engine.MediaProfile{SRTP: engine.SRTPOptional}
	offer, err := e.Open(engine.OpenMedia{Attempt: attempt(1), Profile: optional}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &secured{phone: newPhone(t, 7), key: sdp.Master{5}}
	p.encrypt = srtpContext(t, p.key, 0)
	keys := keysOf(t, offer)
	e.Answer(attempt(1), p.called(offer, "0"), time.Now())
	received := uint64(0)
	hears := func(say func()) {
		t.Helper()
		say()
		received++
		wait(t, func() bool { return e.Stats().PacketsReceived == received },
			func() string { return fmt.Sprintf("%+v", e.Stats()) })
	}
	hears(func() { p.phone.say(0, speech(160, 1)) })
	again, err := e.Reoffer(attempt(1), attempt(1).Leg(1), p.called(offer, "0", p.line()))
	if err != nil || keysIn(t, again)[0] != keys[0] || !bytes.Contains(again, []byte("RTP/AVP ")) {
		t.Fatalf("%v %s", err, again)
	}
	hears(func() { p.say(speech(160, 1)) })
	if again, err = e.Reoffer(attempt(1), attempt(1).Leg(1), p.called(offer, "0")); err != nil ||
		bytes.Contains(again, []byte("crypto")) {
		t.Fatalf("%v %s", err, again)
	}
	hears(func() { p.phone.say(0, speech(160, 1)) })
	unknown := p.called(offer, "0", "a=crypto:1 F8_128_HMAC_SHA1_80 inline:AAAA")
	if _, err = e.Reoffer(attempt(1), attempt(1).Leg(1), unknown); err == nil {
		t.Fatal("keys that nobody can use were accepted")
	}
}

// Anybody can spoof an address; only the key makes a source the call's.
func TestForgedPacketsTakeNoSource(t *testing.T) {
	e, ev := start(t, nil), record(t)
	p, _ := securely(t, e, 1, 0, ev)
	forged := func(ssrc uint32, seq uint16) {
		b, err := (&rtp.Packet{Header: rtp.Header{Version: 2, SequenceNumber: seq, SSRC: ssrc},
			Payload: speech(170, 1)}).Marshal()
		if err != nil {
			t.Fatal(err)
		}
		p.raw(b)
	}
	for seq := range uint16(5) { // before the first genuine packet, from its address
		forged(99, seq)
	}
	for range 3 {
		p.say(speech(160, 1))
	}
	wait(
		t,
		func() bool { return e.Stats().PacketsReceived == 3 },
		func() string { return fmt.Sprintf("%+v", e.Stats()) },
	)
	if got := e.Stats(); got.SRTPForged != 5 || got.DropProbation != 0 {
		t.Fatalf("%+v", got)
	}
}

// wait waits for a condition.
func wait(t testing.TB, ok func() bool, say func() string) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); {
		if time.Now().After(deadline) {
			if say == nil {
				say = func() string { return "" }
			}
			t.Fatalf("it did not come about: %s", say())
		}
		<-time.After(time.Millisecond)
	}
}

// benchSecurity gives a call SRTP keys and returns the far side's context.
func benchSecurity(t testing.TB, c *call, suite int) *pionsrtp.Context {
	t.Helper()
	c.secure = srtp.New()
	theirs := sdp.Crypto{Tag: suite + 1, Suite: suite, Key: sdp.Master{9}}
	if err := c.secure.Answered([]sdp.Crypto{theirs}, true); err != nil {
		t.Fatal(err)
	}
	return srtpContext(t, theirs.Key, suite)
}

// eachSuite runs a benchmark with every suite.
func eachSuite(b *testing.B, bench func(*testing.B, int)) {
	for suite := range sdp.Suites {
		b.Run(sdp.Suites[suite].Name, func(b *testing.B) { bench(b, suite) })
	}
}

func BenchmarkReceiveSRTPPacket(b *testing.B) { eachSuite(b, benchReceiveSRTP) }

func benchReceiveSRTP(b *testing.B, suite int) {
	c := benchCall(b)
	far := benchSecurity(b, c, suite)
	packets := make([][]byte, 10000)
	in := newIncoming()
	for i := range packets {
		packets[i], _ = far.EncryptRTP(nil, in.next(), nil)
	}
	var buf [datagram.SendCap]byte
	i, now := 0, int64(0)
	b.ReportAllocs()
	for b.Loop() {
		if i == len(packets) { // once more, as a call that has heard nothing yet
			b.StopTimer()
			i = 0
			c = benchCall(b)
			benchSecurity(b, c, suite)
			b.StartTimer()
		}
		n := copy(buf[:], packets[i])
		i++
		now += 20 * ms
		c.receive(buf[:n], &in.pkt, netipNone, false, nil, now)
	}
	if c.in.Received != uint64(i) {
		b.Fatalf("%d of %d packets were genuine", c.in.Received, i)
	}
}

func BenchmarkTickSRTP(b *testing.B) { eachSuite(b, benchTickSRTP) }

func benchTickSRTP(b *testing.B, suite int) {
	c := benchCall(b)
	benchSecurity(b, c, suite)
	w := datagram.NewWriter(datagram.BatchSize)
	b.ReportAllocs()
	for b.Loop() {
		w.N = 0
		c.lastAudio, c.lastSign = 1, 1
		c.tsKnown = true
		c.tick(w, 1)
	}
}
