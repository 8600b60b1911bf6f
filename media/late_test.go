package media

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/pion/rtp"

	"dialler/engine"
	"dialler/media/codec"
	"dialler/media/datagram"
	"dialler/media/recording"
	"dialler/media/sdp"
)

// timed is a call with a bot and a recording whose time is the test's: it passes in steps of a
// millisecond, and packets arrive when the test's network delivers them.
type timed struct {
	t     testing.TB
	c     *call
	s     *session
	r     *recording.Recorder
	w     *datagram.Writer
	pkt   rtp.Packet
	now   int64
	wrote uint64 // messages to the bot before the first of audio

	heard []byte        // by the bot
	begun int64         // when it got its first frame
	most  time.Duration // by which the timestamps of the bot's frames were ahead of the clock
}

func newTimed(t testing.TB) *timed {
	t.Helper()
	dir := t.TempDir()
	v := &timed{t: t, r: recorder(t, dir), w: datagram.NewWriter(datagram.BatchSize), now: 1000 * ms}
	e, b, ev := start(t, nil), newBot(t), record(t)
	v.c = &call{
		e: e, id: attempt(1), sink: ev.sink, answered: true, lastAudio: v.now, lastSign: v.now, dest: addr(4000),
		ans: sdp.Answer{Events: 101, EventsIn: -1, Send: codec.Ulaw, HeSends: true, HeListens: true},
	}
	v.c.ans.Codecs[0] = codec.Ulaw
	v.c.tape = v.r.Start(v.c.id, time.Unix(0, 0))
	v.c.attachBot(attach(v.c.id, b.url()))
	v.s = b.session()
	ev.next(engine.MediaBotConnected)
	v.wrote = e.Stats().BotFramesSent
	return v
}

// frames is how many frames the bot got.
func (v *timed) frames() int { return int(v.c.e.bots.Stats().FramesSent.Load() - v.wrote) }

// pass lets a millisecond go by, after the packets of this one.
func (v *timed) pass() {
	if v.now/ms%20 == 7 {
		v.w.N = 0
		v.c.tick(v.w, v.now)
	}
	if n := v.frames(); n > 0 {
		if v.begun == 0 {
			v.begun = v.now
		}
		v.hear(n)
		at := time.Duration(n-1) * frameTime // the timestamp of the last one
		v.most = max(v.most, at-time.Duration(v.now-v.begun))
	}
	v.now += ms
}

// arrive delivers packet i of a stream.
func (v *timed) arrive(i int, payload []byte) {
	b := make([]byte, rtpHeaderBytes+len(payload))
	b[0] = 0x80
	binary.BigEndian.PutUint16(b[2:], uint16(65000+i))
	binary.BigEndian.PutUint32(b[4:], uint32(4294960000+codec.FrameBytes*i))
	copy(b[rtpHeaderBytes:], payload)
	v.c.receive(b, &v.pkt, netipNone, false, v.w, v.now)
}

// hear reads what the bot got, up to frame n.
func (v *timed) hear(n int) {
	v.t.Helper()
	for len(v.heard) < n*codec.FrameBytes {
		b, err := base64.StdEncoding.DecodeString(v.s.until("media").Media.Payload)
		if err != nil {
			v.t.Fatal(err)
		}
		v.heard = append(v.heard, b...)
	}
}

const (
	wordFrames  = 40 // 800 ms
	pauseFrames = 30 // 600 ms
)

// utterances are n words with pauses, in frames.
func utterances(n int) (frames, list [][]byte) {
	for i := range n {
		word := speech(wordFrames*codec.FrameBytes, byte(i))
		list = append(list, word)
		frames = slices.AppendSeq(frames, slices.Chunk(word, codec.FrameBytes))
		for range pauseFrames {
			frames = append(frames, bytes.Repeat([]byte{0xFE, 0x7D}, codec.FrameBytes/2)) // a quiet line
		}
	}
	return frames, list
}

// network says when packet i, sent at a time, arrives; 0 means that it is lost or not sent.
type network func(i int, at int64) int64

// stalls holds up all packets that are sent within d after the middle of every third word.
func stalls(d time.Duration) network {
	return func(i int, at int64) int64 {
		const every = 3 * (wordFrames + pauseFrames)
		into := time.Duration(i%every-wordFrames/2) * frameTime
		if into < 0 || into >= d {
			return at
		}
		return at + int64(d-into)
	}
}

// jitters delays every packet by up to d.
func jitters(d time.Duration) network {
	rng := rand.New(rand.NewPCG(5, 6))
	return func(_ int, at int64) int64 { return at + rng.Int64N(int64(d)/ms+1)*ms }
}

// play sends n words through a network and then 500 ms of quiet.
func (v *timed) play(n int, net network) (spoken [][]byte) {
	frames, spoken := utterances(n)
	begin := v.now
	due := map[int64][]int{}
	for i := range frames {
		if at := net(i, begin+int64(i)*int64(frameTime)); at != 0 {
			due[at] = append(due[at], i)
		}
	}
	for end := begin + int64(len(frames))*int64(frameTime) + 500*ms; v.now < end; v.pass() {
		for _, i := range due[v.now] {
			v.arrive(i, frames[i])
		}
	}
	return spoken
}

// TestLateAudioIsHeardWhole checks what bot and recording hear of words that the network delays:
// nothing is put into a word, nothing is lost, and the bot's timestamps keep to the clock.
func TestLateAudioIsHeardWhole(t *testing.T) {
	f := func(name string, net network, lossCap int, aheadCap time.Duration) {
		t.Run(name, func(t *testing.T) {
			v := newTimed(t)
			spoken := v.play(12, net)
			q := v.c.quality()
			if q.PacketsLost > uint64(lossCap) {
				t.Errorf("%d packets of %d are lost", q.PacketsLost, q.PacketsReceived)
			}
			tape := v.c.tape.End()
			broken := 0
			recorded, _ := sides(t, v.r, tape.ID)
			for i, word := range spoken {
				if !bytes.Contains(v.heard, word) {
					broken++
					t.Logf("the bot does not hear word %d whole", i)
				}
				if !bytes.Contains(recorded, word) {
					broken++
					t.Logf("word %d is not recorded whole", i)
				}
			}
			if broken > 2*lossCap {
				t.Errorf("%d words are broken", broken)
			}
			if v.most > aheadCap {
				t.Errorf("the timestamps were %v ahead of the clock", v.most)
			}
			took := time.Duration(v.now - v.begun)
			end := time.Duration(v.frames()) * frameTime
			if end < took-time.Duration(fillAfter+ms)-2*frameTime || end > took+frameTime {
				t.Errorf("the bot heard %v in %v", end, took)
			}
		})
	}
	f("a quiet network", func(_ int, at int64) int64 { return at }, 0, 0)
	const keeps = 60 * time.Millisecond
	f("stalls of 100 ms", stalls(100*time.Millisecond), 0, keeps)
	f("stalls of 200 ms", stalls(200*time.Millisecond), 0, keeps)
	f("stalls of 400 ms", stalls(400*time.Millisecond), 0, keeps)
	// The bot's clock begins with a packet that may be as late as any.
	f("jitter of 80 ms", jitters(80*time.Millisecond), 1, 80*time.Millisecond) // of 840: 0.1 %
	f("jitter of 150 ms", jitters(150*time.Millisecond), 3, 150*time.Millisecond)
}

// TestInAQuietNetworkNothingWaits checks that every packet reaches the bot as it comes.
func TestInAQuietNetworkNothingWaits(t *testing.T) {
	v := newTimed(t)
	frames, _ := utterances(4)
	for i, b := range frames {
		v.arrive(i, b)
		if v.frames() != i+1 {
			t.Fatalf("packet %d waits", i)
		}
		for range 20 {
			v.pass()
		}
	}
}

// TestAFillIsTakenBackInTheNextPause holds up a word for longer than anybody waits: what was put in
// its place is left out of the next pause.
func TestAFillIsTakenBackInTheNextPause(t *testing.T) {
	v := newTimed(t)
	spoken := v.play(3, func(i int, at int64) int64 {
		const from, to = wordFrames / 2, wordFrames + 5 // the second half of the first word comes at once
		if i >= from && i < to {
			at += int64(to-i) * int64(frameTime)
		}
		return at
	})
	if v.most < 400*time.Millisecond {
		t.Fatalf("nothing was filled: %v", v.most)
	}
	half := wordFrames / 2 * codec.FrameBytes
	for _, part := range [][]byte{spoken[0][:half], spoken[0][half:], spoken[1], spoken[2]} {
		if !bytes.Contains(v.heard, part) {
			t.Fatal("a part of what was said is missing")
		}
	}
	// The second word begins 20 ms after its time at most.
	if at, want := bytes.Index(v.heard, spoken[1]), (wordFrames+pauseFrames)*codec.FrameBytes; at < want ||
		at > want+codec.FrameBytes {
		t.Fatalf("the second word is heard at %d, was said at %d", at, want)
	}
}

// TestTimePassesWhereNothingIsSent: a far side that sends nothing in its pauses, or something else,
// is known to be silent after 60 ms.
func TestTimePassesWhereNothingIsSent(t *testing.T) {
	f := func(name string, prepare func(*timed), stops int) {
		t.Run(name, func(t *testing.T) {
			v := newTimed(t)
			frames, _ := utterances(1)
			for i := range stops {
				v.arrive(i, frames[i])
				for range 20 {
					v.pass()
				}
			}
			prepare(v)
			for range 100 {
				v.pass()
			}
			if n := v.frames() - stops; n < 2 || n > 4 {
				t.Fatalf("%d frames of silence in 100 ms", n)
			}
		})
	}
	quiet := wordFrames + pauseFrames
	f("after a pause", func(*timed) {}, quiet)
	f("with DTX", func(v *timed) { v.c.dtx = true }, wordFrames)
	f("comfort noise", func(v *timed) {
		v.c.receive(append([]byte{0x80, 13}, make([]byte, 11)...), &v.pkt, netipNone, false, v.w, v.now)
		b := make([]byte, rtpHeaderBytes+1)
		b[0], b[1] = 0x80, 13
		binary.BigEndian.PutUint16(b[2:], uint16(65000+wordFrames))
		v.c.receive(b, &v.pkt, netipNone, false, v.w, v.now)
	}, wordFrames)
}

// TestTheCalleeHearsALateBotUnbroken has a bot whose frames are up to 60 ms late: the packets of an
// utterance have its bytes and nothing else, with timestamps that follow each other, and the pause
// after it is at the time of the clock again.
func TestTheCalleeHearsALateBotUnbroken(t *testing.T) {
	f := func(name string, ptime int) {
		t.Run(name, func(t *testing.T) {
			v := newTimed(t)
			v.c.ans.PTime, v.c.tsKnown = ptime, true
			rng := rand.New(rand.NewPCG(1, 2))
			said, begin, first := v.c.e.Stats().BotFramesReceived, v.now, v.c.ts
			word := speech(50*codec.FrameBytes, 1)
			rest, at := word, v.now
			var got []byte
			var next uint32
			for ; v.now < begin+2000*ms; v.now += ms {
				v.c.lastAudio, v.c.lastSign = v.now, v.now
				for len(rest) > 0 && v.now >= at {
					v.s.say(rest[:codec.FrameBytes])
					said++
					wait(t, func() bool { return v.c.e.Stats().BotFramesReceived >= said }, nil)
					rest = rest[codec.FrameBytes:]
					at = max(at, begin+int64(50-len(rest)/codec.FrameBytes)*int64(frameTime)+rng.Int64N(61)*ms)
				}
				if v.now/ms%20 != 7 {
					continue
				}
				v.w.N = 0
				v.c.tick(v.w, v.now)
				for i := range v.w.N {
					var pkt rtp.Packet
					if err := pkt.Unmarshal(v.w.Datagram(i)); err != nil {
						t.Fatal(err)
					}
					sounds := !bytes.Equal(pkt.Payload, bytes.Repeat([]byte{codec.UlawSilence}, len(pkt.Payload)))
					if sounds {
						if len(got) > 0 && (pkt.Timestamp != next || pkt.Marker) {
							t.Fatalf("packet at %d after one up to %d", pkt.Timestamp, next)
						}
						got, next = append(got, pkt.Payload...), pkt.Timestamp+uint32(len(pkt.Payload))
					} else if len(got) > 0 && len(got) < len(word) {
						t.Fatalf("silence after %d bytes", len(got))
					}
				}
			}
			// A longer packet has silence before it or behind.
			if !bytes.Contains(got, word) || ptime == 0 && len(got) != len(word) {
				t.Fatalf("%d bytes are heard of %d", len(got), len(word))
			}
			if v.c.ts-first != 100*codec.FrameBytes || v.c.behind != 0 {
				t.Fatalf("the timestamps end at %d after 2 s, behind by %d", v.c.ts-first, v.c.behind)
			}
		})
	}
	f("in packets of 20 ms", 0)
	f("in packets of 30 ms", 30)
}
