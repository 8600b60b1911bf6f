package media

import (
	"bytes"
	"math"
	"testing"
	"time"

	"dialler/engine"
	"dialler/media/codec"
	"dialler/media/g711"
)

func TestAVerdictIsToldOnce(t *testing.T) {
	f := func(name string, mode engine.AMDMode, law codec.Codec, hz float64, want engine.Verdict) {
		t.Run(name, func(t *testing.T) {
			e, p, ev := start(t, nil), newPhone(t, 1), record(t)
			offer, _ := e.Open(engine.OpenMedia{Attempt: attempt(1), AMD: mode}, ev.sink)
			formats, encode := "0", g711.ToUlaw
			if law == codec.Alaw {
				formats, encode = "8", g711.ToAlaw
			}
			at := time.Now().Add(-time.Second) // the 200 OK came a while ago
			e.Answer(attempt(1), p.called(offer, formats), at)
			for i := range 150 { // 3 s of media, faster than real time
				b := make([]byte, 160)
				for j := range b {
					b[j] = encode(int16(8000 * math.Sin(2*math.Pi*hz*float64(160*i+j)/8000)))
				}
				p.say(law.PayloadType(), b)
			}
			got := ev.next(engine.MediaVerdict)
			if got.Verdict != want || got.AMDTook < time.Second || got.Confidence == 0 || len(got.Features) == 0 {
				t.Fatalf("%+v", got)
			}
			for range 5 {
				p.hear()
			}
			ev.none()
		})
	}
	f("fax in μ-law", engine.AMDParallel, codec.Ulaw, 2100, engine.VerdictFax)
	f("fax in A-law", engine.AMDSequential, codec.Alaw, 2100, engine.VerdictFax)
	f("nothing at all", engine.AMDParallel, codec.Ulaw, 0, engine.VerdictSilence)
}

func TestWithoutClassificationNoVerdict(t *testing.T) {
	e, p, ev := start(t, nil), newPhone(t, 1), record(t)
	offer, _ := e.Open(engine.OpenMedia{Attempt: attempt(1), AMD: engine.AMDOff}, ev.sink)
	e.Answer(attempt(1), p.called(offer, "0"), time.Now())
	for range 250 {
		p.say(0, bytes.Repeat([]byte{codec.UlawSilence}, 160))
	}
	for range 5 {
		p.hear()
	}
	ev.none()
}

func TestTwoCallsFromOneAddressNeverCrossTalk(t *testing.T) {
	e, b := start(t, func(c *Config) { c.Sockets = 1 }), newBot(t)
	a := newPhone(t, 1)
	other := *a // the same socket, another source
	other.ssrc, other.ts = 2, 77
	ids := []engine.AttemptID{attempt(1), attempt(2)}
	sessions := map[engine.AttemptID]*session{}
	said := [][]byte{speech(160*40, 1), speech(160*40, 2)}
	for i, p := range []*phone{a, &other} {
		ev := record(t)
		offer, _ := e.Open(engine.OpenMedia{Attempt: ids[i]}, ev.sink)
		e.Answer(ids[i], p.called(offer, "0"), time.Now())
		e.AttachBot(attach(ids[i], b.url()))
		sessions[ids[i]] = b.session()
		ev.next(engine.MediaBotConnected)
		if i == 0 { // the first call is heard before the second begins
			p.say(0, said[0][:160])
			sessions[ids[0]].hearUntil(160)
		}
	}
	for k := 160; k < len(said[0]); k += 160 {
		other.say(0, said[1][k:k+160]) // read before the first call's audio, whose last word is still awaited
		a.say(0, said[0][k:k+160])
		a.hear() // 20 ms pass
		a.hear()
	}
	if got := sessions[ids[0]].hearUntil(160 * 39); !bytes.Equal(got, said[0][160:]) {
		t.Fatal("the first call heard something else")
	}
	q := e.CloseMedia(ids[1])
	// How many are lost to probation depends on how fast they were sent; which call's packets are
	// lost does not.
	if q.PacketsReceived < 1 || q.PacketsReceived >= 40 {
		t.Fatalf("the second call received %d packets", q.PacketsReceived)
	}
	first := said[1][160*(40-int(q.PacketsReceived)):]
	if got := sessions[ids[1]].hearUntil(len(first)); !bytes.Equal(got, first) {
		t.Fatal("the second call heard something else")
	}
	if st := e.Stats(); st.Collisions != 1 {
		t.Fatalf("%d collisions", st.Collisions)
	}
}

func TestAReinviteMovesTheCall(t *testing.T) {
	e, ev := start(t, nil), record(t)
	first, second := newPhone(t, 1), newPhone(t, 2)
	offer, _ := e.Open(engine.OpenMedia{Attempt: attempt(1)}, ev.sink)
	e.Answer(attempt(1), first.called(offer, "0"), time.Now())
	first.hear()
	e.Answer(attempt(1), []byte("nonsense"), time.Now()) // changes nothing
	first.hear()
	e.Answer(attempt(1), second.called(offer, "8"), time.Now())
	if got := second.hear(); got.PayloadType != 8 {
		t.Fatalf("payload type %d", got.PayloadType)
	}
	second.say(8, speech(160, 1))
	second.hear()
	second.hear()
	if q := e.CloseMedia(attempt(1)); q.PacketsReceived != 1 || q.Codec != "PCMA" {
		t.Fatalf("%+v", q)
	}
	ev.none()
}

func TestBotsThatFailAreTold(t *testing.T) {
	e, ev := start(t, nil), record(t)
	_, _ = e.Open(engine.OpenMedia{Attempt: attempt(1)}, ev.sink)
	cmd := attach(attempt(1), "ws://127.0.0.1:1/")
	cmd.Deadline = time.Now().Add(100 * time.Millisecond)
	e.AttachBot(cmd)
	e.AttachBot(cmd) // said twice
	if got := ev.next(engine.MediaBotFailed); got.Session != cmd.Session || got.Refused || got.Error == "" {
		t.Fatalf("%+v", got)
	}
	b := newBot(t)
	again := attach(attempt(1), b.url()) // and again, to another endpoint
	e.AttachBot(again)
	b.session().until("start")
	if got := ev.next(engine.MediaBotConnected); got.Seq != 2 {
		t.Fatalf("%+v", got)
	}
}
