package media

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pion/rtp"

	"dialler/engine"
	"dialler/media/codec"
	"dialler/media/conceal"
	"dialler/media/g711"
)

// connected returns a call with a phone and a bot.
func connected(t testing.TB, e *Engine, n int, formats string) (*phone, *session, *events) {
	t.Helper()
	b, p, ev := newBot(t), newPhone(t, uint32(n)), record(t)
	id := attempt(n)
	offer, err := e.Open(engine.OpenMedia{Attempt: id, AMD: engine.AMDOff}, ev.sink)
	if err != nil {
		t.Fatal(err)
	}
	e.Answer(id, p.called(offer, formats), time.Now())
	e.AttachBot(attach(id, b.url()))
	s := b.session()
	if got := ev.next(engine.MediaBotConnected); got.Seq != 1 || got.Session != attach(id).Session {
		t.Fatalf("wrong event %+v", got)
	}
	return p, s, ev
}

func TestAudioPassesBothWaysSampleBySample(t *testing.T) {
	f := func(name, formats string, pt uint8, silence byte, toBot, toPhone func([]byte) []byte) {
		t.Run(name, func(t *testing.T) {
			e := start(t, nil)
			p, s, ev := connected(t, e, 1, formats)
			said := speech(160*20, 3)
			for i := 0; i < len(said); i += 160 {
				p.say(pt, said[i:i+160])
			}
			if got := s.hearUntil(len(said)); !bytes.Equal(got, toBot(said)) {
				t.Fatal("the bot heard something else")
			}
			reply := speech(160*15+77, 5)
			s.say(reply)
			heard := p.hearUntil(len(reply), silence)
			if !bytes.Equal(heard, toPhone(reply)) {
				t.Fatal("the callee heard something else")
			}
			ev.next(engine.MediaBotFirstAudio)
			q := e.CloseMedia(attempt(1))
			if q.PacketsReceived != 20 || q.PacketsLost != 0 || q.PacketsSent < 16 || q.Codec == "" {
				t.Fatalf("wrong counts %+v", q)
			}
		})
	}
	same := func(b []byte) []byte { return b }
	each := func(table func(byte) byte) func([]byte) []byte {
		return func(b []byte) []byte {
			out := make([]byte, len(b))
			for i := range b {
				out[i] = table(b[i])
			}
			return out
		}
	}
	f("ulaw untouched", "0 101", 0, codec.UlawSilence, same, same)
	f(
		"alaw by table",
		"8 0 101",
		8,
		codec.UlawToAlaw[codec.UlawSilence],
		each(
			func(b byte) byte { return g711.ToUlaw(g711.FromAlaw(b)) },
		),
		each(func(b byte) byte { return g711.ToAlaw(g711.FromUlaw(b)) }),
	)
}

func TestSentRTPIsContinuous(t *testing.T) {
	e := start(t, nil)
	p := newPhone(t, 1)
	offer, _ := e.Open(engine.OpenMedia{Attempt: attempt(1)}, nil)
	e.Answer(attempt(1), p.called(offer, "0"), time.Now())
	p.say(0, speech(160, 1))
	first := p.hear()
	if !first.Marker || first.PayloadType != 0 || len(first.Payload) != 160 {
		t.Fatalf("wrong first packet %+v", first.Header)
	}
	first = p.streams(e, 1)
	for i := 1; i < 20; i++ {
		got := p.hear()
		if got.SequenceNumber != first.SequenceNumber+uint16(i) || got.Timestamp != first.Timestamp+uint32(160*i) ||
			got.SSRC != first.SSRC ||
			got.Marker {
			t.Fatalf("packet %d does not follow: %+v after %+v", i, got.Header, first.Header)
		}
	}
}

func TestSilenceToACalleeWhoIsNotHeardOnlyKeepsThePathOpen(t *testing.T) {
	t.Parallel() // waits 5 s for a keep-alive
	e := start(t, nil)
	p := newPhone(t, 1)
	offer, _ := e.Open(engine.OpenMedia{Attempt: attempt(1)}, nil)
	e.Answer(attempt(1), p.called(offer, "0"), time.Now())
	first := p.hear()
	for range openingFirst - 1 {
		p.hear()
	}
	next := p.hear()
	if step := next.Timestamp - first.Timestamp; step != openingEvery*160 || !next.Marker ||
		next.SequenceNumber-first.SequenceNumber != openingFirst {
		t.Fatalf("keep-alive after %d ticks, marker %v", step/160, next.Marker)
	}
	p.say(0, speech(160, 1))
	last := p.hear()
	for range 10 { // from now on there are no gaps
		next := p.hear()
		if next.Timestamp-last.Timestamp != 160 {
			t.Fatalf("gap of %d after the callee was heard", next.Timestamp-last.Timestamp)
		}
		last = next
	}
}

func TestReorderedLostAndDuplicatedPackets(t *testing.T) {
	e := start(t, nil)
	p, s, _ := connected(t, e, 1, "0")
	said := speech(160*10, 9)
	send := func(i int) {
		p.send(
			rtp.Header{Version: 2, SequenceNumber: 65530 + uint16(i), Timestamp: 4294967000 + uint32(160*i), SSRC: 1},
			said[160*i:160*i+160],
		)
	}
	p.together(e, 1, func() {
		for _, i := range []int{0, 2, 1, 1, 3, 5, 6, 7, 8, 9} { // 1 and 2 swapped, 1 twice, 4 lost
			send(i)
		}
	})
	// The concealment of packet 4 cross-fades into the first samples of packet 5.
	got := s.hearUntil(len(said) - 32)
	if !bytes.HasPrefix(got, said[:4*160]) || !bytes.Contains(got, said[5*160+conceal.JoinSamples:9*160]) ||
		bytes.Contains(got, said[3*160:5*160]) {
		t.Fatal("wrong order or concealment")
	}
	if q := e.CloseMedia(attempt(1)); q.PacketsLost != 1 || q.PacketsLate != 1 || q.PacketsReceived != 10 {
		t.Fatalf("wrong counts %+v", q)
	}
}

func TestPacketsOfOtherLengthsBecomeFrames(t *testing.T) {
	e := start(t, nil)
	p, s, _ := connected(t, e, 1, "0")
	said := speech(240*10, 4)
	for i := 0; i < len(said); i += 240 { // 30 ms
		p.say(0, said[i:i+240])
	}
	if got := s.hearUntil(len(said)); !bytes.Equal(got, said) {
		t.Fatal("wrong audio")
	}
}

func TestTheBotHearsTimePassOnceTheCalleeWasHeard(t *testing.T) {
	e := start(t, nil)
	p, s, _ := connected(t, e, 1, "0")
	p.say(0, speech(160, 1))
	for i := 1; i <= 5; i++ {
		f := s.until("media")
		if f.Media.Chunk != strconv.Itoa(i) || f.Media.Timestamp != strconv.Itoa(20*(i-1)) ||
			f.Sequence != strconv.Itoa(i+1) {
			t.Fatalf("wrong media frame %+v", f)
		}
	}
}

func TestDigitsAreToldOnce(t *testing.T) {
	e := start(t, nil)
	p, s, ev := connected(t, e, 1, "0 96")
	_ = s
	e.Answer(attempt(1), p.called(mustOffer(t, e, 1, ev), "0 96", "a=rtpmap:96 telephone-event/8000"), time.Now())
	ev.next(engine.MediaBotConnected) // replayed
	ts := p.ts
	press := func(event byte) {
		for i := range 6 {
			payload := []byte{event, 10, byte(160 * (i + 1) >> 8), byte(160 * (i + 1))}
			if i >= 3 {
				payload[1] |= 0x80
			}
			p.send(
				rtp.Header{
					Version:        2,
					PayloadType:    96,
					SequenceNumber: p.seq,
					Timestamp:      ts,
					SSRC:           p.ssrc,
					Marker:         i == 0,
				},
				payload,
			)
			p.seq++
		}
		ts += 2000
	}
	press(1)
	press(1)
	press(11)
	for _, want := range "11#" {
		if got := ev.next(engine.MediaDigit); got.Digit != byte(want) {
			t.Fatalf("digit %c, want %c", got.Digit, want)
		}
		if got := s.until("dtmf"); got.DTMF.Digit != string(want) {
			t.Fatalf("the bot heard digit %q", got.DTMF.Digit)
		}
	}
	ev.none()
}

// mustOffer opens an attempt again, which gives the same offer and replays.
func mustOffer(t testing.TB, e *Engine, n int, ev *events) []byte {
	t.Helper()
	offer, err := e.Open(engine.OpenMedia{Attempt: attempt(n)}, ev.sink)
	if err != nil {
		t.Fatal(err)
	}
	return offer
}

func TestSilentAfterTheRTPTimeout(t *testing.T) {
	t.Parallel() // waits 5 s for a keep-alive
	e := start(t, func(c *Config) { c.RTPTimeout = 200 * time.Millisecond })
	ev, p := record(t), newPhone(t, 1)
	offer, _ := e.Open(engine.OpenMedia{Attempt: attempt(1)}, ev.sink)
	began := time.Now()
	e.Answer(attempt(1), p.called(offer, "0"), began)
	if got := ev.next(engine.MediaSilent); got.At.Sub(began) < 200*time.Millisecond {
		t.Fatalf("silent after %v", got.At.Sub(began))
	}
	for range openingFirst + 1 {
		p.hear() // five times the timeout passes
	}
	ev.none()
}

func TestACallIsSilentAfter30SecondsUnlessToldOtherwise(t *testing.T) {
	if e := start(t, func(c *Config) { c.RTPTimeout = 0 }); e.cfg.RTPTimeout != 30*time.Second {
		t.Errorf("%s", e.cfg.RTPTimeout)
	}
}

func TestATrunkWithDTXMayBeSilent(t *testing.T) {
	e := start(t, func(c *Config) { c.RTPTimeout = 100 * time.Millisecond })
	ev, p := record(t), newPhone(t, 1)
	offer, _ := e.Open(engine.OpenMedia{Attempt: attempt(1), Profile: engine.MediaProfile{DTX: true}}, ev.sink)
	e.Answer(attempt(1), p.called(offer, "0"), time.Now())
	p.say(0, speech(160, 1)) // from now on silence is sent every 20 ms
	for range 15 {
		p.hear()
	}
	ev.none()
}

func TestRTCPIsASignOfLife(t *testing.T) {
	e := start(t, func(c *Config) { c.RTPTimeout = patience })
	ev, p := record(t), newPhone(t, 1)
	offer, _ := e.Open(engine.OpenMedia{Attempt: attempt(1)}, ev.sink)
	e.Answer(attempt(1), p.called(offer, "0"), time.Now())
	p.say(0, speech(160, 1))
	wait(t, func() bool { return e.Stats().PacketsReceived == 1 }, nil)
	c := e.call(attempt(1))
	quietFor(c, patience/2)
	before := e.now()
	p.raw([]byte{0x80, 201, 0, 1, 0, 0, 0, 1}) // an empty receiver report, on the RTP port
	wait(t, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.lastSign >= before
	}, nil)
	if e.Stats().RTCPReceived == 0 {
		t.Fatal("no report was counted")
	}
	quietFor(c, patience/2)
	for range 3 { // every 20 ms
		p.hear()
	}
	ev.none() // the timeout again, but not since the report
	quietFor(c, patience/2)
	ev.next(engine.MediaSilent)
}

// quietFor makes the last sign of life of a path older by d.
func quietFor(c *call, d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastSign -= int64(d)
}

func TestWhoOnlyListensMayBeSilent(t *testing.T) {
	e := start(t, func(c *Config) { c.RTPTimeout = 100 * time.Millisecond })
	ev, p := record(t), newPhone(t, 1)
	offer, _ := e.Open(engine.OpenMedia{Attempt: attempt(1)}, ev.sink)
	e.Answer(attempt(1), p.called(offer, "0", "a=recvonly"), time.Now())
	p.say(0, speech(160, 1)) // from now on silence is sent every 20 ms
	for range 15 {
		p.hear()
	}
	ev.none()
}

// The three ways to put a call on hold: RFC 3264 §8.4, RFC 2543's address of zeros, and port 0.
func TestAHoldMayBeSilentForItsOwnTimeout(t *testing.T) {
	e := start(t, func(c *Config) { c.RTPTimeout, c.HoldTimeout = patience, 10*patience })
	for i, change := range []func(talks []byte) []byte{
		func(talks []byte) []byte { return append(talks, "a=sendonly\r\n"...) },
		func(talks []byte) []byte { return append(talks, "a=inactive\r\n"...) },
		func(talks []byte) []byte {
			return bytes.Replace(talks, []byte("c=IN IP4 127.0.0.1"), []byte("c=IN IP4 0.0.0.0"), 1)
		},
		func(talks []byte) []byte {
			return regexp.MustCompile(`m=audio \d+`).ReplaceAll(talks, []byte("m=audio 0"))
		},
	} {
		ev, p, a := record(t), newPhone(t, uint32(i+1)), attempt(i+1)
		offer, _ := e.Open(engine.OpenMedia{Attempt: a}, ev.sink)
		e.Answer(a, p.called(offer, "0"), time.Now())
		talks := p.called(offer, "0")
		hold := change(slices.Clone(talks))
		c := e.call(a)
		offered := func(sdp []byte) {
			t.Helper()
			if _, err := e.Reoffer(a, "", sdp); err != nil {
				t.Fatal(err)
			}
		}
		quiet := func(d time.Duration) {
			quietFor(c, d)
			ticks := func() int {
				c.mu.Lock()
				defer c.mu.Unlock()
				return c.ticks
			}
			from := ticks()
			wait(t, func() bool { return ticks() > from+3 }, nil)
		}
		for range 2 {
			offered(hold)
			quiet(9 * patience)
			ev.none()
			offered(talks) // both time-outs begin anew
			quiet(0)
			ev.none()
		}
		offered(hold)
		quiet(6 * patience)
		offered(hold) // a refresh of the session: the hold is the same
		quiet(5 * patience)
		if got := ev.next(engine.MediaSilent); !got.OnHold {
			t.Errorf("%s: the end of a hold is not said to be one", hold)
		}
	}
	ev, p := record(t), newPhone(t, 9)
	offer, _ := e.Open(engine.OpenMedia{Attempt: attempt(9)}, ev.sink)
	e.Answer(attempt(9), p.called(offer, "0"), time.Now())
	for _, sdp := range [][]byte{p.called(offer, "0", "a=sendonly"), p.called(offer, "0")} {
		if _, err := e.Reoffer(attempt(9), "", sdp); err != nil {
			t.Fatal(err)
		}
	}
	quietFor(e.call(attempt(9)), 2*patience)
	if got := ev.next(engine.MediaSilent); got.OnHold {
		t.Error("who talks again is not on hold")
	}
}

func TestEventsAreReplayedToANewOwner(t *testing.T) {
	e := start(t, nil)
	b, p := newBot(t), newPhone(t, 1)
	id := attempt(1)
	offer, _ := e.Open(engine.OpenMedia{Attempt: id}, nil) // nobody listens yet
	e.Answer(id, p.called(offer, "0"), time.Now())
	p.say(0, speech(160, 1))
	e.AttachBot(attach(id, b.url()))
	s := b.session()
	s.say(speech(1600, 1))
	p.hearUntil(1600, codec.UlawSilence)
	for range 2 {
		ev := record(t)
		if !e.AttachMedia(id, ev.sink) {
			t.Fatal("unknown attempt")
		}
		for i, kind := range []engine.MediaEventKind{engine.MediaBotConnected, engine.MediaBotFirstAudio} {
			if got := ev.next(kind); got.Seq != i+1 || got.Attempt != id {
				t.Fatalf("wrong event %+v", got)
			}
		}
		e.DetachMedia(id)
	}
	_ = s.conn.Close()
	for range 5 {
		p.hear()
	}
	ev := record(t)
	e.AttachMedia(id, ev.sink)
	ev.next(engine.MediaBotConnected)
	ev.next(engine.MediaBotFirstAudio)
	if got := ev.next(engine.MediaBotClosed); got.Seq != 3 || got.Refused {
		t.Fatalf("wrong event %+v", got)
	}
	if e.AttachMedia(attempt(99), ev.sink) {
		t.Fatal("an unknown attempt was attached")
	}
}

func TestTheSinkMayCallTheEngine(t *testing.T) {
	e := start(t, nil)
	p, ev := newPhone(t, 1), record(t)
	id := attempt(1)
	offer, _ := e.Open(engine.OpenMedia{Attempt: id}, func(got engine.MediaEvent) {
		switch got.Kind {
		case engine.MediaDigit:
			e.PlayMessage(id)
		case engine.MediaPlayed:
			e.CloseMedia(id)
		}
		ev.sink(got)
	})
	e.Answer(id, p.called(offer, "0 101"), time.Now())
	p.say(101, []byte{5, 10, 0, 160})
	ev.next(engine.MediaDigit)
	if got := p.hearUntil(7000, codec.UlawSilence); len(got) == 0 {
		t.Fatal("no message was heard")
	}
	ev.next(engine.MediaPlayed)
	if len(e.Streams()) != 0 {
		t.Fatal("the path is still open")
	}
}

func TestDetachedBotIsStopped(t *testing.T) {
	e := start(t, nil)
	p, s, ev := connected(t, e, 1, "0")
	e.DetachBot(attempt(1))
	s.until("stop")
	if _, ok := s.next(); ok {
		t.Fatal("a frame came after stop")
	}
	p.hear()
	ev.none()
	if q := e.CloseMedia(attempt(1)); q.Codec != "PCMU" || q != e.CloseMedia(attempt(1)) {
		t.Fatal("closing twice gives other counts")
	}
}

func TestTheBotClosingItsSocketIsTold(t *testing.T) {
	e := start(t, nil)
	_, s, ev := connected(t, e, 1, "0")
	s.say(speech(16000, 1))
	ev.next(engine.MediaBotFirstAudio)
	if err := s.conn.WriteControl(8, []byte{0x03, 0xE8}, time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if got := ev.next(engine.MediaBotClosed); !got.Refused || got.Error == "" {
		t.Fatalf("wrong event %+v", got)
	}
}

func TestUnusableAnswersFail(t *testing.T) {
	e := start(t, nil)
	f := func(n int, sdp string) {
		t.Helper()
		ev := record(t)
		_, _ = e.Open(engine.OpenMedia{Attempt: attempt(n)}, ev.sink)
		e.Answer(attempt(n), []byte(sdp), time.Now())
		if got := ev.next(engine.MediaFailed); got.Error == "" {
			t.Fatal("no reason")
		}
	}
	f(1, "")
	f(2, string(sdpAnswer(0, "0")))
	f(3, string(sdpAnswer(4000, "18")))
	f(4, "v=0\r\nm=audio 4000 RTP/AVP 0\r\n")
}

func TestEarlyMediaIsNotHeard(t *testing.T) {
	e := start(t, func(c *Config) { c.Sockets = 1 })
	b, p, ev := newBot(t), newPhone(t, 1), record(t)
	id := attempt(1)
	offer, _ := e.Open(engine.OpenMedia{Attempt: id, AMD: engine.AMDParallel}, ev.sink)
	answer := p.called(offer, "0")
	for range 5 {
		p.say(0, speech(160, 1))
	}
	for e.Stats().DropUnknown < 5 {
		runtime.Gosched() // the counter is the event
	}
	e.Answer(id, answer, time.Now())
	e.AttachBot(attach(id, b.url()))
	s := b.session()
	ev.next(engine.MediaBotConnected)
	said := speech(320, 2)
	p.say(0, said[:160])
	p.say(0, said[160:])
	if got := s.hearUntil(320); !bytes.Equal(got, said) {
		t.Fatal("early media reached the bot")
	}
	if q := e.CloseMedia(id); q.PacketsReceived != 2 {
		t.Fatalf("%d packets were received", q.PacketsReceived)
	}
}

func TestPortLatch(t *testing.T) {
	e := start(t, nil)
	b, ev := newBot(t), record(t)
	named, real := newPhone(t, 1), newPhone(t, 2)
	id := attempt(1)
	offer, _ := e.Open(
		engine.OpenMedia{Attempt: id, Profile: engine.MediaProfile{Symmetric: engine.SymmetricOn}},
		ev.sink,
	)
	e.Answer(id, named.called(offer, "0"), time.Now())
	real.called(offer, "0")
	e.AttachBot(attach(id, b.url()))
	s := b.session()
	ev.next(engine.MediaBotConnected)
	said := speech(160*8, 1)
	for i := 0; i < len(said); i += 160 {
		real.say(0, said[i:i+160])
	}
	// The first four packets are probation.
	if got := s.hearUntil(160 * 4); !bytes.Equal(got, said[640:]) {
		t.Fatal("wrong audio")
	}
	real.hear()
	if st := e.Stats(); st.Latched != 1 || st.DropProbation != 4 {
		t.Fatalf("wrong counts %+v", st)
	}
}

func TestPortsComeFromTheRange(t *testing.T) {
	e := start(t, func(c *Config) { c.PortMin, c.PortMax, c.Sockets = 42101, 42120, 4 })
	for n := range 4 {
		offer, _ := e.Open(engine.OpenMedia{Attempt: attempt(n)}, nil)
		if port := offeredPort(t, offer); port < 42102 || port > 42119 || port%2 != 0 {
			t.Fatalf("port %d", port)
		}
	}
	if _, err := New(Config{Host: "127.0.0.1", PortMin: 42103, PortMax: 42103}); err == nil {
		t.Fatal("a range without a pair was accepted")
	}
	if _, err := New(Config{Host: "localhost"}); err == nil {
		t.Fatal("a name was accepted")
	}
}

func TestManyCallsAtATime(t *testing.T) {
	const n = 40
	e := start(t, func(c *Config) { c.Sockets = 4 })
	b := newBot(t)
	phones, sinks := make([]*phone, n), make([]*events, n)
	for i := range n {
		phones[i], sinks[i] = newPhone(t, uint32(1000+i)), record(t)
		offer, err := e.Open(engine.OpenMedia{Attempt: attempt(i)}, sinks[i].sink)
		if err != nil {
			t.Fatal(err)
		}
		e.Answer(attempt(i), phones[i].called(offer, "0"), time.Now())
		e.AttachBot(attach(attempt(i), b.url()))
	}
	byCall := map[string]*session{}
	for range n {
		s := b.session()
		byCall[s.until("start").Start.Call] = s
	}
	for _, ev := range sinks {
		ev.next(engine.MediaBotConnected)
	}
	said := func(i int) []byte { return speech(1600, byte(i)) }
	for k := 0; k < 1600; k += 160 {
		for i, p := range phones {
			p.say(0, said(i)[k:k+160])
		}
	}
	for i := range n {
		s := byCall[string(attempt(i).Call())]
		if got := s.hearUntil(1600); !bytes.Equal(got, said(i)) {
			t.Fatalf("call %d: wrong audio at its bot", i)
		}
		s.say(said(i + 100))
	}
	for i, p := range phones {
		if got := p.hearUntil(1600, codec.UlawSilence); !bytes.Equal(got, said(i+100)) {
			t.Fatalf("call %d: wrong audio at its phone", i)
		}
	}
	if st := e.Stats(); st.Calls != n || st.Answered != n || st.Bots != n || len(e.Streams()) != n {
		t.Fatalf("wrong counts %+v", st)
	}
}

func TestMessageFromWAV(t *testing.T) {
	pcm := make([]byte, 320)
	for i := range 160 {
		binary.LittleEndian.PutUint16(pcm[2*i:], uint16(int16(i*100-8000)))
	}
	wav := func(format, channels, bits uint16, rate uint32, data []byte) []byte {
		b := []byte("RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00")
		b = binary.LittleEndian.AppendUint16(b, format)
		b = binary.LittleEndian.AppendUint16(b, channels)
		b = binary.LittleEndian.AppendUint32(b, rate)
		b = binary.LittleEndian.AppendUint32(b, rate*uint32(bits)/8)
		b = binary.LittleEndian.AppendUint16(b, bits/8)
		b = binary.LittleEndian.AppendUint16(b, bits)
		b = append(b, "LIST\x03\x00\x00\x00abc\x00data"...)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(data)))
		return append(b, data...)
	}
	got, err := parseWAV(wav(1, 1, 16, 8000, pcm))
	if err != nil || len(got) != 160 || got[0] != g711.ToUlaw(-8000) || got[80] != g711.ToUlaw(0) {
		t.Fatalf("wrong audio: %v", err)
	}
	for i, bad := range [][]byte{nil, []byte("RIFF"), wav(1, 2, 16, 8000, pcm), wav(1, 1, 16, 16000, pcm),
		wav(3, 1, 32, 8000, pcm), wav(1, 1, 16, 8000, nil)} {
		if _, err := parseWAV(bad); err == nil {
			t.Fatalf("bad file %d was accepted", i)
		}
	}
	if fmt.Sprint(len(toneMessage())) != "9600" {
		t.Fatal("the tone is not 1.2 s")
	}
}

func TestABrokenSocketTakesNoNewCalls(t *testing.T) {
	e := start(t, nil)
	if usable, all := e.Ports(); usable != 2 || all != 2 {
		t.Fatalf("%d of %d", usable, all)
	}
	e.sockets[0].broken.Store(true)
	for i := range 5 {
		if _, err := e.Open(engine.OpenMedia{Attempt: attempt(i + 1)}, nil); err != nil ||
			e.call(attempt(i+1)).sock != e.sockets[1] {
			t.Fatalf("call %d: %v", i+1, err)
		}
	}
	e.sockets[1].broken.Store(true)
	if usable, _ := e.Ports(); usable != 0 {
		t.Fatalf("%d usable", usable)
	}
}

// Behind our own NAT the offers of new calls name the address that carriers see; calls that are open keep theirs.
func TestOffersNameTheAddressThatCarriersSee(t *testing.T) {
	e := start(t, nil)
	named := func(n int, want string) {
		t.Helper()
		offer, err := e.Open(engine.OpenMedia{Attempt: attempt(n)}, nil)
		if err != nil || strings.Count(string(offer), "IN IP4 "+want+"\r\n") != 2 { // o= and c=
			t.Errorf("%v, want %s in\n%s", err, want, offer)
		}
	}
	named(1, "127.0.0.1")
	e.SetHost(netip.MustParseAddr("203.0.113.7"))
	e.SetHost(netip.MustParseAddr("2001:db8::7")) // there is no audio over IPv6 here
	named(1, "127.0.0.1")
	named(2, "203.0.113.7")
}
