package media

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pion/rtp"
	"golang.org/x/sys/unix"

	"dialler/engine"
	"dialler/media/codec"
	"dialler/media/datagram"
	"dialler/media/recording"
)

// recorder keeps recordings in a folder of the test.
func recorder(t testing.TB, dir string) *recording.Recorder {
	t.Helper()
	r := recording.New(recording.Config{Dir: dir})
	t.Cleanup(r.Close)
	return r
}

// recorded returns a connected call that is being recorded.
func recorded(t testing.TB, e *Engine, n int, formats string, at time.Time) (*phone, *session) {
	t.Helper()
	b, p, ev := newBot(t), newPhone(t, uint32(n)), record(t)
	offer, err := e.Open(engine.OpenMedia{Attempt: attempt(n), Record: true}, ev.sink)
	if err != nil {
		t.Fatal(err)
	}
	e.Answer(attempt(n), p.called(offer, formats), at)
	e.AttachBot(attach(attempt(n), b.url()))
	s := b.session()
	ev.next(engine.MediaBotConnected)
	return p, s
}

// sides reads a whole recording.
func sides(t testing.TB, r *recording.Recorder, id string) (callee, bot []byte) {
	t.Helper()
	wait(t, func() bool { return r.Stats().Live == 0 }, nil)
	f, err := r.Open(id)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	for b = b[58:]; len(b) > 0; b = b[2:] {
		callee, bot = append(callee, b[0]), append(bot, b[1])
	}
	return callee, bot
}

// words returns a side without its silence.
func words(b []byte) []byte { return bytes.ReplaceAll(b, []byte{codec.UlawSilence}, nil) }

func TestACallIsRecordedSampleForSample(t *testing.T) {
	f := func(name, formats string, pt uint8, silence byte, asHeard func([]byte) []byte) {
		t.Run(name, func(t *testing.T) {
			r := recorder(t, filepath.Join(t.TempDir(), "recordings"))
			e := start(t, func(c *Config) { c.Recorder = r })
			at := time.Now()
			p, s := recorded(t, e, 1, formats, at)
			said := speech(160*20, 3)
			for i := 0; i < len(said); i += 160 {
				p.say(pt, said[i:i+160])
			}
			s.hearUntil(len(said))
			reply := speech(160*60, 5)
			s.say(reply)
			p.hearUntil(len(reply), silence)
			q := e.CloseMedia(attempt(1))
			if q.Recording == nil || q.Recording.Incomplete || !q.Recording.StartedAt.Equal(at) ||
				q.Recording.Duration < 80*frameTime-20*frameTime {
				t.Fatalf("%+v", q.Recording)
			}
			callee, bot := sides(t, r, q.Recording.ID)
			if len(callee) != int(q.Recording.Duration/frameTime)*160 {
				t.Fatalf("%d samples in %v", len(callee), q.Recording.Duration)
			}
			// On a slow machine there may be silence between two frames.
			if !bytes.Equal(words(callee), asHeard(said)) || !bytes.Equal(words(bot), reply) {
				t.Fatal("something else was recorded")
			}
		})
	}
	f("ulaw", "0 101", 0, codec.UlawSilence, func(b []byte) []byte { return b })
	f("alaw", "8 101", 8, codec.UlawToAlaw[codec.UlawSilence], func(b []byte) []byte {
		out := bytes.Clone(b)
		codec.Transcode(out, &codec.AlawToUlaw)
		return out
	})
}

func TestNothingIsRecordedUnlessAskedFor(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "recordings")
	r := recorder(t, dir)
	e := start(t, func(c *Config) { c.Recorder = r })
	p, s, _ := connected(t, e, 1, "0")
	p.say(0, speech(160, 1))
	s.hearUntil(160)
	if q := e.CloseMedia(attempt(1)); q.Recording != nil {
		t.Fatalf("%+v", q.Recording)
	}
	// Nor is a call recorded that rings unanswered.
	if _, err := e.Open(engine.OpenMedia{Attempt: attempt(2), Record: true}, nil); err != nil {
		t.Fatal(err)
	}
	if q := e.CloseMedia(attempt(2)); q.Recording != nil {
		t.Fatalf("%+v", q.Recording)
	}
	if list, _ := os.ReadDir(dir); len(list) > 0 || r.Stats().Live != 0 {
		t.Fatal("something was recorded")
	}
}

func TestADiskThatStandsStillDoesNotHoldUpAudio(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "recordings")
	r := recording.New(recording.Config{Dir: dir, Writers: 1})
	defer r.Close()
	// A pipe that nobody reads: opening it for writing blocks the writer.
	at := time.Now()
	day := filepath.Join(dir, filepath.FromSlash(at.UTC().Format("2006/01/02")))
	if err := os.MkdirAll(day, 0o700); err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(day, string(attempt(1))+".wav.part")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	e := start(t, func(c *Config) { c.Recorder = r })
	p, s := recorded(t, e, 1, "0", at)
	p2, s2 := recorded(t, e, 2, "0", at)
	for i := range 2 { // 2 s of both calls, sample for sample, with the writer blocked
		reply := speech(160*50, byte(i+1))
		s.say(reply)
		s2.say(reply)
		if !bytes.Equal(p.hearUntil(len(reply), codec.UlawSilence), reply) ||
			!bytes.Equal(p2.hearUntil(len(reply), codec.UlawSilence), reply) {
			t.Fatal("the callee heard something else")
		}
	}
	if got := r.Stats(); got.Files != 0 || got.Live != 2 {
		t.Fatalf("the writer was not blocked: %+v", got)
	}
	e.CloseMedia(attempt(1))
	q := e.CloseMedia(attempt(2))
	f, err := os.OpenFile(pipe, os.O_RDONLY|unix.O_NONBLOCK, 0) // releases the writer
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	_, bot := sides(t, r, q.Recording.ID)
	if got := words(bot); !bytes.Equal(got, bytes.Join([][]byte{speech(160*50, 1), speech(160*50, 2)}, nil)) {
		t.Fatalf("%d samples of the other call were recorded", len(got))
	}
	if list := r.Damaged(); len(list) != 1 || list[0] != attempt(1) {
		t.Fatalf("the one that could not be written is not told of: %v", list)
	}
}

func TestRecordedPacketsDoNotAllocate(t *testing.T) {
	c := benchCall(t)
	r := recorder(t, t.TempDir())
	c.tape = r.Start(attempt(1), time.Now())
	w, in := datagram.NewWriter(datagram.BatchSize), newIncoming()
	packet := func() {
		c.receive(in.next(), &in.pkt, netipNone, false, w, in.now)
		w.N = 0
		c.tick(w, in.now)
	}
	for range 500 {
		packet()
	}
	if n := testing.AllocsPerRun(1000, packet); n != 0 {
		t.Fatalf("%v allocations per packet", n)
	}
	if got := c.tape.End(); got.Duration < 1400*frameTime {
		t.Fatalf("%+v", got)
	}
}

func TestWhatAFarLegSaysIsRecordedInTheBotsPlace(t *testing.T) {
	r := recorder(t, t.TempDir())
	e := start(t, func(c *Config) { c.Recorder = r })
	b := &bridged{
		e:      e,
		id:     attempt(1),
		leg:    attempt(1).Leg(2),
		events: record(t),
		callee: newPhone(t, 11),
		peer:   newPhone(t, 22),
	}
	offer, err := e.Open(engine.OpenMedia{Attempt: b.id, Record: true}, b.events.sink)
	if err != nil {
		t.Fatal(err)
	}
	e.Answer(b.id, b.callee.called(offer, "0"), time.Now())
	b.join(t, b.leg, b.peer, "8")
	var said, answered []byte
	for i := range 15 {
		word, reply := speech(codec.FrameBytes, byte(i)), speech(codec.FrameBytes, byte(100+i))
		b.callee.say(0, word)
		b.peer.say(8, reply)
		b.peer.hears(codec.UlawToAlaw[codec.UlawSilence])
		b.callee.hears(codec.UlawSilence)
		codec.Transcode(reply, &codec.AlawToUlaw)
		said, answered = append(said, word...), append(answered, reply...)
	}
	q := e.CloseMedia(b.id)
	callee, bot := sides(t, r, q.Recording.ID)
	if !bytes.Equal(words(callee), said) || !bytes.Equal(words(bot), answered) {
		t.Error("something else was recorded")
	}
}

func TestAPauseOfAFarLegDoesNotCoverWhatItSaidBefore(t *testing.T) {
	r := recorder(t, t.TempDir())
	callee, far := benchCall(t), benchCall(t)
	callee.other, far.other, far.callee = far, callee, callee
	callee.tape = r.Start(attempt(1), time.Now())
	far.tape = callee.tape
	w, pkt, now := datagram.NewWriter(datagram.BatchSize), rtp.Packet{}, int64(0)
	tick := func() {
		now += 20 * ms
		w.N = 0
		callee.lastAudio, callee.lastSign, callee.tsKnown = now, now, true
		callee.tick(w, now)
	}
	for range 3 {
		tick()
	}
	said := speech(5*codec.FrameBytes, 1)
	for i := range 5 { // at once: four of them are ahead of time
		b := append(
			[]byte{0x80, 0, 0, byte(i), 0, 0, byte(i * codec.FrameBytes >> 8), byte(i * codec.FrameBytes), 0, 0, 0, 9},
			said[i*codec.FrameBytes:(i+1)*codec.FrameBytes]...)
		w.N = 0
		far.receive(b, &pkt, netipNone, false, w, now)
	}
	for range 10 { // then nothing for 200 ms
		tick()
	}
	callee.mu.Lock()
	q := callee.tape.End()
	callee.mu.Unlock()
	if _, bot := sides(t, r, q.ID); !bytes.Equal(words(bot), said) {
		t.Fatalf("%d of %d samples were kept", len(words(bot)), len(said))
	}
}
