package botlink

import (
	"testing"
	"time"

	"github.com/fasthttp/websocket"

	"dialler/engine"
)

// openAhead opens a socket and returns its events.
func openAhead(c *Client, id engine.SocketID, limit time.Duration, urls ...string) chan engine.SocketEvent {
	told := make(chan engine.SocketEvent, 10)
	c.OpenAhead(engine.OpenSocket{Socket: id, Endpoints: urls, AuthToken: "token", Timeout: patience, Limit: limit},
		func(e engine.SocketEvent) { told <- e })
	return told
}

func stands(t *testing.T, told chan engine.SocketEvent) engine.SocketEvent {
	t.Helper()
	select {
	case e := <-told:
		if !e.Stands {
			t.Fatalf("%+v", e)
		}
		return e
	case <-time.After(patience):
		t.Fatal("nothing was told of the socket")
	}
	return engine.SocketEvent{}
}

func TestACallTakesTheSocketThatStandsForIt(t *testing.T) {
	b := newBot(t, false)
	c, h := client(t, Config{}), listen(t)
	stands(t, openAhead(c, "cmp/1", time.Minute, b.url()))
	p := b.conn()
	if n := c.Stats().Ahead.Load(); n != 1 {
		t.Fatalf("%d stand ahead of their calls", n)
	}
	r := request(b.url())
	r.Socket = "cmp/1"
	l := c.Connect(r, h)
	if f := p.next(); f.Event != "connected" {
		t.Fatalf("first message %+v", f)
	}
	if f := p.next(); f.Event != "start" || f.Sequence != "1" || f.Start.Call != string(r.Call) {
		t.Fatalf("second message %+v", f)
	}
	h.next("connected")
	p.say([]byte{1, 2, 3})
	if got := play(t, l, 3); got[2] != 3 {
		t.Errorf("played %v", got)
	}
	p.mark("m")
	if endpoint, _ := l.Tried(); endpoint != b.url() || len(b.conns) != 0 || c.Stats().Ahead.Load() != 0 {
		t.Errorf("taken by %s, %d more connections", endpoint, len(b.conns))
	}
	l.Stop()
	for f := p.next(); f.Event != "stop"; f = p.next() {
	}
	wait(t, l.Done())
}

func TestASocketThatIsGoneIsReplacedAtTheCall(t *testing.T) {
	b := newBot(t, false)
	c, h := client(t, Config{}), listen(t)
	told := openAhead(c, "cmp/1", time.Minute, b.url())
	stands(t, told)
	_ = b.conn().Close()
	if e := <-told; e.Stands || e.Reason == "" || e.Socket != "cmp/1" {
		t.Fatalf("%+v", e)
	}
	r := request(b.url())
	r.Socket = "cmp/1"
	l := c.Connect(r, h)
	if f := b.conn().next(); f.Event != "connected" {
		t.Fatalf("%+v", f)
	}
	h.next("connected")
	l.Stop()
}

func TestASocketThatNobodyWantsIsClosedByUs(t *testing.T) {
	b := newBot(t, false)
	c := client(t, Config{})
	for _, f := range []func(){func() { c.CloseAhead("cmp/1") }, func() { c.CloseAllAhead("cmp/") }} {
		told := openAhead(c, "cmp/1", time.Minute, b.url())
		stands(t, told)
		other := openAhead(c, "other/1", time.Minute, b.url())
		p := b.conn()
		stands(t, other)
		q := b.conn()
		f()
		for _, p := range []*peer{p} {
			if _, _, err := p.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseNormalClosure) {
				t.Errorf("%v", err)
			}
		}
		c.CloseAhead("other/1")
		if _, _, err := q.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseNormalClosure) {
			t.Errorf("%v", err)
		}
		if len(told) != 0 {
			t.Errorf("told %+v of a socket that we closed", <-told)
		}
	}
	told := openAhead(c, "cmp/2", 50*time.Millisecond, b.url())
	stands(t, told)
	if _, _, err := b.conn().ReadMessage(); !websocket.IsCloseError(err, websocket.CloseNormalClosure) {
		t.Errorf("past its limit: %v", err)
	}
	if e := <-told; e.Stands {
		t.Errorf("%+v", e)
	}
}

// The bot may have accepted the socket by then: it is told that nobody wants it, as with an open
// one.
func TestASocketThatNobodyWantsAnyMoreWhileItIsOpenedIsClosedInOrder(t *testing.T) {
	b := newBot(t, false)
	c := client(t, Config{})
	b.mu.Lock()
	told := openAhead(c, "cmp/1", time.Minute, b.url())
	<-b.headers
	c.CloseAhead("cmp/1")
	b.mu.Unlock()
	if _, _, err := b.conn().ReadMessage(); !websocket.IsCloseError(err, websocket.CloseNormalClosure) {
		t.Error(err)
	}
	if len(told) != 0 {
		t.Errorf("told %+v of a socket that we closed", <-told)
	}
}

func TestASocketThatNoEndpointTakesIsToldOnce(t *testing.T) {
	c := client(t, Config{})
	told := openAhead(c, "cmp/1", time.Minute, deadURL(t), deadURL(t))
	if e := <-told; e.Stands || len(e.Missed) != 2 || e.Reason == "" || c.Stats().AheadFailed.Load() != 1 {
		t.Errorf("%+v", e)
	}
	if e := <-openAhead(c, "cmp/2", time.Minute); e.Stands || e.Reason == "" {
		t.Errorf("%+v", e)
	}
}

// A socket may end after another one of its identifier was opened.
func TestAClosedSocketLeavesTheNextOfItsIdentifierAlone(t *testing.T) {
	b := newBot(t, false)
	c := client(t, Config{})
	known := func() *ahead {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.ahead["cmp/1"]
	}
	stands(t, openAhead(c, "cmp/1", time.Minute, b.url()))
	first := known()
	c.CloseAhead("cmp/1")
	stands(t, openAhead(c, "cmp/1", time.Minute, b.url()))
	next := known()
	if first.forget(); next == nil || next == first || known() != next {
		t.Error("the next socket is forgotten")
	}
	if next.forget(); known() != nil {
		t.Error("a socket that is over is still known")
	}
	next.close()
}
