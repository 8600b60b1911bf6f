package media

import (
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"dialler/bench/voice"
	"dialler/engine"
	"dialler/media/codec"
)

// plays says audio of 8 kHz in packets of 20 ms, as fast as it is read.
func (p *phone) plays(e *Engine, x []int16) {
	p.t.Helper()
	b := voice.PCMU.Encode(nil, x)
	for n := 1; len(b) >= codec.FrameBytes; b = b[codec.FrameBytes:] {
		p.say(0, b[:codec.FrameBytes])
		if n++; n%25 == 0 {
			e.quiesce(p.t)
		}
	}
	e.quiesce(p.t)
	e.quiesce(p.t) // the batch before this one is done
}

// quiesce waits until the readers have taken what was sent: a datagram that is no RTP comes last.
func (e *Engine) quiesce(t testing.TB) {
	t.Helper()
	for _, s := range e.ports() {
		before := e.counters.malformed.Load()
		p := newPhone(t, 1)
		p.to = &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: int(s.port)}
		p.raw([]byte{0})
		wait(t, func() bool { return e.counters.malformed.Load() > before }, nil)
	}
}

func TestAnAnnouncementBeforeTheAnswerIsHeard(t *testing.T) {
	e, ev, p := start(t, nil), record(t), newPhone(t, 4)
	offer, _ := e.Open(engine.OpenMedia{Attempt: attempt(1)}, ev.sink)
	e.HearEarly(attempt(1), p.called(offer, "0 101"))
	e.HearEarly(attempt(1), p.called(offer, "0 101")) // 183s are repeated
	p.plays(e, voice.SIT(rand.New(rand.NewPCG(1, 1))))
	ev.next(engine.MediaIntercepted)
	p.plays(e, voice.SIT(rand.New(rand.NewPCG(1, 1))))
	ev.none()
}

func TestAnAnnouncementBySRTPBeforeTheAnswerIsHeard(t *testing.T) {
	e, ev := start(t, nil), record(t)
	p, _ := ringSecurely(t, e, 1, 0, ev)
	e.HearEarly(attempt(1), p.answer())
	x := voice.PCMU.Encode(nil, voice.SIT(rand.New(rand.NewPCG(1, 1))))
	for ; len(x) >= codec.FrameBytes; x = x[codec.FrameBytes:] {
		p.say(x[:codec.FrameBytes])
		e.quiesce(t)
	}
	ev.next(engine.MediaIntercepted)
}

func TestRingingBeforeTheAnswerIsNoAnnouncementAndTheCallIsHeardAsEver(t *testing.T) {
	e, ev, p := start(t, nil), record(t), newPhone(t, 4)
	offer, _ := e.Open(engine.OpenMedia{Attempt: attempt(1)}, ev.sink)
	answer := p.called(offer, "0 101")
	e.HearEarly(attempt(1), answer)
	p.plays(e, voice.Ringback())
	ev.none()
	e.Answer(attempt(1), answer, time.Now())
	p.say(0, speech(codec.FrameBytes, 1))
	p.streams(e, 1)
	if q := e.CloseMedia(attempt(1)); q.PacketsReceived != 1 {
		t.Errorf("%d packets count as the callee's, 1 was", q.PacketsReceived)
	}
}

func TestAnAnnouncementOfAnotherTrunkIsNotTheCallsAnyMore(t *testing.T) {
	e, ev, p := start(t, nil), record(t), newPhone(t, 4)
	offer, _ := e.Open(engine.OpenMedia{Attempt: attempt(1)}, ev.sink)
	e.HearEarly(attempt(1), p.called(offer, "0 101"))
	if _, err := e.Open(engine.OpenMedia{Attempt: attempt(1)}, ev.sink); err != nil {
		t.Fatal(err)
	}
	p.plays(e, voice.SIT(rand.New(rand.NewPCG(1, 1))))
	ev.none()
}
