package media

import (
	"testing"
	"time"

	"dialler/bench/voice"
	"dialler/engine"
	"dialler/media/codec"
	"dialler/media/datagram"
)

// press says the tones of keys, and a pause.
func (p *phone) press(law codec.Codec, keys string) {
	p.t.Helper()
	as, pt := voice.PCMU, codec.Ulaw.PayloadType()
	if law == codec.Alaw {
		as, pt = voice.PCMA, codec.Alaw.PayloadType()
	}
	x := as.Encode(nil, append(voice.Keys(keys), make([]int16, 800)...))
	for ; len(x) >= codec.FrameBytes; x = x[codec.FrameBytes:] {
		p.say(pt, x[:codec.FrameBytes])
	}
}

// event presses a key by telephone-event.
func (p *phone) event(pt, event byte) {
	p.t.Helper()
	p.say(pt, []byte{event, 10, 0, 160})
	p.ts += 800
}

func TestKeysAreHeardByTheirToneWhereTelephoneEventWasNotAgreed(t *testing.T) {
	f := func(law codec.Codec, formats string) {
		t.Helper()
		e, ev, b, p := start(t, nil), record(t), newBot(t), newPhone(t, 4)
		offer, _ := e.Open(engine.OpenMedia{Attempt: attempt(1)}, ev.sink)
		e.Answer(attempt(1), p.called(offer, formats), time.Now())
		e.AttachBot(engine.AttachBot{Attempt: attempt(1), Session: "s", Endpoints: []string{b.url()},
			Deadline: time.Now().Add(patience)})
		ev.next(engine.MediaBotConnected)
		s := b.session()
		p.press(law, "9#")
		for _, want := range []byte("9#") {
			if got := ev.next(engine.MediaDigit).Digit; got != want {
				t.Errorf("key %c, want %c", got, want)
			}
			if got := s.until("dtmf").DTMF.Digit; got != string(want) {
				t.Errorf("the bot heard %q, want %c", got, want)
			}
		}
	}
	f(codec.Ulaw, "0")
	f(codec.Alaw, "8")
}

func TestTonesAreNoKeysWhereAnotherWayWasAgreed(t *testing.T) {
	f := func(formats string, profile engine.MediaProfile) {
		t.Helper()
		e, p := start(t, nil), newPhone(t, 4)
		offer, _ := e.Open(engine.OpenMedia{Attempt: attempt(1), Profile: profile}, nil)
		e.Answer(attempt(1), p.called(offer, formats), time.Now())
		if e.call(attempt(1)).touches != nil {
			t.Errorf("%q, %+v: tones are keys", formats, profile)
		}
		e.CloseMedia(attempt(1))
	}
	f("0 101", engine.MediaProfile{})
	f("0", engine.MediaProfile{DTMF: engine.DTMFByINFO})
}

func TestAKeyThatComesByToneAndInAnotherWayIsHeardOnce(t *testing.T) {
	f := func(again func(*Engine, *phone)) {
		t.Helper()
		e, ev, p := start(t, nil), record(t), newPhone(t, 4)
		offer, _ := e.Open(engine.OpenMedia{Attempt: attempt(1)}, ev.sink)
		e.Answer(attempt(1), p.called(offer, "0"), time.Now())
		p.press(codec.Ulaw, "5")
		if got := ev.next(engine.MediaDigit).Digit; got != '5' {
			t.Fatalf("key %c", got)
		}
		again(e, p)
		p.press(codec.Ulaw, "7") // its event follows
		p.event(101, 7)
		if got := ev.next(engine.MediaDigit).Digit; got != '7' {
			t.Errorf("key %c after a 5 that came twice", got)
		}
		p.event(101, 8)
		if got := ev.next(engine.MediaDigit).Digit; got != '8' {
			t.Errorf("key %c after a 7 whose tone came too", got)
		}
	}
	f(func(_ *Engine, p *phone) { p.event(101, 5) })
	f(func(e *Engine, _ *phone) { e.HearDigit(attempt(1), '5') })
}

func TestAKeyByToneReachesAJoinedLegAsAnEventOnce(t *testing.T) {
	b := bridge(t, "0", "0 96")
	offer, err := b.e.OpenPeer(b.id, b.leg, engine.MediaProfile{})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.e.JoinPeer(b.id, b.leg, b.peer.called(offer, "0 96", "a=rtpmap:96 telephone-event/8000")); err != nil {
		t.Fatal(err)
	}
	var heard dtmf
	hears := func(want byte) {
		t.Helper()
		for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
			pkt := b.peer.hear()
			if pkt.PayloadType != 96 {
				continue
			}
			if got, ok := heard.packet(pkt.Timestamp, pkt.Payload); ok {
				if got != want {
					t.Errorf("the joined leg hears %c, want %c", got, want)
				}
				return
			}
		}
		t.Errorf("%c is not heard", want)
	}
	b.callee.press(codec.Ulaw, "5")
	b.callee.event(101, 5)
	hears('5')
	p := b.e.path(b.id, b.leg)
	wait(t, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.keys.queue == ""
	}, nil)
	b.callee.event(101, 6)
	hears('6')
}

func TestTouchesDoNotAllocate(t *testing.T) {
	c := benchCall(t)
	c.ans.Events = -1
	c.listenForTouches()
	w, in := datagram.NewWriter(datagram.BatchSize), newIncoming()
	said := voice.PCMU.Encode(nil, voice.Keys("1"))
	if n := testing.AllocsPerRun(1000, func() {
		copy(in.buf[rtpHeaderBytes:], said[int(in.seq)*codec.FrameBytes%800:])
		c.receive(in.next(), &in.pkt, netipNone, false, nil, in.now)
		w.N = 0
		c.tick(w, in.now)
	}); n > 0.1 { // the events of the keys
		t.Fatalf("%v allocations per packet", n)
	}
}
