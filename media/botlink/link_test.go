package botlink

import (
	"bytes"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fasthttp/websocket"

	"dialler/engine"
)

func TestFirstMessagesAreConnectedThenStart(t *testing.T) {
	for _, secure := range []bool{false, true} {
		b := newBot(t, secure)
		cfg := Config{}
		if secure {
			cfg.TLS = trusting(b)
		}
		c, h := client(t, cfg), listen(t)
		r := request(b.url())
		l := c.Connect(r, h)
		if got := (<-b.headers).Get("X-Twilio-Signature"); got != Sign("token", b.url()) {
			t.Fatalf("signature %q", got)
		}
		p := b.conn()
		if f := p.next(); f.Event != "connected" || f.Protocol != "Call" || f.Version != "1.0.0" || f.Sequence != "" {
			t.Fatalf("first message %+v", f)
		}
		f := p.next()
		s := f.Start
		if f.Event != "start" || f.Sequence != "1" || f.Stream != string(r.Session) || s.Account != r.Account ||
			s.Call != string(r.Call) ||
			s.Stream != string(r.Session) || fmt.Sprint(s.Tracks) != "[inbound]" || s.Format.Encoding != "audio/x-mulaw" ||
			s.Format.Rate != 8000 || s.Format.Channels != 1 {
			t.Fatalf("second message %+v %+v", f, s)
		}
		if len(s.Parameters) != 2 || s.Parameters[`odd"key`] != "värde <&>\n" {
			t.Fatalf("parameters %q", s.Parameters)
		}
		h.next("connected")
		for i := 1; i <= 3; i++ {
			l.WriteFrame(bytes.Repeat([]byte{byte(i)}, 160))
		}
		l.WriteDigit('#')
		for i := 1; i <= 3; i++ {
			f := p.next()
			m := f.Media
			if f.Event != "media" || f.Sequence != strconv.Itoa(i+1) || m.Chunk != strconv.Itoa(i) ||
				m.Timestamp != strconv.Itoa(20*(i-1)) ||
				m.Track != "inbound" || len(m.Payload) != 160 || m.Payload[0] != byte(i) || f.Stream != string(r.Session) {
				t.Fatalf("media frame %+v %+v", f, m)
			}
		}
		if f := p.next(); f.Event != "dtmf" || f.Sequence != "5" || f.DTMF.Track != "inbound_track" || f.DTMF.Digit != "#" {
			t.Fatalf("dtmf frame %+v", f)
		}
		l.Stop()
		if f := p.next(); f.Event != "stop" || f.Sequence != "6" || f.Stop.Account != r.Account ||
			f.Stop.Call != string(r.Call) {
			t.Fatalf("stop frame %+v", f)
		}
		if _, _, err := p.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseNormalClosure) {
			t.Fatalf("after stop: %v", err)
		}
		wait(t, l.Done())
		h.none()
	}
}

func TestTheBotSaysWhomItTalksTo(t *testing.T) {
	for _, v := range []string{"machine", "fax", "sit"} {
		l, p, h, c := connect(t, Config{})
		// An invalid verdict is an error of the frame and does no harm.
		for _, wrong := range []string{`{"name":"human"}`, `{"name":"robot"}`, `{"name":7}`, `{}`, `"machine"`, `null`} {
			p.text(`{"event":"verdict","verdict":` + wrong + `}`)
		}
		p.say([]byte{1, 2, 3})
		p.text(`{"event":"verdict","streamSid":"MZ","verdict":{"name":"` + v + `"}}`)
		if got := h.next("verdict"); got.reason != v {
			t.Errorf("%q, want %q", got.reason, v)
		}
		if n := c.Stats().Malformed.Load(); n != 6 {
			t.Errorf("%d frames were malformed, want 6", n)
		}
		if got := play(t, l, 3); got[2] != 3 {
			t.Errorf("played %v", got)
		}
		l.Stop()
		p.text(`{"event":"verdict","verdict":{"name":"machine"}}`)
		wait(t, l.Done())
		h.none()
	}
}

// The test vector of Twilio's documentation: URL and sorted parameters in one string.
func TestSignature(t *testing.T) {
	const text = "https://mycompany.com/myapp.php?foo=1&bar=2" +
		"CallSidCA1234567890ABCDECaller+14158675309Digits1234From+14158675309To+18005551212"
	if got := Sign("12345", text); got != "RSOYDt4T1cUTdK1PDd93/VVr8B8=" {
		t.Fatalf("signature %q", got)
	}
}

// play reads frames until it has n bytes.
func play(t testing.TB, l *Link, n int) []byte {
	t.Helper()
	var out []byte
	var buf [FrameBytes]byte
	for deadline := time.Now().Add(patience); len(out) < n; {
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d bytes came", len(out), n)
		}
		got, _ := l.ReadFrame(buf[:])
		out = append(out, buf[:got]...)
	}
	return out
}

// settle waits until the session has handled n messages of the bot.
func settle(t testing.TB, c *Client, n uint64) {
	t.Helper()
	for deadline := time.Now().Add(patience); c.stats.FramesReceived.Load()+c.stats.Oversized.Load() < n; {
		if time.Now().After(deadline) {
			t.Fatal("the bot's messages were not read")
		}
	}
}

func TestAudioOfAnySizeIsPlayedInOrder(t *testing.T) {
	l, p, _, c := connect(t, Config{})
	var want []byte
	for i, size := range []int{160, 1, 2000, 159, 33, 20000, 8} {
		b := make([]byte, size)
		for j := range b {
			b[j] = byte(i*31 + j)
		}
		want = append(want, b...)
		p.say(b)
	}
	settle(t, c, 7)
	if got := play(t, l, len(want)); !bytes.Equal(got, want) {
		t.Fatal("wrong audio")
	}
}

func TestMarksComeBackInOrderWhenPlayed(t *testing.T) {
	l, p, _, c := connect(t, Config{})
	p.mark("at once")
	if f := p.next(); f.Event != "mark" || f.Mark.Name != "at once" || f.Sequence != "2" {
		t.Fatalf("%+v", f)
	}
	p.say(make([]byte, 320))
	p.mark("a")
	p.mark(`b \"\u00e9\/`)
	p.say(make([]byte, 160))
	p.mark("c")
	settle(t, c, 6)
	var buf [FrameBytes]byte
	l.ReadFrame(buf[:])
	l.ReadFrame(buf[:]) // the second frame is still playing: nothing is due
	l.WriteFrame([]byte{1})
	if f := p.next(); f.Event != "media" {
		t.Fatalf("%+v", f)
	}
	l.ReadFrame(buf[:]) // the second frame was played
	for _, want := range []string{"a", `b "é/`} {
		if f := p.next(); f.Event != "mark" || f.Mark.Name != want || f.Stream == "" {
			t.Fatalf("%+v, want %q", f, want)
		}
	}
	l.ReadFrame(buf[:])
	if f := p.next(); f.Mark.Name != "c" {
		t.Fatalf("%+v", f)
	}
}

func TestClearEmptiesTheBufferAndReturnsTheMarks(t *testing.T) {
	l, p, _, c := connect(t, Config{})
	p.say(make([]byte, 16000))
	p.mark("1")
	p.say(make([]byte, 16000))
	p.mark("2")
	p.text(`{"event":"clear","streamSid":"MZ"}`)
	p.mark("3")
	for _, want := range []string{"1", "2", "3"} {
		if f := p.next(); f.Event != "mark" || f.Mark.Name != want {
			t.Fatalf("%+v, want %q", f, want)
		}
	}
	settle(t, c, 6)
	var buf [FrameBytes]byte
	if n, _ := l.ReadFrame(buf[:]); n != 0 {
		t.Fatalf("%d bytes were left", n)
	}
	p.say(bytes.Repeat([]byte{7}, 320))
	if got := play(t, l, 320); got[0] != 7 {
		t.Fatal("wrong audio after clear")
	}
}

func TestThePlayoutBufferIsBounded(t *testing.T) {
	l, p, _, c := connect(t, Config{PlayoutCap: time.Second})
	p.say(bytes.Repeat([]byte{1}, 7000))
	p.say(bytes.Repeat([]byte{2}, 7000))
	settle(t, c, 2)
	got := play(t, l, 8000)
	if got[6999] != 1 || got[7000] != 2 || c.stats.OverflowBytes.Load() != 6000 {
		t.Fatalf("%d bytes overflowed", c.stats.OverflowBytes.Load())
	}
}

func TestBadFramesAreCountedAndIgnored(t *testing.T) {
	l, p, h, c := connect(t, Config{FrameCap: 5000})
	bad := []string{``, `{`, `[]`, `nonsense`, `{"event":"media"}`, `{"event":"media","media":{"payload":"%%%"}}`,
		`{"event":"media","media":{"payload":5}}`,
		`{"event":"mark"}`, `{"event":"mark","mark":{"name":7}}`, "{\"event\":\"mark\",\"mark\":{\"name\":\"\xff\"}}",
		strings.Repeat(`{"a":`, 100)}
	for _, s := range bad {
		p.text(s)
	}
	for _, s := range []string{`{}`, `{"event":"dance"}`, `{"event":7}`} {
		p.text(s)
	}
	_ = p.WriteMessage(websocket.BinaryMessage, []byte{1, 2})
	p.say(make([]byte, 6000)) // over the limit
	p.say([]byte{9, 9})
	p.mark("done")
	if got := play(t, l, 2); got[0] != 9 {
		t.Fatal("wrong audio")
	}
	var buf [FrameBytes]byte
	l.ReadFrame(buf[:])
	if f := p.next(); f.Mark.Name != "done" {
		t.Fatalf("%+v", f)
	}
	h.none()
	s := &c.stats
	if s.Malformed.Load() != uint64(len(bad)) || s.Unknown.Load() != 4 || s.Oversized.Load() != 1 {
		t.Fatalf("malformed %d, unknown %d, oversized %d", s.Malformed.Load(), s.Unknown.Load(), s.Oversized.Load())
	}
}

func TestPingIsAnswered(t *testing.T) {
	_, p, _, _ := connect(t, Config{})
	pong := make(chan string, 1)
	p.SetPongHandler(func(s string) error { pong <- s; return nil })
	if err := p.WriteControl(websocket.PingMessage, []byte("hi"), time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	p.mark("after")
	if p.next(); <-pong != "hi" {
		t.Fatal("wrong pong")
	}
}

func TestTheBotClosingItsSocketEndsTheSession(t *testing.T) {
	f := func(normal bool, end func(*peer)) {
		t.Helper()
		l, p, h, c := connect(t, Config{})
		end(p)
		if got := h.next("closed"); got.flag != normal || got.reason == "" {
			t.Fatalf("%+v", got)
		}
		wait(t, l.Done())
		l.WriteFrame(make([]byte, 160))
		l.Stop()
		h.none()
		if c.stats.Open.Load() != 0 || c.stats.Closed.Load() != 1 {
			t.Fatal("wrong counts")
		}
	}
	closeWith := func(code int) func(*peer) {
		return func(p *peer) {
			_ = p.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, ""), time.Now().Add(patience))
		}
	}
	f(true, closeWith(websocket.CloseNormalClosure))
	f(true, closeWith(websocket.CloseGoingAway))
	f(false, closeWith(websocket.CloseInternalServerErr))
	f(false, func(p *peer) { _ = p.Close() })
}

func TestASlowBotIsClosedAndNeverBlocks(t *testing.T) {
	l, _, h, c := connect(t, Config{QueueCap: 8 << 10})
	frame := make([]byte, 160)
	began, slowest := time.Now(), time.Duration(0)
	for l.Up() { // the bot reads nothing
		at := time.Now()
		l.WriteFrame(frame)
		slowest = max(slowest, time.Since(at))
		if c.stats.SlowBots.Load() > 0 {
			break
		}
		if time.Since(began) > patience {
			t.Fatal("the bot was not closed")
		}
	}
	if got := h.next("closed"); got.flag || !strings.Contains(got.reason, "does not read") {
		t.Fatalf("%+v", got)
	}
	if slowest > time.Second {
		t.Fatalf("a write took %v", slowest)
	}
	wait(t, l.Done())
}

func TestTheNextEndpointTakesOver(t *testing.T) {
	dead, refusing, good := deadURL(t), newBot(t, false), newBot(t, false)
	refusing.status = 403
	c, h := client(t, Config{}), listen(t)
	c.Connect(request(dead, refusing.url(), good.url()), h)
	if f := good.conn().next(); f.Event != "connected" {
		t.Fatalf("%+v", f)
	}
	h.next("connected")
	if c.stats.Retries.Load() != 2 {
		t.Fatalf("%d retries", c.stats.Retries.Load())
	}
}

// deadURL is an endpoint where nothing listens.
func deadURL(t testing.TB) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	return "ws://" + ln.Addr().String() + "/"
}

func TestUnreachableBotsFailAtTheDeadline(t *testing.T) {
	// A listener that never answers the upgrade, and a port where nothing listens.
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	for _, url := range []string{"ws://" + ln.Addr().String() + "/", deadURL(t)} {
		c, h := client(t, Config{RetryPause: 10 * time.Millisecond}), listen(t)
		r := request(url)
		r.Deadline = time.Now().Add(300 * time.Millisecond)
		c.Connect(r, h)
		if got := h.next("failed"); got.flag || got.at.Before(r.Deadline.Add(-20*time.Millisecond)) ||
			got.at.After(r.Deadline.Add(2*time.Second)) {
			t.Fatalf("%+v, deadline %v", got, r.Deadline)
		}
	}
}

func TestARefusalForGoodFailsAtOnce(t *testing.T) {
	b := newBot(t, false)
	b.status = 401
	c, h := client(t, Config{}), listen(t)
	r := request(b.url())
	c.Connect(r, h)
	if got := h.next("failed"); !got.flag || !got.at.Before(r.Deadline) || !strings.Contains(got.reason, "401") {
		t.Fatalf("%+v", got)
	}
}

func TestABusyBotIsTriedAgain(t *testing.T) {
	b := newBot(t, false)
	b.status = 503
	c, h := client(t, Config{RetryPause: time.Millisecond}), listen(t)
	c.Connect(request(b.url()), h)
	<-b.headers
	b.mu.Lock()
	b.status = 0
	b.mu.Unlock()
	b.conn()
	h.next("connected")
}

func TestNoEndpointFails(t *testing.T) {
	c, h := client(t, Config{}), listen(t)
	c.Connect(request(), h)
	h.next("failed")
}

func TestStopWhileDialling(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	c, h := client(t, Config{}), listen(t)
	l := c.Connect(request("ws://"+ln.Addr().String()), h)
	l.Stop()
	wait(t, l.Done())
	h.none()
}

func TestStopWhileTheBotKeepsSilent(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	c, h := client(t, Config{}), listen(t)
	r := request("ws://" + ln.Addr().String())
	r.Deadline = time.Now().Add(time.Hour)
	l := c.Connect(r, h)
	bot, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bot.Close() }()
	if _, err := bot.Read(make([]byte, 1)); err != nil { // its request has come
		t.Fatal(err)
	}
	l.Stop()
	wait(t, l.Done())
	h.none()
}

func TestABotThatDoesNotCloseIsLeftAfterTheLinger(t *testing.T) {
	l, p, h, _ := connect(t, Config{LingerTimeout: 50 * time.Millisecond})
	p.SetCloseHandler(func(int, string) error { return nil })
	l.Stop()
	wait(t, l.Done())
	h.none()
}

func TestASessionTellsWhichEndpointTookItAndWhichDidNot(t *testing.T) {
	sick, well := newBot(t, false), newBot(t, false)
	sick.status = 403
	c, h := client(t, Config{}), listen(t)
	r := request(sick.url())
	r.Endpoints = append(r.Endpoints, well.url())
	l := c.Connect(r, h)
	h.next("connected")
	if took, missed := l.Tried(); took != well.url() || len(missed) != 1 || missed[0].Endpoint != sick.url() ||
		missed[0].Reason != "the bot answered HTTP 403" {
		t.Errorf("%s after %+v", took, missed)
	}
	l.Stop()
	wait(t, l.Done())
}

func TestAResultOnTheSocketIsStoredAndAnswered(t *testing.T) {
	stored := make(chan string, 10)
	goOn := make(chan struct{})
	cfg := Config{LingerTimeout: patience, Result: func(call engine.CallID, result []byte) []byte {
		stored <- string(call) + string(result)
		<-goOn
		return []byte(`{"status":"ok"}`)
	}}
	l, p, h, c := connect(t, cfg)
	release := sync.OnceFunc(func() { close(goOn) })
	t.Cleanup(release)
	call := string(request().Call)
	send := func(result string) { p.text(`{"event":"result","streamSid":"MZ","result":` + result + `}`) }
	want := func(result string) {
		t.Helper()
		select {
		case got := <-stored:
			if got != call+result {
				t.Errorf("stored %s, want %s", got, result)
			}
		case <-time.After(patience):
			t.Fatal("nothing was stored")
		}
	}
	for _, wrong := range []string{`null`, `"sold"`, `[1]`} {
		send(wrong)
	}
	send(`{"disposition":"sold", "more": {"a":[1,"}"]}}`)
	want(`{"disposition":"sold", "more": {"a":[1,"}"]}}`)
	// While one is being stored audio goes on, and the others wait in their order: the first may say
	// do_not_call, which the next does not take back.
	waiting := []string{"1", "2", "3", "4", "5", "6", "7", "8"}
	for _, n := range waiting {
		send(`{"n":` + n + `}`)
		p.mark(n) // comes back when the frames before it were read
		if f := p.next(); f.Event != "mark" {
			t.Errorf("%+v", f)
		}
	}
	p.say([]byte{1, 2, 3})
	play(t, l, 3)
	answered := func(seq int, status, code string) {
		t.Helper()
		if f := p.next(); f.Event != "result" || f.Sequence != strconv.Itoa(seq) ||
			f.Stream != string(request().Session) || f.Result.Status != status || f.Result.Code != code {
			t.Errorf("answered by %+v", f)
		}
	}
	send(`{"n":9}`) // beyond those that may wait
	answered(10, "refused", "too_many_results")
	release()
	answered(11, "ok", "")
	for i, n := range waiting {
		want(`{"n":` + n + `}`)
		answered(12+i, "ok", "")
	}
	if n := c.Stats().Malformed.Load(); n != 3 {
		t.Errorf("%d frames were malformed, want 3", n)
	}
	// A bot that is told of the end may still give its result.
	l.Stop()
	if f := p.next(); f.Event != "stop" {
		t.Errorf("%+v", f)
	}
	send(`{"n":10}`)
	want(`{"n":10}`)
	if _, _, err := p.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseNormalClosure) {
		t.Errorf("after stop: %v", err)
	}
	_ = p.Close()
	wait(t, l.Done())
	h.none()
}
